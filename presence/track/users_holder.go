package track

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// A holder has the state of a connection for users, leases and attention: which user it holds online, in
// which topics, and whether its page is alive.
type holder struct {
	id      presence.Holder
	conn    connected
	cfg     *Config
	visitor presence.Visitor
	observe bool                  // the visitor enters no topic
	people  bool                  // the site has people: the holder may hold a device
	visit   atomic.Pointer[claim] // of a page whose connection is at another node: see visit; otherwise nil
	beat    atomic.Bool           // only calls of Connection.Beat renew the leases
	strays  atomic.Bool           // beats of its page come to other nodes too, as these have said
	idle    atomic.Bool           // nobody is at its page
	beaten  atomic.Int64          // when the page of a connection with beat last proved that it is alive, in Unix nanoseconds
	told    atomic.Int64          // of a visit: when its node was last told of it, in Unix nanoseconds
	renewed atomic.Int64          // when its leases were last renewed, in Unix nanoseconds; 0: they have ended, because its page is silent
	written atomic.Int32          // the generation in which its leases were last made
	silence *time.Timer           // looks whether the page of a connection with beat is silent; otherwise nil
	turn    uint8                 // when its leases are renewed: see turnOf

	// The slice is replaced with Connection.mu held, and never changed. The content of a reader belongs to
	// the goroutine that reads the connection.
	readers atomic.Pointer[[]*reader]

	held  heldBy
	guest countedGuest
}

// heldBy is the state of a holder that users.mu guards.
type heldBy struct {
	identified time.Time // when the visitor was identified, or the latest page joined
	asked      moment    // when the leases were first asked for; 0: not yet
	opened     time.Time // when they were made, zero until then
}

// A countedGuest is the guest of a holder: see guestCounts.count.
type countedGuest struct {
	id string // by which the guest counts: Visitor.Guest, or one made of Visitor.Passing

	mu       connectionMutex
	signedIn bool // after the connection was opened, so the guest no longer counts
}

// whileCounted calls do, unless the guest no longer counts. If the guest signs in meanwhile, the operation
// that removes the guest comes after do.
func (g *countedGuest) whileCounted(do func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.signedIn {
		do()
	}
}

func (g *countedGuest) setSignedIn(is bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.signedIn = is
}

// connected is the connection of a holder.
type connected interface {
	Err() error
	Close()
	finish(why error, how ending) []presence.Topic
	Hide(hidden bool)
	wake()
}

// browser returns the tag of the visitor's browser; "": it is not known.
func (h *holder) browser() browserTag { return browserOf(h.id) }

// isVisit reports whether the page's connection is at another node: see visit.
func (h *holder) isVisit() bool { return h.visit.Load() != nil }

// topics returns the readers, one for each topic. A visit has none.
func (h *holder) topics() []*reader {
	if readers := h.readers.Load(); readers != nil {
		return *readers
	}
	return nil
}

// member returns the user as whom the connection is held in a topic: in backend.DevicesTopic the device.
func (h *holder) member(topic presence.Topic) presence.UserID {
	if topic == backend.DevicesTopic {
		return backend.MemberOf(h.visitor.User.ID, h.visitor.Device.ID)
	}
	return h.visitor.User.ID
}

// holdsDevice reports whether the connection holds its user's device in backend.DevicesTopic.
func (h *holder) holdsDevice() bool {
	return !h.observe && h.visitor.SignedIn() && h.people
}

// heldIn reports whether the connection holds its user, or its device, in a topic.
func (h *holder) heldIn(topic presence.Topic) bool {
	return h.enters(topic) || topic == backend.DevicesTopic && h.holdsDevice()
}

// isGuest reports whether the connection belongs to a guest who counts.
func (h *holder) isGuest() bool {
	return !h.visitor.SignedIn() && !h.observe && (h.visitor.Guest != "" || h.visitor.Passing != "")
}

// isPassing reports whether the connection belongs to a guest who counts by it alone: see passingGuest.
func (h *holder) isPassing() bool { return h.isGuest() && h.visitor.Passing != "" }

// holds reports whether the connection holds a user online in any topic.
func (h *holder) holds() bool {
	return h.isVisit() || h.holdsDevice() || h.visitor.SignedIn() && slices.ContainsFunc(h.topics(), func(s *reader) bool { return s.enters })
}

// enters reports whether the visitor is present in a topic through the connection, and does not only watch
// it.
func (h *holder) enters(topic presence.Topic) bool {
	if c := h.visit.Load(); c != nil {
		return slices.Contains(c.topics, topic)
	}
	return slices.ContainsFunc(h.topics(), func(s *reader) bool { return s.topic() == topic && s.enters })
}

// heldTopics returns the topics in which the connection holds its user. The last one is backend.DevicesTopic
// if it holds the user's device.
func (h *holder) heldTopics() []presence.Topic {
	if c := h.visit.Load(); c != nil {
		return slices.Clone(c.topics)
	}
	if !h.visitor.SignedIn() {
		return nil
	}
	topics := h.enteredTopics()
	if h.holdsDevice() {
		topics = append(topics, backend.DevicesTopic)
	}
	return topics
}

// enteredTopics returns the topics that the visitor enters.
func (h *holder) enteredTopics() []presence.Topic {
	readers := h.topics()
	topics := make([]presence.Topic, 0, len(readers))
	for _, s := range readers {
		if s.enters {
			topics = append(topics, s.topic())
		}
	}
	return topics
}

// timing is [Connection.Timing].
func (h *holder) timing() (heartbeat, grace time.Duration) {
	cfg := h.cfg
	heartbeat, grace = cfg.Heartbeat(), cfg.Grace
	if len(cfg.Kinds) == 0 || !h.holds() {
		return heartbeat, grace
	}
	first := true
	for _, s := range h.topics() {
		if !s.enters {
			continue
		}
		beat, g := heartbeatFor(cfg.ttl(s.topic())), cfg.grace(s.topic())
		if first {
			heartbeat, grace, first = beat, g, false
			continue
		}
		heartbeat, grace = min(heartbeat, beat), min(grace, g)
	}
	if h.holdsDevice() {
		heartbeat = min(heartbeat, cfg.Heartbeat())
	}
	return heartbeat, grace
}

// ttl is [Connection.TTL].
func (h *holder) ttl() time.Duration {
	cfg := h.cfg
	if len(cfg.Kinds) == 0 || !h.holds() {
		return cfg.TTL
	}
	ttl := time.Duration(0)
	for _, topic := range h.heldTopics() {
		if of := cfg.ttl(topic); ttl == 0 || of < ttl {
			ttl = of
		}
	}
	return ttl
}

// lastProof returns when the connection last proved that its page is alive: now, unless the page must beat.
func (h *holder) lastProof() time.Time {
	if !h.beat.Load() {
		return time.Now()
	}
	return time.Unix(0, h.beaten.Load())
}

// silentLocked reports whether this node has heard nothing from a connection's page for its TTL. The machine
// may sleep or have vanished while something keeps the stream open. Or the beats go to another node, which
// then reports whether somebody is there.
func (h *holder) silentLocked() bool {
	return h.held.asked != 0 && time.Since(h.lastProof()) >= h.ttl()
}

// silentInLocked is silentLocked for a topic, whose TTL may be longer than that of the connection's others.
func (h *holder) silentInLocked(topic presence.Topic) bool {
	return h.held.asked != 0 && time.Since(h.lastProof()) >= h.cfg.ttl(topic)
}
