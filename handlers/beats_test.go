package handlers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// applied counts calls of a store that a beat could make.
type applied struct {
	backend.Store
	applies int
}

func (a *applied) Apply(ctx context.Context, batches []backend.Batch) []backend.Result {
	a.applies++
	return a.Store.Apply(ctx, batches)
}

// fronted returns a setup whose handler stands before the site's middleware too. The site
// refuses each beat and leave that comes through to it.
func fronted(o setup) setup {
	var live *handlers.Handler
	o.wrap = func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			live.Beats(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost && r.URL.RawQuery == "" {
					w.WriteHeader(http.StatusTeapot)
					return
				}
				next.ServeHTTP(w, r)
			})).ServeHTTP(w, r)
		})
	}
	o.made = func(h *handlers.Handler) { live = h }
	return o
}

// Beats and leaves need a token and nothing else, at any node: no cookie, no session, no
// identify. The site's middleware does not see them.
func TestBeatsByToken(t *testing.T) {
	for name, onOther := range map[string]bool{"this node": false, "another node": true} {
		bubble(t, name, func(t *testing.T) {
			store := memstore.New()
			s := newSite(t, fronted(setup{store: store}))
			other := s
			if onOther {
				other = newSite(t, fronted(setup{store: store}))
			}
			l := s.listen(request{path: "events?beat=auto", user: "alice"})
			connection := l.want("welcome").data.Connection
			ended := l.drain()
			for range 20 {
				time.Sleep(20 * time.Second)
				if resp, body := other.fetch(says("beat", "", connection)); resp.StatusCode != http.StatusNoContent || body != "" {
					t.Fatalf("got status %d (%s), want 204 and no body", resp.StatusCode, body)
				}
				s.sweep()
			}
			if got := s.names("site"); got != "alice" {
				t.Fatalf("after twenty beats: got %q online, want alice", got)
			}
			if resp, body := other.fetch(says("leave", "mallory", connection)); resp.StatusCode != http.StatusNoContent {
				t.Errorf("leave: got status %d (%s), want 204", resp.StatusCode, body)
			}
			<-ended
			resp, body := other.fetch(says("beat", "", connection))
			wantProblem(t, resp, body, http.StatusGone)
			time.Sleep(12 * time.Second)
			s.sweep()
			if got := s.names("site"); got != "" {
				t.Errorf("12 s after the page left: got %q online, want nobody", got)
			}
		})
	}
}

// A token that this fleet did not make is answered 410, and the store is not asked. Whoever
// sends many is told to wait, and so is a connection that beats too often. The one does
// not use up what the other may send.
func TestBeatsByTokenRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &applied{Store: memstore.New()}
		s := newSite(t, fronted(setup{store: store}))
		l := s.listen(request{path: "events?beat=1", user: "alice"})
		connection := l.want("welcome").data.Connection
		l.drain()
		time.Sleep(time.Second)
		before := store.applies
		forged := connection[:len(connection)-3] + "AAA"
		for i := range 81 {
			resp, body := s.fetch(says("beat", "alice", forged))
			if want := map[bool]int{true: http.StatusGone, false: http.StatusTooManyRequests}[i < 80]; resp.StatusCode != want {
				t.Fatalf("forged token %d: got %d (%s), want %d", i, resp.StatusCode, body, want)
			}
		}
		if store.applies != before {
			t.Errorf("got %d calls of the store for forged tokens, want none", store.applies-before)
		}
		for i := range 21 {
			resp, body := s.fetch(says("beat", "", connection))
			if want := map[bool]int{true: http.StatusNoContent, false: http.StatusTooManyRequests}[i < 20]; resp.StatusCode != want {
				t.Fatalf("beat %d: got %d (%s), want %d", i, resp.StatusCode, body, want)
			}
		}
		time.Sleep(time.Second)
		if resp, body := s.fetch(says("beat", "", connection)); resp.StatusCode != http.StatusNoContent {
			t.Errorf("a second later: got %d (%s), want 204", resp.StatusCode, body)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, fronted(setup{}))
		for _, tt := range []struct {
			request
			want int
		}{
			{request{path: "beat", header: map[string]string{"Sec-Fetch-Site": "cross-site"}, body: `{"connection":"x"}`}, http.StatusForbidden},
			{request{path: "leave", header: map[string]string{"Origin": "http://evil.test"}, body: `{"connection":"x"}`}, http.StatusForbidden},
			{request{path: "beat", body: `{"connection":"` + strings.Repeat("x", 4<<10) + `"}`}, http.StatusRequestEntityTooLarge},
			{request{path: "beat", body: `{`}, http.StatusBadRequest},
			{request{path: "beat", body: `{"connection":""}`}, http.StatusBadRequest},
			{request{path: "leave", body: ``}, http.StatusBadRequest},
			{request{path: "beat", body: `{"connection":"x"}`}, http.StatusGone},
			{request{path: "leave", body: `{"connection":"a~b~c"}`}, http.StatusGone},
		} {
			tt.method = http.MethodPost
			resp, body := s.fetch(tt.request)
			wantProblem(t, resp, body, tt.want)
		}
		for _, r := range []request{{path: "beat"}, {method: http.MethodPut, path: "beat"}} { // are the site's
			resp, body := s.fetch(r)
			wantProblem(t, resp, body, http.StatusMethodNotAllowed)
		}
	})
}

// The middleware sets a cookie when a page joins the stream of another tab, and so it has to
// see that beat.
func TestBeatsJoined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, fronted(setup{}))
		l := s.listen(request{path: "events?beat=1", user: "alice"})
		connection := l.want("welcome").data.Connection
		l.drain()
		body, _ := json.Marshal(map[string]any{"connection": connection, "joined": true})
		for user, want := range map[string]int{"alice": http.StatusNoContent, "mallory": http.StatusGone} { // so the site has said who it is
			if resp, _ := s.fetch(request{method: http.MethodPost, path: "beat?joined=1", user: user, body: string(body)}); resp.StatusCode != want {
				t.Errorf("%s: got status %d, want %d", user, resp.StatusCode, want)
			}
		}
	})
}

// A site refuses the tokens of another tenant (rule T2). Without Config.Tenant only the
// middleware knows whose site a request is for.
func TestBeatsOfTenants(t *testing.T) {
	byHost := func(r *http.Request) string {
		if r.Header.Get("X-Tenant") == "panic" {
			panic("bad")
		}
		return r.Header.Get("X-Tenant")
	}
	for _, known := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			o := setup{}
			if known {
				o.handlers.Tenant = byHost
			}
			s := newSite(t, fronted(o))
			conn, err := s.tracker.Connect(t.Context(), track.ConnectOptions{
				Visitor: presence.Visitor{Tenant: "acme", User: presence.User{ID: "alice"}}.Inside(), Topics: []presence.Topic{presence.Site.In("acme")}, Beat: true,
			})
			noError(t, err)
			defer conn.Close()
			for tenant, want := range map[string]int{"acme": http.StatusNoContent, "globex": http.StatusGone, "": http.StatusGone, "a b": http.StatusForbidden, "panic": http.StatusForbidden} {
				if !known {
					want = http.StatusTeapot // the site's
				}
				r := says("beat", "", string(conn.Token()))
				r.header = map[string]string{"X-Tenant": tenant}
				if resp, body := s.fetch(r); resp.StatusCode != want {
					t.Errorf("tenant %q: got %d (%s), want %d", tenant, resp.StatusCode, body, want)
				}
			}
		})
	}
}

// Beats about connections of another node ask the store, so a user sends them as often as other
// requests, however many tokens the user has.
func TestBeatsOfDeadTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		faults := presencetest.NewFaults(store)
		s, other := newSite(t, setup{store: store}), newSite(t, fronted(setup{store: faults}))
		var tokens []string
		for range 10 {
			l := s.listen(request{path: "events?beat=1", user: "alice"})
			tokens = append(tokens, l.want("welcome").data.Connection)
			l.close()
			time.Sleep(time.Second)
		}
		time.Sleep(time.Minute)
		before, status := faults.Calls(presencetest.CallApply), map[int]int{}
		for _, token := range tokens {
			for range 19 {
				resp, _ := other.fetch(says("beat", "", token))
				status[resp.StatusCode]++
			}
		}
		if got := faults.Calls(presencetest.CallApply) - before; got > 25 || status[http.StatusGone] > 25 || status[http.StatusTooManyRequests] < 150 {
			t.Errorf("got %d writes and statuses %v for 190 beats in a moment, want some twenty writes and 410, and 429", got, status)
		}
	})
}

// What Beats refuses counts by its address.
func TestBeatsCountRefusals(t *testing.T) {
	for name, r := range map[string]request{
		"foreign origin": {method: http.MethodPost, path: "beat", body: "{}", header: map[string]string{"Origin": "https://evil.example"}},
		"no JSON":        {method: http.MethodPost, path: "beat", body: "{"},
		"forged token":   says("beat", "", "a~b"),
	} {
		bubble(t, name, func(t *testing.T) {
			s := newSite(t, fronted(setup{}))
			status := map[int]int{}
			for range 300 {
				resp, _ := s.fetch(r)
				status[resp.StatusCode]++
			}
			if status[http.StatusTooManyRequests] < 200 || len(status) != 2 {
				t.Errorf("got %v for 300 requests in a moment, want 429 after some eighty", status)
			}
		})
	}
}

// A middleware before the handler does not identify the sender of a beat. The token alone counts then, and each
// connection has a rate of its own, also where all share one address.
func TestBeatsUnidentified(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, setup{})
		pass := func(path, tenant, token string) int {
			w := httptest.NewRecorder()
			r := httptest.NewRequest(http.MethodPost, "/presence/"+path, strings.NewReader(`{"connection":"`+token+`"}`))
			r.Header.Set("X-Forwarded-For", "203.0.113.7")
			r.RemoteAddr = "10.0.0.1:1"
			ctx := &presence.VisitorContext{Context: r.Context(), Visitor: presence.Visitor{Tenant: tenant}}
			s.handler.ServeHTTP(w, r.WithContext(ctx))
			return w.Code
		}
		for i := range 200 {
			conn, err := s.tracker.Connect(t.Context(), track.ConnectOptions{
				Visitor: presence.Visitor{User: presence.User{ID: presence.UserID(fmt.Sprint("user", i))}}, Topics: []presence.Topic{presence.Site}, Beat: true,
			})
			noError(t, err)
			defer conn.Close()
			if got := pass("beat", "", string(conn.Token())); got != http.StatusNoContent {
				t.Fatalf("got %d for a beat, want 204", got)
			}
			if got := pass("beat", "acme", string(conn.Token())); got != http.StatusGone {
				t.Fatalf("got %d for a beat of another tenant, want 410", got)
			}
		}
		s.wantFound(nil)
	})
}
