package handlers_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// staffOnly is the Authorize of a site whose topic staff is for bob.
func staffOnly(_ *http.Request, v presence.Visitor, t presence.Topic) bool {
	return t != "staff" && t != "vault" || v.User.ID == "bob"
}

// A partial stream leaves out the topics that its visitor may not see, and names them. It
// neither holds the user there nor says anything of them.
func TestPartial(t *testing.T) {
	over(t, allTransports, func(t *testing.T, over transport) {
		log := new(logbook)
		s := newSite(t, setup{presence: log.config(), handlers: handlers.Config{Authorize: staffOnly}})
		s.see("staff", "bob")
		refused, warnings := s.notes(over, request{path: "topic=staff&topic=site&topic=vault&topic=staff&partial=1&me=alice", user: "alice"})
		if !slices.Equal(refused, []string{"staff", "vault"}) || !slices.Equal(warnings, texts(presence.TopicRefused)) {
			t.Errorf("got refused %q and the warnings %q, want staff and vault, and one warning", refused, warnings)
		}
		s.wantFound(map[presence.Finding]uint64{presence.TopicRefused: 2})
		if got := log.count("finding=topic-refused topic=staff"); got != 1 {
			t.Errorf("got %d lines in the log, want 1", got)
		}
		l := s.follow(over, "topic=staff&topic=site&partial=1", "alice")
		if state := l.started(0).want("state"); state.data.Topic != "site" {
			t.Errorf("got a state of %s, want site alone", state.data.Topic)
		}
		told := l.feed()
		s.see("staff", "carol")
		s.see("site", "dave")
		if e := <-told; e.typ != "diff" || e.data.Topic != "site" || keys(e.data.Joins) != "dave" {
			t.Errorf("got %+v, want the diff of site", e)
		}
		if got := s.names("staff"); got != "carol bob" {
			t.Errorf("got %q in staff, want carol and bob", got)
		}
	})
}

// A topic for which a node has no room is refused like one that the visitor may not see, and a
// page with partial=1 keeps its other topics. Visitors who open all topics that they can get do
// not end the lists of others.
func TestPartialWithoutRoom(t *testing.T) {
	over(t, allTransports, func(t *testing.T, over transport) {
		s := newSite(t, setup{presence: track.Config{MaxTopics: 4, MaxTopicsPerConnection: 8}})
		victim := s.follow(over, "topic=site&partial=1", "alice")
		victim.started(0).want("state")
		refused, _ := s.notes(over, request{path: "topic=site&topic=t:1&topic=t:2&topic=t:3&topic=t:4&topic=t:5&partial=1", user: "mallory"})
		if len(refused) == 0 || slices.Contains(refused, "site") {
			t.Errorf("got refused %q, want some of t:, and not the site", refused)
		}
		told := victim.feed()
		s.see("site", "dave")
		if e := <-told; e.data.Topic != "site" {
			t.Errorf("got %+v, want the diff of site", e)
		}
	})
}

// The token of a partial connection names its topics alone: no beat holds a user where
// the user may not look.
func TestPartialToken(t *testing.T) {
	over(t, streams, func(t *testing.T, over transport) {
		s := newSite(t, setup{handlers: handlers.Config{Authorize: staffOnly}})
		token := s.follow(over, "topic=staff&topic=site&partial=1&beat=1", "alice").want("welcome").data.Connection
		if parts := strings.Split(token, "~"); len(parts) != 4 || parts[2] != "site" {
			t.Errorf("got the token %s, want one of site alone", token)
		}
	})
}

// Without partial=1 one topic refuses the whole request, and with it if none is left. In
// either case nobody is recorded.
func TestPartialRefused(t *testing.T) {
	onSite(t, setup{}, func(t *testing.T, s *site) {
		refused := func(query string, found map[presence.Finding]uint64) {
			t.Helper()
			for _, path := range []string{"events", "poll", "ws"} {
				resp, body := s.fetch(request{path: path + "?" + query, user: "alice", header: handshake})
				wantProblem(t, resp, body, http.StatusForbidden)
			}
			s.wantFound(found)
		}
		refused("topic=site&topic=staff", nil)
		refused("topic=site&topic=staff&partial=0", nil)
		refused("topic=page:members&partial=1", map[presence.Finding]uint64{presence.TopicRefused: 3})
		if got := s.names("site"); got != "" {
			t.Errorf("got %q online, want nobody", got)
		}
	})
}

// A partial request has the limits of others: topics that are refused count.
func TestPartialLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		s := newSite(t, setup{handlers: handlers.Config{Authorize: func(*http.Request, presence.Visitor, presence.Topic) bool {
			asked.Add(1)
			return false
		}}})
		for query, want := range map[string]int{
			manyParams("topic=thread:%d", 17) + "&partial=1": http.StatusBadRequest,
			"topic=a%0ab&topic=site&partial=1":               http.StatusBadRequest,
			"partial=perhaps":                                http.StatusBadRequest,
			manyParams("topic=thread:%d", 16) + "&partial=1": http.StatusForbidden,
		} {
			resp, body := s.fetch(request{path: "events?" + query, user: "alice"})
			wantProblem(t, resp, body, want)
		}
		if got := asked.Load(); got != 16 {
			t.Errorf("Authorize was asked %d times, want 16", got)
		}
	})
}

// An Authorize that panics has said no.
func TestPartialAuthorizePanics(t *testing.T) {
	over(t, allTransports, func(t *testing.T, over transport) {
		s := newSite(t, setup{presence: new(logbook).config(), handlers: handlers.Config{Authorize: func(_ *http.Request, _ presence.Visitor, t presence.Topic) bool {
			if t == "staff" {
				panic("a bug of the site")
			}
			return true
		}}})
		if refused, _ := s.notes(over, request{path: "topic=staff&topic=site&partial=1", user: "alice"}); !slices.Equal(refused, []string{"staff"}) {
			t.Errorf("got refused %q, want staff", refused)
		}
	})
}

// The page of a user who has signed out since is no mistake of the site.
func TestPartialAfterSignOut(t *testing.T) {
	over(t, allTransports, func(t *testing.T, over transport) {
		s := newSite(t, setup{handlers: handlers.Config{Authorize: staffOnly}})
		refused, warnings := s.notes(over, request{path: "topic=staff&topic=site&partial=1&me=bob"})
		if !slices.Equal(refused, []string{"staff"}) || warnings != nil {
			t.Errorf("got refused %q and the warnings %q, want staff and none", refused, warnings)
		}
		s.wantFound(nil)
	})
}

// Where nothing is left for the guest whom a user has become, the page is told that, and not that
// the topic is refused: it shows that it has ended.
func TestSignedOutOfAllTopics(t *testing.T) {
	over(t, allTransports, func(t *testing.T, over transport) {
		s := newSite(t, setup{handlers: handlers.Config{Authorize: func(_ *http.Request, v presence.Visitor, _ presence.Topic) bool { return v.SignedIn() }}})
		s.tracker.MeetUser() // bob, before the sign-out
		for me, want := range map[string]int{"bob": http.StatusUnauthorized, "": http.StatusForbidden} {
			resp, body := s.fetch(request{path: over.path + "?topic=site&partial=1&me=" + me, header: handshake})
			wantProblem(t, resp, body, want)
		}
		s.wantFound(map[presence.Finding]uint64{presence.TopicRefused: 1}) // of the page of a guest
	})
}

// A client that may see a topic again goes on where it was, though its cursor came with
// others while the topic was refused.
func TestPartialResumes(t *testing.T) {
	over(t, allTransports, func(t *testing.T, over transport) {
		var barred atomic.Bool
		s := newSite(t, setup{handlers: handlers.Config{Authorize: func(_ *http.Request, _ presence.Visitor, t presence.Topic) bool {
			return t != "staff" || !barred.Load()
		}}})
		s.see("staff", "bob")
		const query = "topic=site&topic=staff&partial=1&observe=1"
		l := s.follow(over, query, "alice").started(2)
		cursor := l.last
		l.close()
		barred.Store(true)
		s.see("staff", "carol")
		s.see("site", "dave")
		l = s.resume(over, query, "alice", cursor)
		l.want("welcome")
		if d := l.want("diff").data; d.Topic != "site" || keys(d.Joins) != "dave" {
			t.Errorf("got a diff of %s with %s, want dave in site", d.Topic, keys(d.Joins))
		}
		l.close()
		barred.Store(false)
		l = s.resume(over, query, "alice", cursor)
		l.want("welcome")
		for range 2 {
			if d := l.want("diff").data; d.Topic == "staff" && keys(d.Joins) != "carol" {
				t.Errorf("got a diff of staff with %s, want carol", keys(d.Joins))
			}
		}
	})
}

// A partial stream that loses the right to one topic ends, as others do. The client comes
// back, and follows the rest.
func TestPartialEndsWithTheRight(t *testing.T) {
	over(t, streams, func(t *testing.T, over transport) {
		var barred atomic.Bool
		s := newSite(t, setup{handlers: handlers.Config{Authorize: func(_ *http.Request, _ presence.Visitor, t presence.Topic) bool {
			return t != "staff" || !barred.Load()
		}}})
		const query = "topic=site&topic=staff&partial=1"
		l := s.follow(over, query, "alice").started(2)
		ended := l.drain()
		barred.Store(true)
		<-ended
		if refused, _ := s.notes(over, request{path: query, user: "alice"}); !slices.Equal(refused, []string{"staff"}) {
			t.Errorf("got refused %q, want staff", refused)
		}
	})
}

// A partial poll that loses a topic while it waits answers with the others. Its cursor has
// not passed what was left out.
func TestPartialPollLosesATopic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var barred atomic.Value
		barred.Store(presence.Topic(""))
		s := newSite(t, setup{handlers: handlers.Config{Authorize: func(_ *http.Request, _ presence.Visitor, t presence.Topic) bool {
			return t != barred.Load()
		}}})
		const query = "topic=site&topic=staff&partial=1&observe=1"
		first, _ := s.poll(query, "alice")
		go func() {
			time.Sleep(time.Second)
			barred.Store(presence.Topic("staff"))
			s.tracker.Seen("staff", presence.User{ID: "bob"}, presence.Device{})
		}()
		a, _ := s.poll(from(query, first.Cursor), "alice")
		if len(a.Events) != 0 || !slices.Equal(a.Refused, []string{"staff"}) || len(a.Heartbeats) != 1 || a.Heartbeats[0].Topic != "site" {
			t.Errorf("got %+v, want a heartbeat of site and nothing of staff", a)
		}
		barred.Store(presence.Topic(""))
		if a, _ = s.poll(from(query, first.Cursor+"~"+a.Cursor), "alice"); len(a.Events) != 1 || keys(a.Events[0].Data.Joins) != "bob" || a.Refused != nil {
			t.Errorf("got %+v, want the diff that was left out", a)
		}
		go func() {
			time.Sleep(time.Second)
			barred.Store(presence.Topic("site"))
		}()
		if resp, body := s.fetch(request{path: from("poll?partial=1&observe=1", a.Cursor), user: "alice"}); resp.StatusCode != http.StatusForbidden {
			t.Errorf("got status %d (%s) for a poll that lost all its topics, want 403", resp.StatusCode, body)
		}
	})
}

// A site that does not answer about one topic costs a partial poll that topic alone.
func TestPartialPollUnanswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64 // about staff
		s := newSite(t, setup{presence: new(logbook).config(), handlers: handlers.Config{Authorize: func(r *http.Request, _ presence.Visitor, t presence.Topic) bool {
			if t == "staff" && asked.Add(1) == 2 {
				<-r.Context().Done()
				time.Sleep(time.Second)
			}
			return true
		}}})
		a, took := s.poll("topic=site&topic=staff&partial=1", "alice")
		if len(a.Events) != 1 || a.Events[0].Data.Topic != "site" || !slices.Equal(a.Refused, []string{"staff"}) || took > 6*time.Second {
			t.Errorf("got %+v after %v, want the state of site alone within 6s", a, took)
		}
		if got := s.handler.Stats().Unanswered; got != 1 {
			t.Errorf("got %d counted, want 1", got)
		}
	})
}

// A partial poll whose user signs out while the site is asked again has passed nothing that
// it left out either.
func TestPartialPollLosesATopicAtItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64 // about staff
		var s *site
		s = newSite(t, setup{handlers: handlers.Config{Authorize: func(_ *http.Request, _ presence.Visitor, t presence.Topic) bool {
			if t == "staff" && asked.Add(1) == 4 {
				s.tracker.SignOut(context.Background(), "alice")
				return false
			}
			return true
		}}})
		const query = "topic=site&topic=staff&partial=1"
		first, _ := s.poll(query, "alice")
		go func() {
			time.Sleep(time.Second)
			s.tracker.Seen("staff", presence.User{ID: "bob"}, presence.Device{})
		}()
		a, _ := s.poll(from(query, first.Cursor), "alice")
		if len(a.Events) != 0 || a.Cursor != first.Cursor || !slices.Equal(a.Refused, []string{"staff"}) || len(a.Heartbeats) > 0 {
			t.Errorf("got %+v, want nothing, and the cursor %s", a, first.Cursor)
		}
	})
}

// A partial HTML stream sends the other widgets, each under the name that it has in the
// whole stream.
func TestPartialMarkup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s *site
		asked := new(atomic.Int64)
		s = newSite(t, setup{handlers: handlers.Config{Widget: listWidget(&s, asked)}})
		s.see("site", "bob")
		r := s.read("events?as=html&topic=staff&topic=site&partial=1&nobeat=403", "alice", "")
		if m := r.next(); m.event != "site" || !strings.Contains(m.html, "\nalice bob\nGET /widget?topic=site\n") {
			t.Errorf("got %+v, want the widget of site, named so", m)
		}
		r.none(time.Minute)
		s.wantFound(map[presence.Finding]uint64{presence.TopicRefused: 1, presence.BeatsRefused: 1})
		resp, body := s.fetch(request{path: "events?as=html&topic=staff&partial=1", user: "alice"})
		wantProblem(t, resp, body, http.StatusForbidden)
	})
}

// A socket's subscribe is answered as ever, whatever the stream began with.
func TestPartialSubscribe(t *testing.T) {
	onSite(t, setup{}, func(t *testing.T, s *site) {
		c := s.talk(request{path: "ws?topic=site&topic=staff&partial=1", user: "alice"})
		c.started(1)
		c.say(`{"type":"subscribe","topic":"staff"}`)
		c.wantError("Forbidden")
		c.say(`{"type":"unsubscribe","topic":"staff"}`)
		c.say(`{"type":"snapshot","topic":"staff"}`)
		c.wantError("Not Found")
	})
}
