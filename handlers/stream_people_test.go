package handlers_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gobwas/ws"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// onlySiteAsked is the Authorize of a site that has never heard of people.
func onlySiteAsked(_ *http.Request, _ presence.Visitor, topic presence.Topic) bool {
	return topic == "site" || topic == "thread:1"
}

// Who watches people sees those of the list come and go, beside other topics, on every
// transport and for longer than the rights of a stream last.
func TestWatchPeople(t *testing.T) {
	over(t, allTransports, func(t *testing.T, over transport) {
		s, _ := newPeopleSite(t, setup{handlers: handlers.Config{Authorize: onlySiteAsked}, presence: track.Config{Grace: -1}})
		s.online("bob", "b1")
		s.online("dora", "d1")
		time.Sleep(time.Second)
		l := s.follow(over, "topic=people&topic=thread:1&partial=1&person=bob&person=carol&person=bob", "alice")
		if e := l.want("welcome"); len(e.data.Refused) > 0 {
			t.Errorf("got %q refused, want nothing", e.data.Refused)
		}
		var seen roster
		events := l.feed()
		await := func(want string) {
			t.Helper()
			deadline := time.After(time.Minute)
			for keys(seen.users) != want {
				select {
				case e, ok := <-events:
					if !ok {
						t.Fatalf("the stream has ended with %q seen, want %q", keys(seen.users), want)
					}
					if e.data.Topic == "people" {
						seen.take(t, e)
					}
				case <-deadline:
					t.Fatalf("got %q seen within a minute, want %q", keys(seen.users), want)
				}
			}
		}
		await("bob")
		carol := s.online("carol", "c1")
		await("bob carol")
		time.Sleep(2 * time.Minute) // some checks of rights
		carol.close()
		await("bob")
		s.online("carol", "c2")
		await("bob carol")
	})
}

// The list of a POST is in its body, as a form, and may be 500 long.
func TestPostEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, directory := newPeopleSite(t, setup{})
		s.online("u499", "d1")
		s.online("eve", "d2")
		time.Sleep(time.Second)
		for body, want := range map[string]string{
			persons("person", 500):                            "u499",
			persons("person", 500) + "&person=u1&person=u499": "u499", // each counts once
			"person=eve&person=nobody&x=y":                    "eve",
			"":                                                "",
			"list=contacts":                                   "eve",
			"list=contacts&person=u499":                       "eve u499",
		} {
			directory.Befriend("alice", "eve", "frank")
			l := s.listen(form("events?topic=people", "alice", body))
			l.want("welcome")
			e := l.want("state")
			if got := keys(e.data.Users); got != want || e.data.Total != len(e.data.Users) || e.data.Truncated {
				t.Errorf("%.30s: got %q of %d, want %q", body, got, e.data.Total, want)
			}
			l.close()
		}
		for query, want := range map[string]string{"person=u499": "u499", "list=contacts": "eve", "person=u499&list=contacts": "eve u499"} {
			l := s.listen(request{path: "events?topic=people&" + query, user: "alice"})
			l.want("welcome")
			if got := keys(l.want("state").data.Users); got != want {
				t.Errorf("%s: got %q, want %q", query, got, want)
			}
			l.close()
		}
	})
}

// A middleware that reads forms, such as for a token against forgery, takes the body.
func TestPostEventsBehindAParser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newPeopleSite(t, setup{wrap: func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				r.FormValue("csrf")
				next.ServeHTTP(w, r)
			})
		}})
		s.online("bob", "d1")
		time.Sleep(time.Second)
		l := s.listen(form("events?topic=people", "alice", "csrf=x&person=bob"))
		l.want("welcome")
		if got := keys(l.want("state").data.Users); got != "bob" {
			t.Errorf("got %q, want bob", got)
		}
	})
}

// A page that comes back with a cursor of equal sight gets nothing, over any transport.
func TestResumePeople(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newPeopleSite(t, setup{})
		s.online("bob", "b1")
		time.Sleep(time.Second)
		for _, over := range allTransports {
			l := s.follow(over, "topic=people&person=bob", "alice")
			l.want("welcome")
			l.want("state")
			cursor := l.last
			l.close()
			l = s.resume(over, "topic=people&person=bob", "alice", cursor)
			l.want("welcome")
			l.quiet(40 * time.Second)
			l.close()
		}
	})
}

// A list over a WebSocket replaces the one before.
func TestWatchOverSocket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newPeopleSite(t, setup{})
		for _, user := range []string{"bob", "carol", "u0499"} {
			s.online(user, "d1")
		}
		time.Sleep(time.Second)
		c := s.talk(request{path: "ws?topic=people&person=bob", user: "alice"})
		c.want("welcome")
		var seen roster
		seen.take(t, c.want("state"))
		next := func(say, want string) {
			t.Helper()
			c.say(say)
			time.Sleep(time.Second)
			for keys(seen.users) != want {
				e, ok := c.next()
				if !ok || e.typ == "error" {
					t.Fatalf("%.60s: got %+v (%v), want %q seen", say, e.data, ok, want)
				}
				seen.take(t, e)
			}
		}
		next(`{"type":"watch","users":["carol","bob","carol"]}`, "bob carol")
		next(`{"type":"watch","users":["carol","nobody"]}`, "carol")
		next(`{"users":["bob"],"type":"watch"}`, "bob")
		next(`{"type":"watch","users":[]}`, "")
		next(`{"type":"watch","users":`+users(500, 5)+`}`, "u0499")
		next(" { \"type\" :\n\"watch\", \"users\": "+users(500, 5)+"}", "u0499")
		for say, title := range map[string]string{
			`{"type":"watch","users":` + users(501, 5) + `}`:   "Bad Request",
			`{"type":"watch","users":` + users(501, 100) + `}`: "Bad Request",
			`{"type":"watch","users":["a\u0000"]}`:             "Bad Request",
			`{"type":"watch","users":["a\u001eb"]}`:            "Bad Request",
			`{"type":"watch","users":[""]}`:                    "Bad Request",
			`{"type":"watch","users":[7]}`:                     "Bad Request",
			`{"type":"watch","users":"bob"}`:                   "Bad Request",
			`{"type":"watch","users":null}`:                    "Bad Request",
			`{"type":"watch"}`:                                 "Bad Request",
		} {
			time.Sleep(time.Second)
			c.say(say)
			c.wantError(title)
		}
		time.Sleep(time.Second)
		next(`{"type":"watch","users":["bob","u0499"]}`, "bob u0499") // the faults have changed nothing

		other := s.talk(request{path: "ws?topic=site", user: "alice"})
		other.started(1)
		other.say(`{"type":"watch","users":["bob"]}`)
		other.wantError("Not Found")
		other.say(`{"type":"look"}`)
		if e := other.want("error"); !strings.Contains(e.data.Detail, "watch") {
			t.Errorf("got %q, want that it names watch", e.data.Detail)
		}
		guest := s.talk(request{path: "ws?topic=site"})
		guest.started(1)
		guest.say(`{"type":"watch","users":["bob"]}`)
		guest.wantError("Unauthorized")
		guest.say(`{"type":"subscribe","topic":"people"}`)
		guest.wantError("Unauthorized")
		guest.say(`{"type":"subscribe","topic":"people:bob"}`)
		guest.wantError("Forbidden")
	})
}

// A connection may begin to watch people later.
func TestSubscribePeople(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newPeopleSite(t, setup{handlers: handlers.Config{Authorize: onlySiteAsked}})
		s.online("bob", "d1")
		time.Sleep(time.Second)
		c := s.talk(request{path: "ws?topic=thread:1", user: "alice"})
		c.started(1)
		c.say(`{"type":"subscribe","topic":"people"}`)
		c.say(`{"type":"watch","users":["bob"]}`)
		var seen roster
		for keys(seen.users) != "bob" {
			if e, ok := c.next(); !ok || e.typ == "error" {
				t.Fatalf("got %+v (%v), want bob", e.data, ok)
			} else if e.data.Topic == "people" {
				seen.take(t, e)
			}
		}
		c.say(`{"type":"unsubscribe","topic":"people"}`)
		c.say(`{"type":"watch","users":["bob"]}`)
		c.wantError("Not Found")
	})
}

// A list of people may be larger than other messages, and no other message may. It comes
// less often.
func TestWatchLimits(t *testing.T) {
	const most = 64 << 10
	long := func(head string, n int) []byte {
		return append(bytes.Repeat([]byte(" "), n-len(head)-1), "}"...)
	}
	message := func(head string, n int) []byte { return append([]byte(head), long(head, n)...) }
	cases := map[string]struct {
		user   string
		frames [][]byte
		code   ws.StatusCode // 0: an error event
	}{
		"list of the largest size": {"alice", [][]byte{clientFrame(ws.OpText, true, message(`{"type":"watch"`, most))}, 0},
		"list in parts":            {"alice", [][]byte{clientFrame(ws.OpText, false, []byte(`{"ty`)), clientFrame(ws.OpContinuation, true, message(`pe":"watch"`, most-4))}, 0},
		"list over the size":       {"alice", [][]byte{clientFrame(ws.OpText, true, message(`{"type":"watch"`, most+1))}, ws.StatusMessageTooBig},
		"list of a guest":          {"", [][]byte{clientFrame(ws.OpText, true, message(`{"type":"watch"`, 5000))}, ws.StatusMessageTooBig},
		"another message":          {"alice", [][]byte{clientFrame(ws.OpText, true, message(`{"type":"status"`, 5000))}, ws.StatusMessageTooBig},
		"another message in parts": {"alice", [][]byte{clientFrame(ws.OpText, false, message(`{"type":"status"`, 4000)), clientFrame(ws.OpContinuation, true, message(`x`, 97))}, ws.StatusMessageTooBig},
		"list with the type last":  {"alice", [][]byte{clientFrame(ws.OpText, true, message(`{"users":[],"type":"watch"`, 5000))}, ws.StatusMessageTooBig},
		"spaces":                   {"alice", [][]byte{clientFrame(ws.OpText, true, message(strings.Repeat(" ", 64)+`{"type":"watch"`, 5000))}, ws.StatusMessageTooBig},
		"watches":                  {"alice", [][]byte{clientFrame(ws.OpText, true, message(`{"type":"watches"`, 5000))}, ws.StatusMessageTooBig},
	}
	for name, test := range cases {
		bubble(t, name, func(t *testing.T) {
			s, _ := newPeopleSite(t, setup{})
			c := s.talk(request{path: "ws?topic=site", user: test.user})
			c.started(1)
			c.raw(test.frames...)
			if test.code != 0 {
				c.wantClosed(test.code)
			} else {
				c.wantError("Bad Request")
			}
		})
	}
}

// Of more than five lists within a second the last one counts, a second later at most.
func TestWatchLastListCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newPeopleSite(t, setup{})
		for _, user := range []string{"bob", "carol"} {
			s.online(user, "d1")
		}
		time.Sleep(time.Second)
		c := s.talk(request{path: "ws?topic=people", user: "alice"})
		c.want("welcome")
		var seen roster
		seen.take(t, c.want("state"))
		say := func(users string, n int) {
			for i := range n {
				c.say([]string{`{"type":"watch","users":[` + users + `]}`, `{"users":[` + users + `],"type":"watch"}`}[i%2])
			}
		}
		want := func(want string) {
			t.Helper()
			said := time.Now()
			for keys(seen.users) != want {
				e, ok := c.next()
				if !ok || e.typ == "error" {
					t.Fatalf("got %+v (%v), want %q seen", e.data, ok, want)
				}
				seen.take(t, e)
			}
			if took := time.Since(said); took > 1100*time.Millisecond {
				t.Errorf("%q was seen after %v, want a second", want, took)
			}
		}
		say(`"carol"`, 7)
		say(`"bob"`, 2)
		want("carol")
		want("bob")
		say(`"carol","bob"`, 1)
		say(`"carol"`, 1)
		want("bob carol")
		want("carol") // at once, and nothing late undoes it
		c.quiet(5 * time.Second)
		say(`"bob"`, 6)
		say(`7`, 1)
		want("bob")
		c.wantError("Bad Request") // the last one, late
	})
}

// What a stream keeps of the request does not hold the list: the site is asked about the
// visitor's rights without it.
func TestListIsNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var asked []string
		s, _ := newPeopleSite(t, setup{handlers: handlers.Config{Authorize: func(r *http.Request, _ presence.Visitor, _ presence.Topic) bool {
			r.ParseForm()
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, fmt.Sprint(r.Method, len(r.Form["person"])))
			return true
		}}, wrap: func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				r.FormValue("csrf")
				next.ServeHTTP(w, r)
			})
		}})
		s.listen(form("events?topic=people&topic=site", "alice", persons("person", 300))).drain()
		time.Sleep(time.Minute)
		mu.Lock()
		defer mu.Unlock()
		if len(asked) < 3 {
			t.Fatalf("the site was asked %d times, want it asked again", len(asked))
		}
		for _, got := range asked[1:] {
			if got != "POST0" {
				t.Errorf("got %s people with the request of an open stream, want POST0", got)
			}
		}
	})
}
