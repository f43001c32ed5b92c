package track

import (
	"context"
	"errors"
	"time"

	"github.com/rollcall-go/rollcall/internal/generations"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// maxAsked bounds the users whom a partial replica remembers because it asked for them. A user takes about
// 300 bytes. There are about as many as users with a connection or a page view here.
const maxAsked = 1 << 16

// askAtOnce is how many users the store is asked for in one round trip.
const askAtOnce = 500

// askAgain is the pause after the store failed to answer.
const askAgain = time.Second

// errQuiet is returned during that pause.
var errQuiet = errors.New("the store failed a moment ago")

// askedUsers are the users outside the sample of a partial replica about whom somebody here asked: pages that
// show their dots, and middleware with their page views. They are read from the store once, in batches, and
// then kept current by the topic's diffs. It may be used concurrently.
type askedUsers struct {
	store backend.Store
	topic presence.Topic
	spawn func(func(context.Context))

	mu       answersMutex
	known    *generations.Map[presence.UserID, *entry] // nil: absent
	asking   map[presence.UserID]*inquiry              // waiting, or being read
	queue    []presence.UserID                         // the users in asking that wait
	busy     bool                                      // a goroutine asks
	doubtful bool                                      // the store may have lost users that nodes are restoring, so absence proves nothing
	quiet    time.Time                                 // when the store may be asked again
}

// errDoubt is returned about a user whom the store may have lost.
var errDoubt = errors.New("the store may have lost the user")

// An inquiry is a user about whom the store is asked.
type inquiry struct {
	done  chan struct{} // closed with the answer
	entry *entry        // nil: absent
	err   error

	told bool   // a diff has told where the user is, which is newer than the answer
	now  *entry // the user's entry in that diff
}

func newAskedUsers(store backend.Store, topic presence.Topic, spawn func(func(context.Context))) *askedUsers {
	return &askedUsers{
		store: store, topic: topic, spawn: spawn,
		known: generations.New[presence.UserID, *entry](maxAsked, nil), asking: make(map[presence.UserID]*inquiry),
	}
}

// get returns a user's entry, nil if absent. For an unknown user it returns false, and asks the store in the
// background.
func (a *askedUsers) get(id presence.UserID) (e *entry, known bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if e, known = a.known.Get(id); !known {
		a.askLocked(id)
	}
	return e, known
}

// peek is get without asking the store.
func (a *askedUsers) peek(id presence.UserID) (e *entry, known bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.known.Get(id)
}

// ask returns the entries of users, nil for absent ones, in their order. It waits for the answers about
// unknown users: one round trip for 500.
func (a *askedUsers) ask(ctx context.Context, ids ...presence.UserID) ([]*entry, error) {
	entries := make([]*entry, len(ids))
	questions := make([]*inquiry, len(ids))
	a.mu.Lock()
	for i, id := range ids {
		e, known := a.known.Get(id)
		if entries[i] = e; !known {
			questions[i] = a.askLocked(id)
		}
	}
	a.mu.Unlock()
	for i, q := range questions {
		if q == nil {
			continue
		}
		select {
		case <-q.done:
		case <-ctx.Done():
			a.gaveUp(ctx.Err())
			return nil, ctx.Err()
		}
		if q.err != nil {
			return nil, q.err
		}
		entries[i] = q.entry
	}
	return entries, nil
}

// gaveUp notes that a caller stopped waiting for an answer. A page asks about many users, one after another.
// So if the store is too slow, no user is asked about for a while. A client that closed its request is no
// sign of a slow store.
func (a *askedUsers) gaveUp(why error) {
	if !errors.Is(why, context.DeadlineExceeded) {
		return
	}
	a.mu.Lock()
	a.quiet = time.Now().Add(askAgain)
	a.mu.Unlock()
}

// askLocked returns the inquiry about a user, and starts one if there is none.
func (a *askedUsers) askLocked(id presence.UserID) *inquiry {
	if q := a.asking[id]; q != nil {
		return q
	}
	q := &inquiry{done: make(chan struct{})}
	if time.Now().Before(a.quiet) || len(a.asking) >= maxAsked {
		q.err = errQuiet
		close(q.done)
		return q
	}
	id = presence.UserID([]byte(id)) // cloned because it may be a part of a request
	a.asking[id] = q
	a.queue = append(a.queue, id)
	if !a.busy {
		a.busy = true
		a.spawn(a.askAll)
	}
	return q
}

// askAll asks until no user waits. Users who are added while a batch is under way form the next batch.
func (a *askedUsers) askAll(ctx context.Context) {
	for {
		a.mu.Lock()
		n := min(len(a.queue), askAtOnce)
		if n == 0 {
			a.busy, a.queue = false, nil
			a.mu.Unlock()
			return
		}
		ids := a.queue[:n:n]
		a.queue = a.queue[n:]
		a.mu.Unlock()
		try, cancel := context.WithTimeout(ctx, applyTimeout)
		members, err := a.store.Members(try, a.topic, ids...)
		cancel()
		a.answer(ids, members, err)
	}
}

// answer stores the store's answer about users.
func (a *askedUsers) answer(ids []presence.UserID, members []presence.Member, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err == nil && len(members) != len(ids) {
		err = errors.New("the store answers for other users")
	}
	if err != nil {
		a.quiet = time.Now().Add(askAgain)
	}
	for i, id := range ids {
		q := a.asking[id]
		delete(a.asking, id)
		switch {
		case q.told:
			q.entry = q.now
		case err != nil:
			q.err = err
		case members[i].ID != "":
			q.entry = newEntry(members[i])
		case a.doubtful:
			q.err = errDoubt
		}
		if q.told || q.err == nil {
			a.known.Set(id, q.entry)
		}
		close(q.done)
	}
}

// tell stores what a diff says of a user: the entry, or nil if the user left.
func (a *askedUsers) tell(id presence.UserID, e *entry) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if q := a.asking[id]; q != nil {
		q.told, q.now = true, e
	} else if was, known := a.known.Get(id); known {
		if e != nil {
			e = stayed(was, e)
		}
		a.known.Replace(id, e)
	}
}

// doubt begins or ends a time in which the store may lack users.
func (a *askedUsers) doubt(is bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.doubtful = is
}
