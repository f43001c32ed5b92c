package track_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
)

// The pages of a roster name everybody once: in part, whatever the store's order is and whatever its
// log has of joins, while users come, and as the topic turns whole between two.
func TestPartPages(t *testing.T) {
	memory := func() backend.Store { return memstore.New() }
	shuffled := func() backend.Store { return shuffledPages{memstore.New()} }
	for name, c := range map[string]struct {
		store   func() backend.Store
		updates int // in the log at the start, behind the joins
		earlier int // users who come while the node has the topic in part, before the first page
		between int // users who come between two pages
		shrinks bool
	}{
		"the newest first":                      {store: memory},
		"the newest first, it shrinks":          {store: memory, shrinks: true},
		"the newest first, no joins in the log": {store: memory, updates: 8},
		"the newest first, a node that runs":    {store: memory, updates: 8, earlier: 4, between: 2},
		"no order":                              {store: shuffled},
		"no order, it shrinks":                  {store: shuffled, shrinks: true},
		"no order, a few joins in the log":      {store: shuffled, updates: 5, between: 1},
		"no order, no joins in the log":         {store: shuffled, updates: 8},
		"no order, users come":                  {store: shuffled, updates: 8, between: 1},
		"no order, a node that runs":            {store: shuffled, updates: 8, earlier: 4},
		"no order, it runs and users come":      {store: shuffled, updates: 8, earlier: 20, between: 2},
	} {
		bubble(t, name, func(t *testing.T) {
			store := c.store()
			come(t, store, span(0, 30)...)
			for i := range c.updates {
				u := user(fmt.Sprint("u", i))
				u.Status = presence.Busy
				crowdStep(t, store, backend.Op{Kind: backend.OpUpdate, User: u})
			}
			cfg := inPart
			cfg.LogSize = 8
			tracker := startInPart(t, store, cfg)
			wantPart(t, tracker, 30, 5)
			come(t, store, span(30, 30+c.earlier)...)
			time.Sleep(2 * time.Second)
			wantPart(t, tracker, 30+c.earlier, 5)
			named := map[presence.UserID]int{}
			pages, came, after := 0, 0, ""
			for {
				page, next, err := tracker.RosterPage(t.Context(), crowdView(t, tracker), "", after, 3)
				if err != nil || len(page) > 3 || pages == 0 && len(page) == 0 {
					t.Fatalf("got %d users, %v", len(page), err)
				}
				for _, m := range page {
					named[m.ID]++
				}
				if pages++; pages == 4 && c.shrinks {
					leave(t, store, span(9, 30)...)
					time.Sleep(3 * time.Second)
					leave(t, store, "u8")
					time.Sleep(3 * time.Second)
					wantPart(t, tracker, 8, -1)
				}
				come(t, store, fmt.Sprint("late", pages))
				leave(t, store, fmt.Sprint("late", pages))
				if came < 20 {
					for range c.between {
						come(t, store, fmt.Sprint("stays", came))
						came++
					}
					time.Sleep(1100 * time.Millisecond) // the next View has them
				}
				if after = next; after == "" || pages > 80 {
					break
				}
			}
			for i, id := range span(0, 30+c.earlier) {
				if n := named[presence.UserID(id)]; n != 1 && (i < 8 || !c.shrinks) {
					t.Errorf("the pages name %s %d times, want once", id, n)
				}
			}
			for id, n := range named {
				if n > 1 {
					t.Errorf("the pages name %s %d times", id, n)
				}
			}
			if _, _, err := tracker.RosterPage(t.Context(), crowdView(t, tracker), "", "~x", 3); err == nil || errors.Is(err, presence.ErrStoreOut) {
				t.Errorf("a page that nobody named: got %v, want an error of the page", err)
			}
		})
	}
}

// shuffledPages has the pages of a roster in an order that has nothing to do with when users came.
type shuffledPages struct{ backend.Store }

func (s shuffledPages) Roster(ctx context.Context, topic presence.Topic, q backend.RosterQuery) (backend.RosterPage, error) {
	if q.After == "x" {
		return backend.RosterPage{}, presence.ErrInvalidPage
	}
	all, err := s.Snapshot(ctx, topic)
	if err != nil {
		return backend.RosterPage{}, err
	}
	place := func(id presence.UserID) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(id))) }
	slices.SortFunc(all.Members, func(a, b presence.Member) int { return strings.Compare(place(a.ID), place(b.ID)) })
	page := backend.RosterPage{ID: all.ID, Total: len(all.Members)}
	for _, m := range all.Members {
		if place(m.ID) <= q.After {
			continue
		}
		if len(page.Members) == q.Limit {
			page.Next = place(page.Members[q.Limit-1].ID)
			break
		}
		page.Members = append(page.Members, m)
	}
	return page, nil
}

// While the store is out, and while nodes restore what it lost, the first page has those whom the
// node knows. Pages behind it are the store's, and name everybody once.
func TestPartPagesWithoutTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := presencetest.NewFaults(shuffledPages{memstore.New()})
		come(t, faults, span(0, 30)...)
		crowdStep(t, faults, backend.Op{Kind: backend.OpUpdate, User: presence.User{ID: "u2", Name: "U2", Status: presence.Busy}})
		cfg := inPart
		cfg.LogSize = 1
		tracker := startInPart(t, faults, cfg)
		wantPart(t, tracker, 30, 5)
		faults.Break(presencetest.Fault{Err: errDown})
		page, next, err := tracker.RosterPage(t.Context(), crowdView(t, tracker), "", "", 3)
		if err != nil || len(page) != 3 || next == "" {
			t.Fatalf("the store is out: got %d users, a next page %q, %v", len(page), next, err)
		}
		if _, _, err := tracker.RosterPage(t.Context(), crowdView(t, tracker), "", next, 3); !errors.Is(err, presence.ErrStoreOut) {
			t.Errorf("the store is out: got %v for the second page, want ErrStoreOut", err)
		}
		faults.Heal()
		named := map[presence.UserID]int{}
		for next != "" {
			if page, next, err = tracker.RosterPage(t.Context(), crowdView(t, tracker), "", next, 7); err != nil {
				t.Fatal(err)
			}
			for _, m := range page {
				named[m.ID]++
			}
		}
		for _, id := range span(0, 30) {
			if n := named[presence.UserID(id)]; n != 1 {
				t.Errorf("the store's pages name %s %d times, want once", id, n)
			}
		}
	})
}
