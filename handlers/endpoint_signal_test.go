package handlers_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
)

// here has bob follow thread:1, and somebody else hear what is said there.
func (s *site) here() (told <-chan event) {
	s.t.Helper()
	s.listen(request{path: "events?" + thread1, user: "bob"}).started(1).drain()
	told = s.follow(overSSE, thread1+"&observe=1", "").started(1).feed()
	time.Sleep(time.Second)
	return told
}

// eachWay runs a test with signals as requests and as messages. send sends what stands in
// braces, and returns the status of the answer and its detail.
func eachWay(t *testing.T, o setup, test func(t *testing.T, s *site, send func(user, fields string) (status int, detail string))) {
	titles := map[string]int{"Bad Request": 400, "Unauthorized": 401, "Forbidden": 403, "Too Many Requests": 429, "Service Unavailable": 503}
	bubble(t, "request", func(t *testing.T) {
		s := newTypingSite(t, o)
		test(t, s, func(user, fields string) (int, string) {
			s.t.Helper()
			resp, body := s.fetch(sent(user, "{"+fields+"}"))
			if resp.StatusCode == http.StatusNoContent {
				return 204, body
			}
			wantProblem(t, resp, body, resp.StatusCode)
			if after := resp.Header.Get("Retry-After"); (after != "") != (resp.StatusCode == 429 || resp.StatusCode == 503) {
				t.Errorf("got Retry-After %q with status %d", after, resp.StatusCode)
			}
			return resp.StatusCode, detail(t, body)
		})
	})
	for _, has := range []string{"site", "thread:1"} { // where the socket has the topic, nobody is asked
		bubble(t, "message of a socket with "+has, func(t *testing.T) {
			s := newTypingSite(t, o)
			sockets := make(map[string]<-chan event)
			says := make(map[string]talker)
			test(t, s, func(user, fields string) (int, string) {
				if sockets[user] == nil {
					says[user] = s.talk(request{path: "ws?observe=1&topic=" + has, user: user})
					sockets[user] = says[user].started(1).feed()
					time.Sleep(time.Second) // over 20 messages a second end a socket
				}
				says[user].say(`{` + strings.Replace(fields, `"type"`, `"signal"`, 1) + `,"type":"signal"}`)
				for {
					select {
					case e := <-sockets[user]:
						if e.typ == "error" {
							return titles[e.data.Title], e.data.Detail
						}
					case <-time.After(50 * time.Millisecond):
						return 204, ""
					}
				}
			})
		})
	}
}

// Every rule of a signal that a visitor sends, and what it is answered.
func TestSignalRules(t *testing.T) {
	o := setup{handlers: handlers.Config{Whispers: map[string]map[string]handlers.Whisper{
		"thread": {"typing": {Rate: 20}, "at": {Rate: 20, For: 10 * time.Second, Data: func(data json.RawMessage) error {
			if string(data) == `"bad"` {
				return errors.New("There is no such place.")
			}
			return nil
		}}},
		"people": {"typing": {}},
	}}}
	big := `"` + strings.Repeat("x", presence.MaxSignalData-2) + `"`
	eachWay(t, o, func(t *testing.T, s *site, send func(user, fields string) (int, string)) {
		told := s.here()
		for _, tt := range []struct {
			fields string
			status int
			says   string // what others hear, or what the detail says
		}{
			{`"topic":"thread:1","type":"typing","for":6`, 204, "bob typing 6"},
			{`"topic":"thread:1","type":"typing"`, 204, "bob typing 0"},
			{`"topic":"thread:1","type":"typing","for":2.5,"v":3`, 204, `bob typing 2 (v3 of "BOB")`},
			{`"topic":"thread:1","type":"typing","for":-5`, 204, "bob typing -1"},
			{`"topic":"thread:1","type":"typing","for":-1e300`, 204, "bob typing -1"},
			{`"topic":"thread:1","type":"typing","for":30,"data":null`, 204, "bob typing 30"},
			{`"topic":"thread:1","type":"at","for":30,"data":{"line" : 7}`, 204, `bob at 10 {"line":7}`}, // cut to Whisper.For
			{`"topic":"thread:1","type":"at","data":` + big, 204, "bob at 0 " + big},
			// S6: who sends it is the visitor.
			{`"topic":"thread:1","type":"typing","from":"alice","name":"ALICE","weather":"rain"`, 204, "bob typing 0"},

			{`"topic":"thread:1","type":"at","data":` + big[:9] + big, 400, "JSON"},
			{`"topic":"thread:1","type":"at","data":"x` + big[1:], 400, "1025 bytes"},
			{`"topic":"thread:1","type":"at","data":"bad"`, 400, "There is no such place."},
			{`"topic":"thread:1","type":"typing","data":1`, 400, "no data"},
			{`"topic":"thread:1","type":"typing","for":0.5`, 400, "1 to 30 seconds"},
			{`"topic":"thread:1","type":"typing","for":31`, 400, "1 to 30 seconds"},
			{`"topic":"thread:1","type":"typing","for":1e308`, 400, "1 to 30 seconds"},
			{`"topic":"thread:1","type":"typing","for":"6"`, 400, "JSON"},
			{`"topic":"thread:1","type":"typing","for":1e309`, 400, "JSON"},
			{`"topic":"thread:1","type":"typing","for":NaN`, 400, "JSON"},
			{`"topic":"thread:1","type":"typing","v":-1`, 400, "version"},
			{`"topic":"thread:1","type":"typing","v":1.5`, 400, "JSON"},
			{`"topic":"thread:1","type":""`, 400, "a-z"},
			{`"topic":"thread:1"`, 400, "a-z"},
			{`"topic":"thread:1","type":"` + strings.Repeat("x", 33) + `"`, 400, "a-z"},
			{`"topic":"thread:1","type":"Typing"`, 400, "a-z"},
			{`"topic":"thread 1","type":"typing"`, 400, "topic"},
			{`"type":"typing"`, 400, "topic"},
			{`"topic":7,"type":"typing"`, 400, "JSON"},
		} {
			time.Sleep(100 * time.Millisecond)
			status, detail := send("bob", tt.fields)
			if status != tt.status || status >= 400 && !strings.Contains(detail, tt.says) {
				t.Errorf("%.80s: got %d (%s), want %d and %.80q", tt.fields, status, detail, tt.status, tt.says)
			}
			if status >= 400 && len(told) == 0 {
				continue
			}
			if e := <-told; status >= 400 || e.says() != tt.says {
				t.Errorf("%.80s: got told %s %.80q with status %d, want %.80q", tt.fields, e.typ, e.says(), status, tt.says)
			}
		}
	})
}

// Nobody learns from a refusal which topics there are, what they take, and who is in them.
func TestSignalsForbidden(t *testing.T) {
	o := setup{handlers: handlers.Config{Whispers: map[string]map[string]handlers.Whisper{"thread": {"typing": {Rate: 20}}, "feed": {"typing": {Rate: 20}}}}}
	eachWay(t, o, func(t *testing.T, s *site, send func(user, fields string) (int, string)) {
		s.here()
		var same string
		for _, tt := range []struct{ user, fields string }{
			{"bob", `"topic":"thread:2","type":"typing"`}, // the site has it, and bob is not there
			{"bob", `"topic":"thread:1","type":"jumping"`},
			{"bob", `"topic":"site","type":"typing"`},
			{"bob", `"topic":"room:1","type":"typing"`},
			{"eve", `"topic":"thread:1","type":"typing"`}, // only watches
		} {
			status, detail := send(tt.user, tt.fields)
			if same == "" {
				same = detail
			}
			if status != 403 || detail != same {
				t.Errorf("%s %s: got %d (%s), want 403 and always the same text", tt.user, tt.fields, status, detail)
			}
		}
		if status, detail := send("", `"topic":"thread:1","type":"typing"`); status != 401 || !strings.Contains(detail, "Sign in") {
			t.Errorf("a guest: got %d (%s), want 401", status, detail)
		}
		if got := s.tracker.Stats().Signals.Visitors; got != 0 {
			t.Errorf("got %d signals taken, want none", got)
		}
	})
}

// Authorize is asked before anything is looked up, and Whispers before Authorize.
func TestSignalsAskAuthorize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		s := newSite(t, setup{handlers: handlers.Config{Whispers: typingIn, Authorize: func(_ *http.Request, v presence.Visitor, topic presence.Topic) bool {
			asked++
			return topic != "thread:secret"
		}}})
		s.listen(request{path: "events?topic=thread:1", user: "bob"}).started(1).drain()
		c := s.talk(request{path: "ws?topic=thread:1", user: "bob"})
		c.started(1)
		time.Sleep(time.Second)
		asked = 0
		c.say(`{"type":"signal","topic":"thread:1","signal":"typing"}`)
		c.wantSignals("bob typing 0")
		if asked != 0 {
			t.Errorf("a socket's own topic: Authorize was asked %d times, want 0", asked)
		}
		c.say(`{"type":"signal","topic":"thread:secret","signal":"typing"}`)
		c.wantError("Forbidden")
		s.wantStatus(sent("bob", `{"topic":"thread:secret","type":"typing"}`), http.StatusForbidden)
		s.wantStatus(sent("bob", `{"topic":"room:1","type":"typing"}`), http.StatusForbidden)
		if asked != 2 {
			t.Errorf("Authorize was asked %d times, want 2: for the secret topic", asked)
		}
		if got := s.tracker.Stats().Topics; got != 1 {
			t.Errorf("got %d topics in memory, want 1", got)
		}
	})
}

// S3: a visitor sends five a second, over sockets and requests together.
func TestSignalRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTypingSite(t, setup{handlers: handlers.Config{Whispers: map[string]map[string]handlers.Whisper{"thread": {"typing": {}, "fast": {Rate: 100}}}}})
		s.here()
		c := s.talk(request{path: "ws?observe=1&" + thread1, user: "bob"})
		told := c.started(1).feed()
		const typing = `{"topic":"thread:1","type":"typing","for":6}`
		for range 3 {
			s.wantStatus(sent("bob", typing), http.StatusNoContent)
			c.say(`{"type":"signal","topic":"thread:1","signal":"typing"}`)
			time.Sleep(time.Millisecond)
		}
		time.Sleep(100 * time.Millisecond)
		errors := 0
		for len(told) > 0 {
			if e := <-told; e.typ == "error" && e.data.Title == "Too Many Requests" {
				errors++
			}
		}
		if errors != 1 {
			t.Errorf("got %d errors, want the sixth signal refused", errors)
		}
		s.wantStatus(sent("bob", typing), http.StatusTooManyRequests)
		limited := s.handler.Stats().Limited
		if limited != 2 {
			t.Errorf("got %d counted as limited, want 2", limited)
		}
		time.Sleep(100 * time.Millisecond)
		s.wantStatus(sent("bob", typing), http.StatusNoContent)
		s.wantStatus(sent("bob", typing), http.StatusTooManyRequests)
		s.wantStatus(sent("bob", `{"topic":"thread:1","type":"fast"}`), http.StatusTooManyRequests) // one allowance for all types
		time.Sleep(time.Second)
		ok := 0
		for range 21 {
			c.say(`{"type":"signal","topic":"thread:1","signal":"fast"}`)
			time.Sleep(51 * time.Millisecond)
			ok++
		}
		for len(told) > 0 {
			if e := <-told; e.typ == "error" {
				t.Errorf("got the error %q, want 20 a second taken where the site allows 100", e.data.Title)
			}
		}
		// another visitor is not concerned
		s.listen(request{path: "events?" + thread1, user: "carol"}).started(1).drain()
		s.wantStatus(sent("carol", typing), http.StatusNoContent)
	})
}

// A page of another origin, or of another user, sends nothing.
func TestSignalsOfOtherPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTypingSite(t, setup{})
		told := s.here()
		r := sent("bob", `{"topic":"thread:1","type":"typing"}`)
		r.header = map[string]string{"Origin": "http://evil.test"}
		s.wantStatus(r, http.StatusForbidden)
		r.header = nil
		r.path = "signal?me=alice"
		s.wantStatus(r, http.StatusUnauthorized)
		r.body = strings.Repeat(" ", 5000) + r.body
		r.path = "signal?me=bob"
		s.wantStatus(r, http.StatusRequestEntityTooLarge)
		time.Sleep(time.Second)
		if len(told) > 0 {
			t.Errorf("got %+v, want nothing", <-told)
		}
		r.body = strings.TrimSpace(r.body)
		s.wantStatus(r, http.StatusNoContent)
		r.method = http.MethodGet
		s.wantStatus(r, http.StatusMethodNotAllowed)
	})
}

// While the store is out, signals into a topic of which nothing is known are answered 503.
// Signals into one that is known are dropped, and the page is not told.
func TestSignalsWhileTheStoreIsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := presencetest.NewFaults(memstore.New())
		log := new(logbook)
		s := newTypingSite(t, setup{store: store, presence: log.config()})
		s.here()
		store.Break(presencetest.Fault{Err: errors.New("it is out: hunter2")})
		s.wantStatus(sent("bob", `{"topic":"thread:2","type":"typing"}`), http.StatusServiceUnavailable)
		s.wantStatus(sent("bob", `{"topic":"thread:1","type":"typing"}`), http.StatusNoContent)
		time.Sleep(time.Second)
		if got := s.tracker.Stats().Signals.Unsent; got != 1 {
			t.Errorf("got %d broadcasts dropped, want 1", got)
		}
		store.Heal()
	})
}

// A Data of the site that panics or hangs refuses its signal, and nothing else.
func TestWhisperDataFails(t *testing.T) {
	for name, tt := range map[string]struct {
		data   func(json.RawMessage) error
		status int
	}{
		"panics": {func(json.RawMessage) error { panic("hunter2") }, 400},
		"hangs":  {func(json.RawMessage) error { time.Sleep(time.Minute); return nil }, 503},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := new(logbook)
				s := newTypingSite(t, setup{presence: log.config(), handlers: handlers.Config{Whispers: map[string]map[string]handlers.Whisper{
					"thread": {"at": {Data: tt.data}, "typing": {}},
				}}})
				told := s.here()
				c := s.talk(request{path: "ws?observe=1&" + thread1, user: "bob"})
				c.started(1)
				c.say(`{"type":"signal","topic":"thread:1","signal":"at","data":7}`)
				begin := time.Now()
				s.wantStatus(sent("bob", `{"topic":"thread:1","type":"at","data":7}`), tt.status)
				c.wantError(http.StatusText(tt.status))
				if took := time.Since(begin); took > 6*time.Second {
					t.Errorf("answered after %v, want 5 s at most", took)
				}
				c.say(`{"type":"signal","topic":"thread:1","signal":"typing"}`)
				if e := <-told; e.says() != "bob typing 0" {
					t.Errorf("got %q, want the next signal", e.says())
				}
				if panics := s.handler.Stats().SitePanics; tt.status == 400 && (panics != 2 || log.count("Data of a Whisper panicked") != 1) {
					t.Errorf("got %d panics counted and %d lines, want 2 and 1", panics, log.count("Data of a Whisper panicked"))
				}
				time.Sleep(time.Minute) // the calls that hang
			})
		})
	}
}

// A signal without its Whisper, and Whispers of nothing: everything is refused.
func TestNoWhispers(t *testing.T) {
	onSite(t, setup{}, func(t *testing.T, s *site) {
		s.listen(request{path: "events", user: "bob"}).started(1).drain()
		for _, topic := range []string{"site", "thread:1", "people", "inbox", "feed:thread:1"} {
			s.wantStatus(sent("bob", fmt.Sprintf(`{"topic":%q,"type":"typing"}`, topic)), http.StatusForbidden)
			time.Sleep(time.Second)
		}
	})
}
