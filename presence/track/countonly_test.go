package track_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A count-only topic tells readers figures, and no name: not in a state, a diff, a heartbeat,
// a resume, a View, a sighting, a page of recent users or a place. A Go program gets names.
func TestCountOnlyTellsNoName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const hall = presence.Topic("hall:1")
		tracker := start(t, memstore.New(), track.Config{Kinds: map[string]presence.Kind{
			"hall": {CountOnly: true, Recent: 100, Peak: true, Active: true},
		}})
		watch := connect(t, tracker, track.ConnectOptions{Topics: []presence.Topic{hall}})
		var told []presence.Event
		read := func() (total int) {
			t.Helper()
			time.Sleep(2 * time.Second)
			events := append(watch.Events(nil), watch.Heartbeats(nil)...)
			for _, e := range events {
				if e.Type == presence.EventDiff {
					t.Errorf("got a diff: %s", e.Data)
				}
				var d payload
				noError(t, json.Unmarshal(e.Data, &d))
				total = d.Total
			}
			told = append(told, events...)
			return total
		}
		if got := read(); got != 0 {
			t.Errorf("got %d online, want 0", got)
		}
		if b := told[0].Data; !bytes.Contains(b, []byte(`"users":{}`)) || !bytes.Contains(b, []byte(`"names":false`)) {
			t.Errorf("got state %s, want no users and names false", b)
		}
		alice := connect(t, tracker, track.ConnectOptions{Visitor: visitor("alice"), Topics: []presence.Topic{hall}})
		told = append(told, alice.Events(nil)...)
		tracker.Seen(hall, user("robert"), presence.Device{})
		if got := read(); got != 2 {
			t.Errorf("got %d online, want 2", got)
		}
		cursor := watch.Cursor()
		noError(t, tracker.SetStatus(t.Context(), "alice", presence.Busy))
		alice.Drop()
		if got := read(); got != 1 {
			t.Errorf("got %d online, want 1", got)
		}
		resumed := connect(t, tracker, track.ConnectOptions{Topics: []presence.Topic{hall}, Cursor: cursor})
		told = append(told, resumed.Events(nil)...)
		watch.WantState(hall)
		read()
		for _, e := range told {
			if bytes.Contains(bytes.ToLower(e.Data), []byte("alice")) || bytes.Contains(bytes.ToLower(e.Data), []byte("robert")) {
				t.Errorf("got a name in a %s: %s", e.Type, e.Data)
			}
		}

		v, err := tracker.View(t.Context(), hall)
		noError(t, err)
		if v.Names || v.Total != 1 || v.Peak.Total != 2 || len(v.Newest(10)) != 0 {
			t.Errorf("got %+v with %v, want one nameless user", v, v.Newest(10))
		}
		if page, next, err := v.Page("", "", 10); len(page) != 0 || next != "" || err != nil {
			t.Errorf("got page %v, %q, %v, want none", page, next, err)
		}
		if m, ok := v.Member("robert"); ok {
			t.Errorf("got member %+v, want none", m)
		}
		s, err := tracker.Sightings(t.Context(), hall, "alice", "robert")
		if err != nil || len(s) != 2 || !unknown(s[0]) || !unknown(s[1]) {
			t.Errorf("got sightings %+v, %v, want nothing of two users", s, err)
		}
		recent, err := tracker.Recent(t.Context(), hall, backend.RecentQuery{Within: time.Hour, Limit: 1})
		if err != nil || recent.Total != 2 || len(recent.Users) != 0 || recent.Next != "" {
			t.Errorf("got recent %+v, %v, want a total of 2 alone", recent, err)
		}
		lately, err := tracker.LatelyActive(t.Context(), hall, time.Hour, 10)
		if err != nil || lately.Total != 2 || len(lately.Users) != 0 {
			t.Errorf("got lately %+v, %v, want a total of 2 alone", lately, err)
		}
		places, err := tracker.Places(t.Context(), "")
		if err != nil || len(places) == 0 || places[0].Topic != hall || places[0].Total != 1 || len(places[0].Users) != 0 {
			t.Errorf("got places %+v, %v, want the hall without users", places, err)
		}
		if of, err := tracker.PlacesOf(t.Context(), "robert"); err != nil || len(of["robert"]) != 0 {
			t.Errorf("got places %v, %v of bob, want none", of, err)
		}

		inspected, err := tracker.Staff().Inspect(t.Context(), hall, "", 10)
		if err != nil || len(inspected) != 1 || inspected[0].ID != "robert" {
			t.Errorf("got %+v, %v for staff, want bob", inspected, err)
		}
		for change, err := range tracker.Changes(t.Context(), hall, "") {
			if err != nil || len(change.Joins) != 1 || change.Joins[0].ID != "robert" {
				t.Errorf("got %+v, %v in a Go program, want bob", change, err)
			}
			break
		}
	})
}

// A page with its own visitor in a count-only topic opens at once: it does not wait for a
// name that never comes.
func TestCountOnlyDoesNotDelayItsVisitor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, memstore.New(), track.Config{Kinds: map[string]presence.Kind{"hall": {CountOnly: true}}})
		began := time.Now()
		connect(t, tracker, track.ConnectOptions{Visitor: visitor("alice"), Topics: []presence.Topic{"hall:1"}})
		if took := time.Since(began); took > 100*time.Millisecond {
			t.Errorf("Connect took %v", took)
		}
		tracker.Seen("hall:1", user("alice"), presence.Device{})
		time.Sleep(time.Second)
		if tracker.NeedsSeen("hall:1", "alice", time.Now()) {
			t.Error("a view is needed of a user who is there")
		}
	})
}

// A window of a count-only topic has no users, whoever is in Also, nor does it tell by an event of its own that
// one of them came.
func TestCountOnlyHasNoDots(t *testing.T) {
	bubble(t, "dots", func(t *testing.T) {
		store := memstore.New()
		tracker := start(t, store, track.Config{Kinds: map[string]presence.Kind{"hall": {CountOnly: true}}})
		join := func(id string) {
			stepIn(t, store, "hall:1", backend.Op{Kind: backend.OpJoin, User: user(id), Holder: holderOf(id), For: time.Hour})
		}
		open := func(also ...presence.UserID) *track.Connection {
			c := connect(t, tracker, track.ConnectOptions{Topics: []presence.Topic{"hall:1"}, Observe: true, Window: track.Window{Users: 5, Also: also}})
			_ = c.Events(nil)
			return c
		}
		join("bob")
		dots, none := open("alice"), open()
		for i := range 40 {
			if i%10 == 0 {
				join([]string{"alice", "carol", "dave", "eve"}[i/10])
			}
			time.Sleep(150 * time.Millisecond)
			synctest.Wait()
			a, b := dots.Events(nil), none.Events(nil)
			if len(a) != len(b) {
				t.Errorf("after %d looks a page with a dot gets %v, and one without %v", i, a, b)
			}
			for _, e := range a {
				if bytes.Contains(e.Data, []byte("alice")) {
					t.Errorf("got %s", e.Data)
				}
			}
		}
	})
}
