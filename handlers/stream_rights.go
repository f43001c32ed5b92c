package handlers

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/internal/authz"
	"github.com/rollcall-go/rollcall/presence"
)

// rights asks the site whether the visitors of open streams may still see their topics.
// At most maxAsking goroutines call Config.Authorize at a time, however many streams
// there are and however long it takes. Streams that ask the same question at the same
// time share its answer.
//
// A question without an answer within maxSiteWait counts as a no, and is dropped, so that questions do not
// pile up while Authorize hangs. So a stream that loses its right ends within a heartbeat and maxSiteWait. With
// heartbeats of a second or two, the wait is not shorter: a busy machine must not end streams.
type rights struct {
	site *siteCode

	mu     sync.Mutex
	asking int                          // goroutines that call Authorize
	open   map[authz.RightKey]*question // without an answer yet
	queue  []*question                  // not asked yet, the oldest first
}

// maxAsking is how many goroutines of a Handler call Authorize for open streams.
const maxAsking = 32

// A question is a call of Authorize: may one visitor see one topic?
type question struct {
	key     authz.RightKey
	request keptRequest
	until   time.Time // without an answer by then, the answer is no
	waiting []*rightCheck
}

// A rightCheck collects the answers for all topics of a stream.
type rightCheck struct {
	left   int        // topics without an answer; 0 after a no
	until  time.Time  // an answer after that is dropped
	answer func(bool) // called once, from any goroutine
}

func newRights(site *siteCode) *rights {
	return &rights{site: site, open: make(map[authz.RightKey]*question)}
}

// ask calls answer once the site has answered for all topics. It does not call answer
// if the site takes longer than maxSiteWait.
func (a *rights) ask(r keptRequest, topics []presence.Topic, answer func(ok bool)) {
	topics = a.site.cfg.asked(r.visitor(), topics)
	if len(topics) == 0 {
		answer(true)
		return
	}
	now := time.Now()
	key := a.site.rights.Key(r.bare, r.visitor(), r.headers())
	check := &rightCheck{left: len(topics), until: now.Add(maxSiteWait), answer: answer}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.dropExpiredLocked(now)
	for _, topic := range topics {
		key.Topic = topic
		q := a.open[key]
		if q == nil || !now.Before(q.until) {
			q = &question{key: key, request: r, until: now.Add(maxSiteWait)}
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

// allowed asks and waits for the answer.
func (a *rights) allowed(r keptRequest, topics ...presence.Topic) bool {
	answered := make(chan bool, 1)
	a.ask(r, topics, func(ok bool) { answered <- ok })
	timer := time.NewTimer(maxSiteWait)
	defer timer.Stop()
	select {
	case ok := <-answered:
		return ok
	case <-timer.C:
		a.unanswered(topics)
		return false
	}
}

// lost asks about each topic separately, and returns the topics that the visitor may not see. A topic without
// an answer in time is among them.
func (a *rights) lost(r keptRequest, topics []presence.Topic) []presence.Topic {
	answered := make(chan presence.Topic, len(topics)) // the topics that may be seen; "" for a forbidden one
	for _, topic := range topics {
		a.ask(r, []presence.Topic{topic}, func(ok bool) {
			if !ok {
				topic = ""
			}
			answered <- topic
		})
	}
	timer := time.NewTimer(maxSiteWait)
	defer timer.Stop()
	lost := slices.Clone(topics)
	for range topics {
		select {
		case seen := <-answered:
			lost = slices.DeleteFunc(lost, func(t presence.Topic) bool { return t == seen })
		case <-timer.C:
			a.unanswered(lost)
			return lost
		}
	}
	return lost
}

// unanswered counts and logs that the site has not answered in time.
func (a *rights) unanswered(topics []presence.Topic) {
	a.site.counters.unanswered.Add(1)
	a.site.faults.Warn("presence: Config.Authorize did not answer in time; the stream ends", "topics", topics, "patience", maxSiteWait)
}

// dropExpiredLocked drops the questions whose time has passed in the queue.
func (a *rights) dropExpiredLocked(now time.Time) {
	for len(a.queue) > 0 && !now.Before(a.queue[0].until) {
		a.closeLocked(a.queue[0])
		a.queue[0] = nil
		a.queue = a.queue[1:]
	}
}

// closeLocked removes a question from those that are open.
func (a *rights) closeLocked(q *question) {
	if a.open[q.key] == q {
		delete(a.open, q.key)
	}
}

// work asks the questions in the queue until it is empty.
func (a *rights) work() {
	for {
		a.mu.Lock()
		a.dropExpiredLocked(time.Now())
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

		ok := a.askSite(q)

		a.mu.Lock()
		a.closeLocked(q)
		waiting := q.waiting
		a.mu.Unlock()
		for _, check := range waiting {
			a.countAnswer(check, ok)
		}
	}
}

// askSite asks the site one question.
func (a *rights) askSite(q *question) bool {
	// The request may end before the answer. Other streams wait for it too.
	ctx, cancel := context.WithDeadline(context.WithoutCancel(q.request.context()), q.until)
	defer cancel()
	return a.site.follows(q.request.with(ctx), q.request.visitor(), q.key.Topic)
}

// countAnswer counts the answer for one topic of a check, and calls its answer function
// after the last one or a no.
func (a *rights) countAnswer(check *rightCheck, ok bool) {
	a.mu.Lock()
	asked := check.left > 0 && time.Now().Before(check.until)
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
