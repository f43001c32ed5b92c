package handlers

import (
	"context"
	"hash/maphash"
	"strings"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// rights asks the site whether the visitors of open streams may still see their
// topics. Few goroutines do so: however many streams there are and however long
// Config.Authorize takes, no more than maxAsking of them call it at a time. Streams
// that ask the same question at the same time share its answer.
//
// A question that is not answered within its patience counts as a no. It then is
// forgotten, so that an Authorize that hangs does not collect questions.
type rights struct {
	h    *Handler
	seed maphash.Seed

	mu     sync.Mutex
	asking int                        // goroutines that call Authorize
	open   map[rightKey]*rightRequest // to be answered
	queue  []*rightRequest            // to be asked, the oldest first
}

// maxAsking is how many goroutines of a Handler call Authorize for open streams.
const maxAsking = 32

// A rightKey tells questions apart. Two streams ask the same where the visitor, the
// topic and what Authorize can read of their requests are the same: two tabs of one
// browser, and not two browsers of one user, whose sessions may end at other times.
type rightKey struct {
	user    presence.UserID
	guest   string
	topic   presence.Topic
	request uint64 // a hash of the rest
}

// A rightRequest is a question for one visitor and topic.
type rightRequest struct {
	key     rightKey
	visit   visit
	until   time.Time // unanswered then, it is a no
	waiting []*rightCheck
}

// A rightCheck is a stream's question for all its topics.
type rightCheck struct {
	left   int        // topics without an answer; after a no, 0
	answer func(bool) // called once, from any goroutine
}

func newRights(h *Handler) *rights {
	return &rights{h: h, seed: maphash.MakeSeed(), open: make(map[rightKey]*rightRequest)}
}

// minSiteWait is the least that a stream waits for an answer: where heartbeats are
// much shorter, a busy machine must not end streams.
const minSiteWait = time.Second

// patience is how long a stream waits for an answer: a heartbeat, so that a stream
// whose right is gone has ended within two, between minSiteWait and maxSiteWait.
func (h *Handler) patience() time.Duration {
	return min(max(h.tracker.Config().Heartbeat(), minSiteWait), maxSiteWait)
}

// ask calls answer once the site has answered for all topics, and not at all where
// it does not answer within the patience.
func (a *rights) ask(v visit, topics []presence.Topic, answer func(ok bool)) {
	if len(topics) == 0 {
		answer(true)
		return
	}
	now := time.Now()
	key := a.key(v)
	check := &rightCheck{left: len(topics), answer: answer}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.forget(now)
	for _, topic := range topics {
		key.topic = topic
		q := a.open[key]
		if q == nil || !now.Before(q.until) {
			q = &rightRequest{key: key, visit: v, until: now.Add(a.h.patience())}
			a.open[key] = q
			a.queue = append(a.queue, q)
		}
		q.waiting = append(q.waiting, check)
	}
	for range min(maxAsking-a.asking, len(a.queue)) {
		a.asking++
		go a.work()
	}
}

// allowed asks, and waits for the answer.
func (a *rights) allowed(v visit, topics ...presence.Topic) bool {
	answered := make(chan bool, 1)
	a.ask(v, topics, func(ok bool) { answered <- ok })
	timer := time.NewTimer(a.h.patience())
	defer timer.Stop()
	select {
	case ok := <-answered:
		return ok
	case <-timer.C:
		a.unanswered()
		return false
	}
}

// unanswered notes that a stream ends since the site has not answered.
func (a *rights) unanswered() {
	a.h.counters.unanswered.Add(1)
	a.h.faults.warn(rightsUnanswered, "presence: Config.Authorize did not answer in time; the stream ends", "patience", a.h.patience())
}

// forget drops the questions whose time has passed before anybody asked them. The
// caller holds mu.
func (a *rights) forget(now time.Time) {
	for len(a.queue) > 0 && !now.Before(a.queue[0].until) {
		a.close(a.queue[0])
		a.queue[0] = nil
		a.queue = a.queue[1:]
	}
}

// close takes a question off the open ones. The caller holds mu.
func (a *rights) close(q *rightRequest) {
	if a.open[q.key] == q {
		delete(a.open, q.key)
	}
}

// work asks the questions in the queue until there is none.
func (a *rights) work() {
	for {
		a.mu.Lock()
		a.forget(time.Now())
		if len(a.queue) == 0 {
			a.asking--
			a.queue = nil
			a.mu.Unlock()
			return
		}
		q := a.queue[0]
		a.queue[0] = nil
		a.queue = a.queue[1:]
		a.mu.Unlock()

		ok := a.put(q)

		a.mu.Lock()
		a.close(q)
		waiting := q.waiting
		a.mu.Unlock()
		for _, check := range waiting {
			a.settle(check, ok)
		}
	}
}

// put asks the site one question.
func (a *rights) put(q *rightRequest) bool {
	ctx, cancel := context.WithDeadline(q.visit.context(), q.until)
	defer cancel()
	r := q.visit.request(ctx)
	return a.h.authorize(r, presence.VisitorFromContext(ctx), q.key.topic)
}

// settle counts the answer for one topic of a check.
func (a *rights) settle(check *rightCheck, ok bool) {
	a.mu.Lock()
	asked := check.left > 0
	if asked {
		if check.left--; !ok {
			check.left = 0
		}
	}
	done := asked && check.left == 0
	a.mu.Unlock()
	if done {
		check.answer(ok)
	}
}

// key returns the part of a question's key that is the same for all topics. Of the
// request it leaves out what differs between two tabs: the port and the cursor.
func (a *rights) key(v visit) rightKey {
	visitor := presence.VisitorFromContext(v.context())
	var h maphash.Hash
	h.SetSeed(a.seed)
	write := func(s string) {
		h.WriteString(s)
		h.WriteByte(0)
	}
	write(v.bare.Method)
	write(v.bare.Host)
	write(v.bare.URL.Path)
	for pair := range strings.SplitSeq(v.bare.URL.RawQuery, "&") {
		if !isCursor(pair) {
			write(pair)
		}
	}
	write(remoteIP(v.bare))
	write(v.headers())
	return rightKey{user: visitor.User.ID, guest: visitor.Guest, request: h.Sum64()}
}
