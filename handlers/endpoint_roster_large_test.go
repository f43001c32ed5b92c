package handlers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A topic over the roster limit: its pages name everybody once, and the oldest users are found.
func TestRosterOfALargeTopic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		const users = 6000
		for first := 0; first < users; first += 100 {
			var ops []backend.Op
			for i := first; i < first+100; i++ {
				id := fmt.Sprintf("u%04d", i)
				ops = append(ops, backend.Op{Kind: backend.OpJoin, User: presence.User{ID: presence.UserID(id)}, Holder: presence.Holder("elsewhere." + id), For: time.Hour})
			}
			noError(t, store.Apply(context.Background(), []backend.Batch{{Topic: presence.Site, Ops: ops}})[0].Err)
			time.Sleep(time.Millisecond)
		}
		s := newSite(t, setup{store: store, presence: track.Config{MaxRoster: 1000}})
		seen := map[string]int{}
		after, pages := "", 0
		for {
			p := s.roster("limit=500&after=" + url.QueryEscape(after))
			if p.Total != users || !p.Truncated {
				t.Fatalf("got total %d, truncated %v", p.Total, p.Truncated)
			}
			for _, id := range p.Order {
				seen[id]++
			}
			if pages++; pages == 1 && p.Order[0] != "u5900" { // the first by id of the latest step
				t.Errorf("got %s first, want the newest", p.Order[0])
			}
			if after = p.Next; after == "" || pages > 30 {
				break
			}
		}
		for id, n := range seen {
			if n != 1 {
				t.Errorf("%s is on %d pages", id, n)
			}
		}
		if len(seen) != users {
			t.Errorf("the pages have %d users, want %d", len(seen), users)
		}
		resp, body := s.fetch(request{path: "users?id=u0001&id=u5999&id=nobody"})
		var found struct {
			Users map[string]struct{ Online bool }
		}
		if err := json.Unmarshal([]byte(body), &found); err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("got status %d, %v: %s", resp.StatusCode, err, body)
		}
		if u := found.Users; !u["u0001"].Online || !u["u5999"].Online || u["nobody"].Online {
			t.Errorf("got %+v, want u0001 and u5999 online", u)
		}
		if resp, _ := s.fetch(request{path: "roster?after=~x"}); resp.StatusCode != http.StatusBadRequest {
			t.Errorf("a page that nobody named: got status %d, want 400", resp.StatusCode)
		}
	})
}
