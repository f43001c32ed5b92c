package track

import (
	"context"
	"time"

	"github.com/rollcall-go/rollcall/internal/generations"
	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence"
)

// Relations are asked for only if they decide something: about a person who is online, and who shows that
// only to contacts, or has blocked somebody.
const (
	relationsKept    = 1_000_000              // pairs that a node remembers, about 100 MB
	relationsFor     = 5 * time.Minute        // then the Directory is asked again
	relationsWindow  = 3 * time.Millisecond   // collects the pairs of one query
	relationsWait    = 500 * time.Millisecond // a stream that opens waits this long for its relations
	relationsShared  = 5 * time.Second        // the lists of one viewer share an answer of this age when they are renewed
	maxPeopleBackoff = 15 * time.Second
)

// relations asks the Directory for the relations of viewers to the people whom they watch, in batches. It
// remembers the answers for a while, for pages that come back and for other pages of the viewer.
type relations struct {
	*peopleHere
	kick wait.Wakeup

	mu      relationsMutex
	wanted  askQueue[*watchList] // lists that have questions
	known   *generations.Map[presence.Pair, knownRelation]
	turn    uint64 // counts changes
	changed map[presence.UserID]changedRelations
	void    uint64 // answers of older turns are void
	failed  bool   // the latest query
	busy    bool   // run has questions, or waits to repeat them
	queries uint64
	looked  time.Time // when keep last looked for lists to renew
}

// A knownRelation is an answer of the Directory, and when it was asked for.
type knownRelation struct {
	relation presence.Relation
	asked    time.Time
	turn     uint64
}

// changedRelations say since when a user's relations have changed: older answers are void.
type changedRelations struct {
	turn uint64
	at   time.Time
}

// An askedList is the state of a list's relations.
type askedList struct {
	opened chan struct{} // closed once the Directory has answered; nil: its connection does not wait for that
	since  time.Time     // of the oldest answer; zero: there is none
}

func newRelations(p *peopleHere) *relations {
	return &relations{
		peopleHere: p, kick: wait.NewWakeup(), changed: make(map[presence.UserID]changedRelations),
		known: generations.New[presence.Pair, knownRelation](relationsKept, nil),
	}
}

// want queues the questions of a list. It does not wait. soon reports whether an answer may come soon: no
// earlier question waits for a Directory that is out.
func (r *relations) want(l *watchList) (soon bool) {
	r.mu.Lock()
	soon = !r.failed || !r.busy
	r.wanted.put(l)
	r.mu.Unlock()
	r.kick.Wake()
	return soon
}

// await waits until the Directory has answered for a list that is being opened: not for long, and not while
// it is out. So the first state of a page has everybody whom the state on another node had. It costs one
// query in any case, so that the time reveals nothing about hidden users or blocks (rule P2).
func (r *relations) await(ctx context.Context, l *watchList) {
	if l.size() == 0 {
		return
	}
	r.mu.Lock()
	if r.failed {
		r.mu.Unlock()
		return
	}
	answered := make(chan struct{})
	l.asked.opened = answered
	r.mu.Unlock()
	r.want(l)
	ctx, cancel := context.WithTimeout(ctx, relationsWait)
	defer cancel()
	select {
	case <-answered:
	case <-ctx.Done():
	case <-r.life.ctx.Done():
	}
}

// run asks the Directory until ctx ends.
func (r *relations) run(ctx context.Context) {
	askInTurn(ctx, r.kick, relationsWindow, func() (asked, answered bool) {
		questions := r.collect()
		r.mu.Lock()
		r.busy = len(questions) > 0
		r.mu.Unlock()
		return len(questions) > 0, len(questions) > 0 && r.ask(ctx, questions)
	})
}

// A question is one pair that a list asks for.
type question struct {
	list   *watchList
	slot   int // negative: the answer is not needed
	person *watched
}

// collect returns the questions of the next query. Those of one list are adjacent. A list whose questions are
// all answered from memory has none.
func (r *relations) collect() []question {
	var asked []question
	for len(asked) < maxRelationsAtOnce {
		l, opening := r.next()
		if l == nil {
			break
		}
		had := len(asked)
		asked = l.questions(asked, maxRelationsAtOnce, opening)
		if len(asked) == maxRelationsAtOnce {
			r.want(l) // the list may have more questions
		} else if len(asked) == had {
			r.answered(l)
		}
	}
	return asked
}

// next returns a list that has questions, and whether its connection waits for them.
func (r *relations) next() (l *watchList, opening bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l, wanted := r.wanted.next()
	return l, wanted && l.asked.opened != nil
}

// questions appends up to most questions of a list, and uses remembered answers. A list that is being opened
// uses none, and has at least one question, so that the time it takes reveals nothing: see await.
func (l *watchList) questions(asked []question, most int, opening bool) []question {
	l.mu.Lock()
	defer l.mu.Unlock()
	had := len(asked)
	for i := range l.slots {
		s := &l.slots[i]
		now := s.person.now.Load()
		if !l.said[i].needed() {
			continue
		}
		if !now.here || !now.visibility.NeedsRelation() { // the relation decides nothing now, and is asked for when it does
			if now.here {
				l.said[i].forget()
			}
			continue
		}
		if len(asked) == most {
			break
		}
		if !opening {
			young := relationsFor
			if l.said[i]&relationValue != 0 { // it must be asked for again
				young = relationsShared
			}
			if r, ok := l.people.relations.recall(presence.Pair{User: s.person.id, Viewer: l.viewer}, young); ok {
				l.answeredLocked(i, r)
				continue
			}
		}
		asked = append(asked, question{l, i, s.person})
	}
	if opening && len(asked) == had && had < most && len(l.slots) > 0 {
		asked = append(asked, question{l, -1, l.anybodyLocked()})
	}
	return asked
}

// anybodyLocked returns one of the people on a list, preferably one whom not everybody sees.
func (l *watchList) anybodyLocked() *watched {
	for i := range l.slots {
		if now := l.slots[i].person.now.Load(); !now.here || now.visibility.Hidden() {
			return l.slots[i].person
		}
	}
	return l.slots[0].person
}

// recall returns the relation that the Directory answered within a time.
func (r *relations) recall(pair presence.Pair, within time.Duration) (presence.Relation, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k, ok := r.known.Get(pair)
	if !ok || time.Since(k.asked) >= within || r.voidLocked(pair.User, k.turn) {
		return presence.Stranger, false
	}
	return k.relation, true
}

// query asks the Directory, and remembers the answers that are valid: about users whose relations have not changed since.
func (r *relations) query(ctx context.Context, pairs []presence.Pair) (answers []presence.Relation, valid []bool, err error) {
	began := time.Now()
	r.mu.Lock()
	turn := r.turn
	r.mu.Unlock()
	if answers, err = r.directory.relations(ctx, pairs...); err != nil {
		return nil, nil, err
	}
	valid = make([]bool, len(pairs))
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, pair := range pairs {
		if valid[i] = !r.voidLocked(pair.User, turn); valid[i] {
			r.known.Set(pair, knownRelation{answers[i], began, turn})
		}
	}
	return answers, valid, nil
}

// voidLocked reports whether an answer to a question of a turn may be older than a change.
func (r *relations) voidLocked(user presence.UserID, turn uint64) bool {
	return turn < r.void || turn < r.changed[user].turn
}

// ask makes one query, and passes the answers to the lists. It reports whether the Directory answered.
func (r *relations) ask(ctx context.Context, asked []question) bool {
	pairs := make([]presence.Pair, len(asked))
	for i, q := range asked {
		pairs[i] = presence.Pair{User: q.person.id, Viewer: q.list.viewer}
	}
	answers, valid, err := r.query(ctx, pairs)
	if err != nil { // nobody looks at these
		answers, valid = make([]presence.Relation, len(asked)), make([]bool, len(asked))
	}
	r.mu.Lock()
	r.queries++
	r.failed = err != nil
	r.mu.Unlock()
	for i := 0; i < len(asked); {
		end := i
		for end < len(asked) && asked[end].list == asked[i].list {
			end++
		}
		l := asked[i].list
		if !l.answer(asked[i:end], answers[i:end], valid[i:end], err != nil) {
			r.want(l)
		}
		r.answered(l)
		i = end
	}
	return err == nil
}

// answered ends the wait of a list that is being opened, and schedules the renewal of its relations.
func (r *relations) answered(l *watchList) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if l.asked.opened != nil {
		close(l.asked.opened)
		l.asked.opened = nil
	}
	if l.asked.since.IsZero() {
		l.asked.since = time.Now()
	}
}

// answer stores the Directory's answers. It reports whether there was one about everybody who was asked for. While the
// Directory is out, people who are shown stay, unless the site said that the relation has changed.
func (l *watchList) answer(asked []question, answers []presence.Relation, valid []bool, out bool) (all bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all = !out
	for i, q := range asked {
		slot := l.slotLocked(q)
		switch {
		case slot < 0:
		case out:
			l.said[slot].failed(l.slots[slot].told != 0)
			l.noteLocked(slot)
		case !valid[i]:
			all = false
		default:
			l.answeredLocked(slot, answers[i])
		}
	}
	return all
}

func (l *watchList) answeredLocked(slot int, r presence.Relation) {
	l.said[slot] = stateOf(r) | l.said[slot]&relationGains
	l.noteLocked(slot)
}

// relationsHeld is how long a person who begins to show fewer viewers is still shown unchanged.
const relationsHeld = 500 * time.Millisecond

// holdsLocked reports whether a person whom the list no longer shows stays as the reader has the person, for
// the moment. The person has begun to show only contacts, or has blocked somebody for the first time, and the
// Directory has not yet answered about the viewer. So a viewer who goes on seeing the person sees no leave,
// and learns nothing of a block of somebody else. The reader gets no newer state of the person before the
// answer. Without an answer in time, or with an error, the person is not shown (rules P4, P6).
func (l *watchList) holdsLocked(slot int, now *seenPerson) bool {
	said := &l.said[slot]
	if l.slots[slot].told == 0 || !now.here || !now.visibility.NeedsRelation() || *said&(relationValue|relationLate) != 0 {
		return false
	}
	if *said&relationHeld == 0 {
		*said |= relationHeld
		if !l.holds {
			l.holds = true
			time.AfterFunc(relationsHeld, l.release)
		}
	}
	return true
}

// release ends what holdsLocked began.
func (l *watchList) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.holds = false
	for i := range l.slots {
		if l.said[i]&relationHeld != 0 {
			l.said[i].late()
			l.noteLocked(i)
		}
	}
}

// slotLocked returns the slot of a question's person; negative: the person is no longer on the list.
func (l *watchList) slotLocked(q question) int {
	if q.slot < 0 {
		return q.slot
	}
	if q.slot < len(l.slots) && l.slots[q.slot].person == q.person {
		return q.slot
	}
	for i := range l.slots {
		if l.slots[i].person == q.person {
			return i
		}
	}
	return -1
}

// maxChangedRelations bounds the users whose older answers are void. Beyond it all answers are void.
const maxChangedRelations = 100_000

// keepEvery is how often keep looks for lists whose relations are becoming too old.
const keepEvery = 5 * time.Second
