package handlers_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
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

// wantProblem fails unless an answer is problem details of a status.
func wantProblem(t *testing.T, resp *http.Response, body string, status int) {
	t.Helper()
	if resp.StatusCode != status {
		t.Errorf("got status %d (%s), want %d", resp.StatusCode, body, status)
		return
	}
	if got, want := resp.Header.Get("Content-Type"), "application/problem+json"; got != want {
		t.Errorf("Content-Type: got %q, want %q", got, want)
	}
	if resp.Request.Method == http.MethodHead {
		return
	}
	var p struct {
		Type, Title, Detail string
		Status              int
	}
	if err := json.Unmarshal([]byte(body), &p); err != nil {
		t.Errorf("the body %q is no JSON: %v", body, err)
	}
	if p.Type != "about:blank" || p.Status != status || p.Title != http.StatusText(status) || len(p.Detail) < 10 {
		t.Errorf("got %s, want about:blank, %d, %q and a detail that helps", body, status, http.StatusText(status))
	}
	if got, want := resp.Header.Get("Cache-Control"), "no-store"; got != want {
		t.Errorf("Cache-Control: got %q, want %q", got, want)
	}
}

func manyParams(format string, n int) string {
	params := make([]string, n)
	for i := range params {
		params[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(params, "&")
}

// Each fault of a request has its own status. No user is recorded.
func TestBadRequests(t *testing.T) {
	json := map[string]string{"Content-Type": "application/json"}
	long := strings.Repeat("t", presence.MaxTopicLen+1)
	type row struct {
		request
		status int
	}
	rows := []row{
		{request{path: ""}, 404},
		{request{path: "nothing"}, 404},
		{request{path: "roster//"}, 404},
		{request{path: "roster/x"}, 404},
		{request{path: "assets"}, 404},
		{request{path: "assets/../roster"}, 404},
		{request{path: "assets/%2e%2e/widget"}, 404},
		{request{path: "widget"}, 404},
		{request{path: "assets/presence.js"}, 404},

		{request{path: "users"}, 400},
		{request{path: "users?id="}, 400},
		{request{path: "users?id=a%00"}, 400},
		{request{path: "users?id=%ff"}, 400},
		{request{path: "users?id=" + strings.Repeat("u", presence.MaxUserIDLen+1)}, 400},
		{request{path: "users?" + manyParams("id=u%d", 101)}, 400},

		{request{path: "roster?limit=0"}, 400},
		{request{path: "roster?limit=1001"}, 400},
		{request{path: "roster?limit=-1"}, 400},
		{request{path: "roster?limit=ten"}, 400},
		{request{path: "roster?limit="}, 400},
		{request{path: "roster?after=garbage"}, 400},
		{request{path: "roster?topic=site&topic=thread:1"}, 400},
		{request{path: "users?id=a&topic=site&topic=thread:1"}, 400},
		{request{path: "roster?topic=%zz"}, 400},
		{request{path: "roster?topic=site;limit=1"}, 400},
		{request{path: "events?observe=perhaps"}, 400},
		{request{path: "events?beat="}, 400},
		{request{path: "events?stream="}, 400},
		{request{path: "events?" + manyParams("topic=thread:%d", 17)}, 400},
		{request{path: "events?" + manyParams("topic=thread:%d", 9) + "&" + manyParams("stream=t%d", 8)}, 400},

		{request{method: "PUT", path: "status", body: `{"status":"away"}`, header: json}, 401},
		{request{method: "PUT", path: "status", user: "alice", body: `{"status":"asleep"}`, header: json}, 400},
		{request{method: "PUT", path: "status", user: "alice", body: `{"status":7}`, header: json}, 400},
		{request{method: "PUT", path: "status", user: "alice", body: `{"status":""}`, header: json}, 400},
		{request{method: "PUT", path: "status", user: "alice", body: `{"status":`, header: json}, 400},
		{request{method: "PUT", path: "status", user: "alice", body: `{"status":"away"}{}`, header: json}, 400},
		{request{method: "PUT", path: "status", user: "alice", body: `null`, header: json}, 400},
		{request{method: "PUT", path: "status", user: "alice", header: json}, 400},
		{request{method: "PUT", path: "status", user: "alice", body: `status=away`, header: map[string]string{"Content-Type": "application/x-www-form-urlencoded"}}, 400},
		{request{method: "PUT", path: "status", user: "alice", body: `{"status":"away"}` + strings.Repeat(" ", 4<<10), header: json}, 413},
		{request{method: "PUT", path: "status", body: strings.Repeat("x", 1<<20), header: json}, 413},
		{request{method: "PUT", path: "status", user: "alice", body: `{"status":"away"}`, header: map[string]string{"Sec-Fetch-Site": "cross-site"}}, 403},
		{request{method: "PUT", path: "status", user: "alice", body: `{"status":"away"}`, header: map[string]string{"Origin": "https://evil.test"}}, 403},
		{request{path: "events", user: "alice", header: map[string]string{"Sec-Fetch-Site": "cross-site"}}, 403},
		{request{path: "poll", user: "alice", header: map[string]string{"Sec-Fetch-Site": "cross-site"}}, 403},
		{request{path: "poll", user: "alice", header: map[string]string{"Origin": "https://evil.test"}}, 403},
		{request{method: "HEAD", path: "roster?topic=secret"}, 403},
		{request{method: "HEAD", path: "events?topic=secret", user: "alice"}, 403},
		{request{path: "events", user: "alice", header: map[string]string{"Origin": "https://evil.test"}}, 403},
	}
	for _, wait := range []string{"", "0", "56", "-1", "1.5", "1s", "ten", "99999999999999999999"} {
		rows = append(rows, row{request{path: "poll?wait=" + wait, user: "alice"}, 400})
	}
	for _, path := range []string{"beat", "leave"} {
		post := func(body string, status int, header map[string]string) {
			rows = append(rows, row{request{method: "POST", path: path, user: "alice", body: body, header: header}, status})
		}
		for _, body := range []string{"", "{}", "null", "[]", `"x"`, `{"connection":""}`, `{"connection":7}`, `{"connection":"a.1~site"}x`, `{"connection":"a`, "\xff\x00"} {
			post(body, 400, nil)
		}
		post(`{"connection":"`+strings.Repeat("x", 4<<10)+`"}`, 413, nil)
		post(strings.Repeat("x", 1<<20), 413, nil)
		post(`{"connection":"a.1~site"}`, 403, map[string]string{"Sec-Fetch-Site": "cross-site", "Content-Type": "text/plain"})
		post(`{"connection":"a.1~site"}`, 403, map[string]string{"Origin": "https://evil.test"})
		post("connection=a.1", 400, map[string]string{"Content-Type": "application/x-www-form-urlencoded"})
		rows = append(rows, row{request{path: path}, 405}, row{request{method: "PUT", path: path}, 405})
	}
	for _, connection := range []string{"x", "a.", "a.1~../x", "a.1~" + strings.Repeat("t", 129), "\u0000", strings.Repeat("a.1~", 500)} {
		r := says("beat", "alice", connection)
		rows = append(rows, row{r, 410})
	}
	for _, endpoint := range []string{"roster?", "events?", "poll?", "users?id=a&", "widget?"} {
		rows = append(rows,
			row{request{path: endpoint + "topic="}, 400},
			row{request{path: endpoint + "topic=" + long}, 400},
			row{request{path: endpoint + "topic=../x"}, 400},
			row{request{path: endpoint + "topic=thread%0a1"}, 400},
			row{request{path: endpoint + "topic=site&topic=caf%C3%A9"}, 400},
			row{request{path: endpoint + "topic=secret", user: "alice"}, 403},
			row{request{method: "PATCH", path: endpoint}, 405},
			row{request{method: "DELETE", path: endpoint}, 405},
		)
	}
	onSite(t, setup{handlers: handlers.Config{MaxRate: -1}}, func(t *testing.T, s *site) {
		for _, row := range rows {
			resp, body := s.fetch(row.request)
			wantProblem(t, resp, body, row.status)
			if t.Failed() {
				t.Fatalf("so answered %s %.80s", resp.Request.Method, row.path)
			}
		}
		if got := s.names("site"); got != "" {
			t.Errorf("got %q online, want nobody", got)
		}
	})
}

func TestMethodNotAllowed(t *testing.T) {
	for name, tt := range map[string]struct {
		site  func(*testing.T) *site
		allow map[string]string
	}{
		"presence": {func(t *testing.T) *site { return newSite(t, setup{}) }, map[string]string{
			"roster": "GET, HEAD", "users": "GET, HEAD", "events": "GET, HEAD, POST", "ws": "GET", "poll": "GET, POST", "widget": "GET, HEAD", "assets/x.js": "GET, HEAD",
			"status": "PUT", "beat": "POST", "leave": "POST",
		}},
		"people": {func(t *testing.T) *site {
			s, _ := newPeopleSite(t, setup{handlers: handlers.Config{EndSession: endsNothing}})
			return s
		}, map[string]string{
			"people": "GET, HEAD, POST", "settings": "GET, HEAD, PUT", "sessions": "GET, HEAD", "sessions/d1": "DELETE",
			"events": "GET, HEAD, POST", "poll": "GET, POST", "ws": "GET",
		}},
		"feeds": {func(t *testing.T) *site { return newFeedSite(t, setup{}).site }, map[string]string{
			"feed": "GET, HEAD", "feed/mark": "POST", "mutes": "GET, HEAD, PUT",
		}},
	} {
		bubble(t, name, func(t *testing.T) {
			s := tt.site(t)
			for path, want := range tt.allow {
				resp, body := s.fetch(request{method: http.MethodPatch, path: path, user: "alice"})
				wantProblem(t, resp, body, http.StatusMethodNotAllowed)
				if got := resp.Header.Get("Allow"); got != want {
					t.Errorf("%s: got Allow %q, want %q", path, got, want)
				}
			}
		})
	}
}

// An answer does not show whether a forbidden topic exists.
func TestForbiddenLooksLikeMissing(t *testing.T) {
	onSite(t, setup{}, func(t *testing.T, s *site) {
		s.see("staff", "bob")
		for _, endpoint := range []string{"roster?topic=", "events?topic=", "poll?topic=", "ws?topic=", "users?id=bob&topic=", "widget?topic="} {
			there, thereBody := s.fetch(request{path: endpoint + "staff", header: handshake})
			missing, missingBody := s.fetch(request{path: endpoint + "nothing", header: handshake})
			there.Header.Del("Date")
			missing.Header.Del("Date")
			if there.StatusCode != 403 || missing.StatusCode != 403 || thereBody != missingBody || fmt.Sprint(there.Header) != fmt.Sprint(missing.Header) {
				t.Errorf("%s: got %d %s and %d %s, want the same 403", endpoint, there.StatusCode, thereBody, missing.StatusCode, missingBody)
			}
		}
	})
}

func TestTrustedOrigin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		trusted := http.NewCrossOriginProtection()
		noError(t, trusted.AddTrustedOrigin("https://app.test"))
		s := newSite(t, setup{handlers: handlers.Config{CrossOrigin: trusted}})
		s.listen(request{path: "events", header: map[string]string{"Origin": "https://app.test", "Sec-Fetch-Site": "cross-site"}}).started(1)
		s.listen(request{path: "events", header: map[string]string{"Origin": "http://forum.test", "Sec-Fetch-Site": "same-origin"}}).started(1)
	})
}

func TestTooManyConnections(t *testing.T) {
	onSite(t, setup{presence: track.Config{MaxConnectionsPerUser: 1}}, func(t *testing.T, s *site) {
		first := s.listen(request{path: "events", user: "alice"}).started(1)
		resp, body := s.fetch(request{path: "events", user: "alice"})
		wantProblem(t, resp, body, http.StatusTooManyRequests)
		if resp.Header.Get("Retry-After") == "" {
			t.Errorf("got no Retry-After")
		}
		s.listen(request{path: "events", user: "bob"}).started(1)
		first.close()
		synctest.Wait()
		s.listen(request{path: "events", user: "alice"}).started(1)
	})
}

// A brokenStore fails with an error text that no visitor may see.
type brokenStore struct {
	*memstore.Store
	err error
}

func (b brokenStore) Snapshot(context.Context, presence.Topic) (backend.Snapshot, error) {
	return backend.Snapshot{}, b.err
}

func (b brokenStore) Publish(context.Context, backend.Notice) error { return b.err }

func TestStoreOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, setup{
			store:    brokenStore{memstore.New(), errors.New("dial tcp 10.1.2.3:6379: hunter2")},
			presence: track.Config{Logger: slog.New(slog.DiscardHandler)},
		})
		for _, r := range []request{
			{path: "roster"},
			{path: "users?id=a"},
			{path: "events", user: "alice"},
			{path: "ws", user: "alice", header: handshake},
			{path: "poll", user: "alice"},
			{method: "PUT", path: "status", user: "alice", body: `{"status":"away"}`},
		} {
			resp, body := s.fetch(r)
			wantProblem(t, resp, body, http.StatusServiceUnavailable)
			if resp.Header.Get("Retry-After") == "" {
				t.Errorf("%s: got no Retry-After", r.path)
			}
			if strings.Contains(body, "hunter2") {
				t.Errorf("%s: got %s, which tells of the inside", r.path, body)
			}
		}
	})
}

// PUT /status does not wait for a store that is known to be out.
func TestStatusWhileTheStoreIsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := presencetest.NewFaults(memstore.New())
		s := newSite(t, setup{store: store, presence: track.Config{Logger: slog.New(slog.DiscardHandler)}})
		s.see("site", "alice")
		put := request{method: "PUT", path: "status", user: "alice", body: `{"status":"away"}`}
		store.Break(presencetest.Fault{Hang: true})
		time.Sleep(5 * time.Second) // until a call has failed
		for range 3 {
			begin := time.Now()
			resp, body := s.fetch(put)
			wantProblem(t, resp, body, http.StatusServiceUnavailable)
			if waited, after := time.Since(begin), resp.Header.Get("Retry-After"); waited != 0 || after == "" {
				t.Errorf("got an answer after %v, Retry-After %q, want one at once, and that it says when", waited, after)
			}
			time.Sleep(2 * time.Second)
		}
		store.Heal()
		time.Sleep(5 * time.Second)
		if resp, body := s.fetch(put); resp.StatusCode != http.StatusNoContent {
			t.Errorf("got %d, %s once the store is back, want 204", resp.StatusCode, body)
		}
	})
}

// A request waits for a topic that is not in memory, but not for long if the store hangs.
func TestStoreSlow(t *testing.T) {
	requests := map[string]request{
		"roster": {path: "roster"},
		"users":  {path: "users?id=a"},
		"status": {method: "PUT", path: "status", user: "alice", body: `{"status":"away"}`},
	}
	for name, r := range requests {
		for fault, ok := range map[presencetest.Fault]bool{{Delay: time.Second / 4}: true, {Hang: true}: false} {
			synctest.Test(t, func(t *testing.T) {
				store := presencetest.NewFaults(memstore.New())
				store.Break(fault, presencetest.CallSnapshot, presencetest.CallLog, presencetest.CallPublish)
				s := newSite(t, setup{store: store, presence: track.Config{Logger: slog.New(slog.DiscardHandler)}})
				begin := time.Now()
				resp, body := s.fetch(r)
				if waited := time.Since(begin); waited > 2*time.Second {
					t.Errorf("%s: got an answer after %v, want one within 2s", name, waited)
				}
				if ok && resp.StatusCode/100 != 2 {
					t.Errorf("%s: got status %d (%s), want success: the store is only slow", name, resp.StatusCode, body)
				} else if !ok {
					wantProblem(t, resp, body, http.StatusServiceUnavailable)
				}
			})
		}
	}
}

// A page is of one user: after somebody else signed in, it follows no more.
func TestPageOfAnotherUser(t *testing.T) {
	onSite(t, setup{}, func(t *testing.T, s *site) {
		for _, path := range []string{"events", "poll"} {
			resp, body := s.fetch(request{path: path + "?me=alice", user: "bob"})
			wantProblem(t, resp, body, http.StatusUnauthorized)
		}
		s.listen(request{path: "events?me=alice"}).want("welcome") // alice signed out, and nobody in
		s.listen(request{path: "events?me=alice", user: "alice"}).want("welcome")
		s.listen(request{path: "events?me=", user: "alice"}).want("welcome") // a page that a cache keeps for all
		if got := s.names("site"); got != "alice" {
			t.Errorf("got %q online, want alice alone", got)
		}
	})
}
