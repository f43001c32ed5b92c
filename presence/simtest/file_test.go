package simtest_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
)

// A filed is what a server has written into its file: all that it had at a moment. A Redis does so by
// default, and so does a replica that synchronises with its master.
type filed struct {
	store *memstore.Store
	log   []lateNotice
	at    time.Time
}

// fileActs returns when the store writes its file, and when it starts again with that.
func (g game) fileActs(rnd *rand.Rand, length time.Duration) (acts []act) {
	for range 1 + rnd.IntN(3) {
		at := upTo(rnd, length)
		acts = append(acts, act{at: at, do: "save"})
		if rnd.IntN(2) == 0 {
			acts = append(acts, act{at: at + upTo(rnd, length-at), do: "restart store", d: upTo(rnd, time.Second)})
		}
	}
	return acts
}

// views is for when the store begins with a file. A page view in there of who has signed out since holds its
// user until it ends, as no node remembers it. So does one that the store has lost since, and the node that
// took it has ended.
func (w *world) views(begins func()) {
	before := w.stored()
	begins()
	for _, u := range w.persons {
		if u.kind == visits && w.stored()[u.id] && !before[u.id] {
			u.departs(1)
			if u.viewed.IsZero() {
				u.viewed, u.sure = time.Now(), false
			}
		}
	}
}

// stored returns who is in the store's roster of the site, or has a device there: a late sign-out may have ended one
// of the two alone when the file was written.
func (w *world) stored() map[string]bool {
	there := make(map[string]bool)
	for _, topic := range []presence.Topic{presence.Site, backend.DevicesTopic} {
		snap, err := w.server.Snapshot(context.Background(), topic)
		if err != nil {
			panic(err)
		}
		for _, m := range snap.Members {
			user := m.ID
			if topic == backend.DevicesTopic {
				user, _ = backend.OwnerOf(m.ID)
			}
			there[string(user)] = true
		}
	}
	return there
}

// write writes the file.
func (s *server) write() {
	store := memstore.New()
	s.mu.Lock()
	defer s.mu.Unlock()
	move(store, s.Store)
	s.file = &filed{store, slices.Clone(s.log), time.Now()}
}

// restart goes on with what is in the file.
func (s *server) restart() {
	if s.file == nil {
		s.wipe()
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	move(s.Store, s.file.store)
	s.changes.rewinds(s, false)
	if time.Since(s.file.at) > nodeTTL/6 {
		s.outdated.Store(time.Now().UnixNano())
	}
	if at := len(s.file.log) - 1; len(s.log)-1 != at || at >= 0 && s.log[at].at != s.file.log[at].at {
		s.losses.Add(1)
	}
	s.saved, s.log = nil, slices.Clone(s.file.log)
	s.cold = true
}
