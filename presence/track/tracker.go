package track

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// A Tracker is one process's part in a fleet. It takes what happens here, writes it to the
// store in small merged batches, and keeps a replica of each topic that somebody here
// looks at. One Tracker serves a whole process. All methods may be called concurrently.
// [New] makes one, [Tracker.Close] ends it.
//
// Its methods are the public verbs. Each hands over to the part that does the work.
type Tracker struct {
	cfg     *Config
	process string // names this process in the fleet, and begins the Holder of each connection
	stats   *counters
	life    *lifetime
	store   *timedStore
	found   found       // mistakes in how the site is wired
	met     atomic.Bool // a request was a signed-in user's
	fleet   *fleet      // the other nodes

	users          *users          // what is remembered of each user
	writer         *writer         // what waits to be written
	outage         *outage         // can the store be trusted
	notices        *notices        // messages to and from all nodes
	seal           *seal           // the secret that signs tokens
	directory      *directoryCalls // the site's knowledge of people
	topics         *topics         // the topics that are kept current here
	extras         *extrasReader
	records        *records
	devices        *deviceRoster
	lastSeen       *lastSeen // what waits to be written to the Directory
	lastSeenWriter *lastSeenWriter
	choices        *choices
	attention      *attention
	leases         *leases
	nodeLease      *nodeLease
	signOuts       *signOuts
	acts           *acts
	people         *people
	sources        *sources // what a connection can read
	opener         *opener
	tokens         *tokens
	signals        *signals
	recent         *recent
	figures        *figureMemory
	places         *places
	eraser         *eraser

	deliveries *deliveries // what Go programs were told
}

// New returns a Tracker over a store, and starts its goroutines. An unreachable store is
// not an error: New succeeds, and presence starts once the store is back. New returns
// an error that is [presence.ErrInvalidConfig] and names every field that is wrong, or that asks
// for one of the [backend.Features] that the store lacks.
func New(store backend.Core, cfg Config) (*Tracker, error) {
	unfit := cfg.validateFor(backend.FeaturesOf(store))
	cfg = cfg.withDefaults()
	if err := errors.Join(cfg.validate(), unfit); err != nil {
		return nil, err
	}
	cfg.Logger = cfg.Logger.With(slog.String("node", cfg.Node))
	t := newTracker(store, &cfg)
	t.start()
	return t, nil
}

// newTracker makes the parts, each after those that it uses.
func newTracker(inner backend.Core, cfg *Config) *Tracker {
	process, stats, life, store := newProcess(cfg.Node), newCounters(), newLifetime(), newTimedStore(inner)
	forgotten := func(entries int) { stats.forgotten.Add(uint64(entries)) }
	directory, notices, seal := newDirectoryCalls(cfg.Directory, cfg.Logger), newNotices(store, life, maxPending), newSeal(store, cfg.Secret)
	users, writer, peaks := newUsers(cfg, forgotten), newWriter(stats), newPeaks(cfg, forgotten)
	outage := newOutage(cfg, writer.size, writer.retry.Wake)

	extras, losses, news := &extrasReader{store, writer, peaks}, make(losses), newDeviceNews()
	topics := newTopics(cfg, life, &topicEnv{
		store: store, outage: outage, cfg: cfg, stats: stats, spawn: func(fn func(context.Context)) { life.spawn(fn) }, losses: losses, extras: extras.load,
		hides:  func(user presence.UserID) bool { return users.chosen(user).Base() == presence.Invisible },
		probes: &sync.Pool{New: func() any { return new(entry) }}, wholeUsers: wholeBelow(store), sampleUsers: sampleUsers,
	}, news)
	records := &records{cfg, store, writer, peaks, topics, notices}
	devices := &deviceRoster{directory, topics}
	members := &allDevices{devices, users, writer}

	lastSeen := newLastSeen(directory.on(), forgotten)
	choices := (&choices{
		cfg: cfg, life: life, process: process, stats: stats, store: store, outage: outage, writer: writer, users: users, topics: topics,
		notices: notices, directory: directory, devices: devices, members: members, lastSeen: lastSeen,
	}).begin(forgotten)
	attention := newAttention(cfg, life, writer, users, topics)
	leases := (&leases{
		cfg: cfg, life: life, stats: stats, store: store, outage: outage, writer: writer, users: users, topics: topics,
		notices: notices, seal: seal, choices: choices,
	}).begin()
	signOuts := &signOuts{cfg, store, outage, writer, users, topics, notices, devices, members, leases.viewed}
	acts := newActs(cfg.Logger, users, notices)
	people := (&people{cfg: cfg, life: life, stats: stats, store: store, topics: topics, directory: directory, news: news}).begin()
	sources := newSources(topics, people.openers())
	env := &connectionEnv{
		cfg: cfg, life: life, stats: stats, outage: outage, writer: writer, users: users, topics: topics, sources: sources, seal: seal,
		choices: choices, attention: attention, leases: leases, lastSeen: lastSeen, people: directory.on(),
	}
	deliveries := new(deliveries)
	return &Tracker{
		cfg: cfg, process: process, stats: stats, life: life, store: store, fleet: newFleet(process, store, outage, notices, seal),
		users: users, writer: writer, outage: outage, notices: notices, seal: seal, directory: directory,
		topics: topics, extras: extras, records: records, devices: devices, lastSeen: lastSeen, lastSeenWriter: newLastSeenWriter(directory, users, lastSeen), choices: choices, attention: attention, leases: leases,
		nodeLease: newNodeLease(cfg, store, outage, process, leases.reassertSoon),
		signOuts:  signOuts, acts: acts, people: people,
		sources: sources,
		opener:  &opener{env, process, acts, devices},
		tokens:  &tokens{cfg, life, stats, process, writer, users, topics, notices, seal, attention, lastSeen},
		signals: newSignals(cfg, life, &stats.signals, store),
		recent:  (&recent{cfg: cfg, life: life, store: store, seal: seal, users: users, topics: topics, directory: directory}).begin(),
		figures: newFigureMemory(),
		places:  newPlaces(cfg, life, store, users, topics),
		eraser: (&eraser{
			cfg: cfg, life: life, store: store, writer: writer, users: users, topics: topics, notices: notices, seal: seal,
			members: members, lastSeen: lastSeen, choices: choices, signOuts: signOuts, acts: acts, people: people, deliveries: deliveries,
		}).begin(),
		deliveries: deliveries,
	}
}

// start starts the goroutines.
func (t *Tracker) start() {
	t.people.start()
	go (&flusher{cfg: t.cfg, stats: t.stats, store: t.store, outage: t.outage, writer: t.writer, unknown: t.leases.rejoin, hear: t.choices.hearAll}).run(t.life.ctx)
	for _, every := range t.cfg.heartbeats() {
		t.life.spawn(func(ctx context.Context) { t.leases.heartbeat(ctx, every) })
	}
	t.life.spawn(t.leases.countGuests)
	t.life.spawn(func(ctx context.Context) { t.leases.restoreEach(ctx, t.topics.env.losses) })
	t.life.spawn(t.nodeLease.run)
	if backend.Require(t.store, backend.FeatureErasures) == nil {
		t.life.spawn(t.eraser.run)
	}
	t.life.spawn((&housekeeper{t.life, t.store, t.outage, t.users, t.topics, t.notices}).run)
	if t.cfg.asksExtras() {
		t.life.spawn(func(ctx context.Context) { t.extras.keep(ctx, t.topics) })
	}
	if keeper := t.records.peaks.keeper; keeper != nil {
		t.life.spawn(func(ctx context.Context) { keeper.run(ctx, t.records.loaded) })
	}
	t.life.spawn(t.seal.keep)
	t.life.spawn(func(ctx context.Context) { t.fleet.run(ctx, t.Found) })
	if t.directory.on() {
		t.life.spawn(t.lastSeenWriter.run)
		t.life.spawn(t.afterOutages)
		t.life.spawn(t.choices.askWhoHid)
	}
	if !t.notices.listen(t.hear, t.outage.nextReturn, t.writer.done) || wasOut(t.store.made) { // a last write hears first who has hidden
		t.outage.assume() // this node cannot know what was before it began
	}
}

// afterOutages asks the Directory again when the store is back from an outage: a node may have ended
// meanwhile that alone knew of a change, and could not tell the others.
func (t *Tracker) afterOutages(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.outage.nextReturn():
			t.choices.republish()
			t.people.relationsMissed()
		}
	}
}

// wasOut reports whether a store knows that it was out before this node began.
func wasOut(store backend.Core) bool {
	reporter, ok := store.(backend.OutageReporter)
	return ok && !reporter.LastOut().IsZero()
}

// hear takes a notice from any node, this one included. It does not block.
func (t *Tracker) hear(n backend.Notice) {
	switch n.Kind {
	case backend.NoticeSignedOut, backend.NoticeSignedOff, backend.NoticeEnded:
		n = t.notices.heard(n)
	}
	switch {
	case n.Missed > 0:
		t.leases.missed(n.Missed)
		t.people.relationsMissed()
	case n.Kind == backend.NoticeSignedOut:
		t.signOuts.hear(n)
	case n.Kind == backend.NoticeActed:
		t.acts.hear(n)
	case n.Kind == backend.NoticeSignedOff:
		t.signOuts.hearOff(n)
	case n.Kind == backend.NoticeEnded:
		t.signOuts.hearEnded(n)
	case n.Kind == backend.NoticeStatus:
		t.choices.hear(n)
	case n.Kind == backend.NoticeSettings:
		t.choices.hearSettings(n)
	case n.Kind == backend.NoticeRelations:
		t.people.relationsChanged(n.User)
	case n.Kind == backend.NoticeErased:
		t.eraser.hear(n)
	case n.Kind == backend.NoticeLeft:
		if c := t.users.connection(presence.Holder(n.Payload)); c != nil && c.visitor.User.ID == n.User {
			c.Close()
		}
	case n.Kind == backend.NoticePeak:
		if topic, peak, ok := peakOf(n); ok {
			t.records.hear(topic, peak)
		}
	case n.Kind == backend.NoticeLost:
		t.leases.hearLost(n.Ago)
	case n.Ago > 0: // the others are of the moment, and nobody sends them late
	case n.Kind == backend.NoticeNode:
		t.fleet.hear(n.Payload, t.Found)
	case n.Kind == backend.NoticeHint:
		t.hearHint(n.Payload)
	case n.Kind == backend.NoticeGuestSignedIn:
		t.leases.hearSignedIn(n.Payload)
	}
}

// Config returns the configuration with its defaults filled in.
func (t *Tracker) Config() Config { return *t.cfg }

// Seen records a page view of a signed-in user in a topic: it holds the user online for
// Config.Age. Where the site has a [Config.Directory] the device is online for Config.Age,
// too. The zero Device, and an invalid one, is a device of which nothing is known. Seen never
// waits for the store. It is a no-op for an invalid or hidden user.
func (t *Tracker) Seen(topic presence.Topic, user presence.User, on presence.Device) {
	if user.Hidden || user.ValidateInside() != nil || t.acts.bars(user.ID) {
		return
	}
	view := pageView{topic: topic, user: user.Clone(), at: time.Now(), device: t.devices.held(user.ID, on, t.users.admitDevice)}
	views := []pageView{view}
	if t.directory.on() {
		view.topic = backend.DevicesTopic
		views = append(views, view)
	}
	t.users.addViews(views...)
	t.topics.keepKnown(topic, view.user.ID)
	t.attention.viewed(view.user.ID)
	t.leases.viewed(views...)
	t.users.see(t.lastSeen, view.user, proof{at: time.Now()})
}

// SeenGuest counts a guest, by an opaque id of the guest's browser, among those of a
// topic. It never waits for the store.
func (t *Tracker) SeenGuest(topic presence.Topic, guest string) {
	t.leases.seenGuest(topic, strings.Clone(guest))
	for _, c := range t.users.connectionsOfGuest(guest) {
		c.guestReturned()
	}
}

// SeenBot counts a crawler that says who it is, among the bots of a topic: by its name, such
// as "Googlebot", of 1 to [backend.MaxBotName] bytes of printable ASCII without quotes and
// backslash, and by an id that tells it from all other crawlers, such as its address.
// SeenBot is a no-op for another name, for an empty id, and for a topic whose [presence.Kind] counts
// no bots. It never waits for the store.
func (t *Tracker) SeenBot(topic presence.Topic, name, id string) {
	if id == "" || !backend.ValidBotName(name) || !t.cfg.Kinds[topic.Kind()].Bots {
		return
	}
	t.writer.add(topic, backend.Op{Kind: backend.OpBot, Bot: strings.Clone(name), Guest: strings.Clone(id), For: t.cfg.Age})
}

// GuestSignedIn takes a guest out of the number of guests, because the guest signed in: out
// of a topic, and out of the topics of the guest's open streams, on every node. These
// streams belong to pages that are about to go, and no longer count. The guest counts again
// with the next SeenGuest, as do the guest's streams at that node, or with a stream that is
// opened later: who signs out becomes a guest again.
//
// Call it at the first page view of a user whose browser was a guest's before, with the id
// that SeenGuest got. It is a no-op for an empty id and for a guest who does not count. In a
// topic with more than [backend.ExactGuests] guests the number may stay as it is for up to two age
// periods, since it is an estimate. GuestSignedIn never waits for the store; it costs a
// note in memory, and a notice to the other nodes in the background.
func (t *Tracker) GuestSignedIn(topic presence.Topic, guest string) {
	t.leases.guestSignedIn(topic, strings.Clone(guest))
}

// NeedsSeen reports whether a page view of a user in a topic is to be recorded although
// one was at a moment before. It is, if a connection that held the user was opened on
// this node since (only later views count when it closes, and it may have), if the user
// signed out since, or if the topic's roster does not have the user: a stream elsewhere
// closed, or the store lost the record. It costs two looks into memory. For a topic that
// is not loaded yet it reports false, and for a user whom this node does not know of a topic that
// it keeps in part: it asks, and knows at the next page view.
func (t *Tracker) NeedsSeen(topic presence.Topic, user presence.UserID, since time.Time) bool {
	if t.users.needsView(user, since) {
		return true
	}
	if t.directory.on() && !t.InRosters(user) { // whom the roster lacks anyway
		return t.devices.view() != nil && !t.devices.has(user)
	}
	r, err := t.topics.look(topic)
	if err != nil {
		return false
	}
	view := r.view.Load()
	if view == nil {
		return false
	}
	e, known := view.find(user)
	return known && e == nil
}

// View returns a topic as it is known here, from memory. For a topic that nobody here
// looked at lately it waits for the store: until the deadline of ctx, or for 50 ms where
// ctx has none, so that a page never waits for long. It returns [presence.ErrStoreOut] if nothing
// is known then, [presence.ErrTooManyTopicsHere], or [presence.ErrClosed].
func (t *Tracker) View(ctx context.Context, topic presence.Topic) (*View, error) {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, viewWait)
		defer cancel()
	}
	r, err := t.topics.loaded(ctx, topic)
	if err != nil {
		return nil, err
	}
	return r.view.Load(), nil
}

// Sightings returns what is known of each user in a topic, in the order of the users, or
// an error that is [presence.ErrStoreOut]. It costs one round trip to the store. Of a count-only topic
// nothing is known. Whoever has hidden, or is not in the roster that this node keeps, is not online:
// the store may not have taken it yet, or may have begun with an older file.
//
// With a [Config.Directory] it costs a query too, in which LastSeen stays empty unless the
// user's settings let everybody know it. While the Directory is out it is empty for all.
func (t *Tracker) Sightings(ctx context.Context, topic presence.Topic, users ...presence.UserID) ([]backend.Sighting, error) {
	if t.cfg.Kinds[topic.Kind()].CountOnly {
		return make([]backend.Sighting, len(users)), nil
	}
	s, err := t.store.Sightings(ctx, topic, users...)
	if err != nil {
		return nil, storeOut(err)
	}
	for i, user := range users {
		if s[i].Online && !t.recent.stillShows(topic, user) {
			chosen := t.users.choiceOf(user)
			s[i] = backend.Sighting{}
			if chosen.Base() == presence.Invisible && !chosen.Unseen() {
				s[i].LastSeen = chosen.at
			}
		}
	}
	t.directory.blank(ctx, users, s)
	return s, nil
}

// SignOut ends everything that holds a user online, at once and on every node: connections
// end with [presence.ErrSignedOut], and page views no longer count, in every topic. The status that
// the user chose stays. SignOut returns when the store knows. If ctx ends before, it
// returns an error, and the user is signed out once the store is back.
func (t *Tracker) SignOut(ctx context.Context, user presence.UserID) error {
	return t.signOuts.signOut(ctx, user)
}

// SetStatus changes what others see of a user, in all topics and on every node. The choice
// lasts: it survives sign-outs, restarts and, as long as a node remembers it, the loss of
// the store's data. SetStatus returns when the store knows. It returns [presence.ErrInvalidStatus],
// or [presence.ErrStoreOut] at once while the store is known to be out: then the status is not set.
// Where nothing keeps what users choose it returns [errors.ErrUnsupported]: the store is no
// [backend.StatusStore], and there is neither a [Config.Status] nor a [Config.Directory].
//
// Where the site has a [Config.Directory] the choice is kept there, it never ends by itself,
// and the text beside the former status goes. Then SetStatus costs and returns what
// [Tracker.ChangeSettings] does.
func (t *Tracker) SetStatus(ctx context.Context, user presence.UserID, status presence.Status) error {
	if t.directory.on() {
		return t.choices.changeSettings(ctx, user, func(s *presence.Settings) error {
			s.Status, s.Until, s.Text = status, time.Time{}, ""
			_, err := presence.ParseStatus(string(status))
			return err
		})
	}
	return t.choices.set(ctx, user, status)
}

// Status returns the status that a user chose, or "" where this node knows of none. It
// reads memory only.
func (t *Tracker) Status(user presence.UserID) presence.Status {
	if s, known := t.users.settingsOf(user); known {
		if s.Status == "" {
			return ""
		}
		return s.At(time.Now()).Status
	}
	return t.users.chosen(user)
}

// AwaitChoice waits until this node knows what a user chose: a node that has just started asks the store
// or the site. A page that shows its visitor before the roster does calls it, so as to show nobody who
// hides. It returns the error of ctx if that ends first. For a user whose choice is known it reads
// memory only.
func (t *Tracker) AwaitChoice(ctx context.Context, user presence.User) error {
	known := make(chan struct{})
	t.choices.resolve(user, func(resolved) { close(known) })
	select {
	case <-known:
		return nil
	default:
	}
	select {
	case <-known:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// InRosters reports whether rosters show a user who is online, as far as this node knows:
// false for a user who chose to be invisible, or to be seen by contacts alone or by nobody.
// It reads memory only.
func (t *Tracker) InRosters(user presence.UserID) bool {
	return t.users.chosen(user).Base() != presence.Invisible
}

// Sign returns the [presence.MAC] of a text for a purpose of the caller's, such as "guest",
// made with the fleet's secret. It is false while that is not known, because the
// store was not reached yet. It costs about half a microsecond.
func (t *Tracker) Sign(purpose, text string) (presence.MAC, bool) {
	return t.seal.sign("site:"+purpose, text)
}

// SignEarlier returns what Sign did with the fleet's secret before the present one. It is false where
// this node has known one secret only. A caller that compares a part of a MAC needs it; others
// call [Tracker.Verify].
func (t *Tracker) SignEarlier(purpose, text string) (presence.MAC, bool) {
	keys := t.seal.keys.Load()
	if keys == nil || keys.before == nil {
		return presence.MAC{}, false
	}
	return keys.before.mac("site:"+purpose, text), true
}

// Verify reports whether a [presence.MAC] came from [Tracker.Sign] with the same purpose and
// text, on any node of the fleet. It is false while the secret is not known.
func (t *Tracker) Verify(purpose, text string, mac presence.MAC) bool {
	return t.seal.verify("site:"+purpose, text, mac)
}

// Close ends the Tracker. Every connection ends with [presence.ErrClosed], so that its page comes
// back to another node, and its leases are released with the grace. What waits is written;
// while the store is out, Close tries for 3 s, because no other node knows of it. Close
// returns when no goroutine is left or ctx ends. It may be called twice.
func (t *Tracker) Close(ctx context.Context) error {
	t.topics.stop()
	for _, c := range t.users.close() {
		c.finish(presence.ErrClosed, backend.OpRelease)
	}
	t.choices.drain(ctx)
	t.life.stop()
	last, cancel := context.WithTimeout(ctx, applyTimeout)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer cancel()
		seen := make(chan struct{})
		go func() {
			defer close(seen)
			t.lastSeenWriter.close(last)
		}()
		<-t.writer.done
		for !t.notices.republish(last) && wait.For(last, backoffFirst) {
		}
		<-seen
		t.life.wait()
		t.topics.close()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
