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

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/presencetest"
)

// newPeopleSite returns a site with a Directory in memory.
func newPeopleSite(t *testing.T, o setup) (*site, *presencetest.MemoryDirectory) {
	t.Helper()
	directory := presencetest.NewMemoryDirectory()
	o.presence.Directory = directory
	if o.directory != nil {
		o.presence.Directory = o.directory(directory)
	}
	if o.presence.Logger == nil {
		o.presence.Logger = slog.New(slog.DiscardHandler)
	}
	return newSite(t, o), directory
}

// errDirectory is the fault of a Directory. No visitor may see its text.
var errDirectory = errors.New("dial tcp 10.1.2.3:5432: hunter2")

// form returns a POST of a form.
func form(path, user, body string) request {
	return request{method: http.MethodPost, path: path, user: user, body: body,
		header: map[string]string{"Content-Type": "application/x-www-form-urlencoded"}}
}

// put returns a PUT of JSON.
func put(path, user, body string) request {
	return request{method: http.MethodPut, path: path, user: user, body: body}
}

// wantStatus fails unless a request gets a status. It returns the answer's body.
func (s *site) wantStatus(r request, status int) string {
	s.t.Helper()
	resp, body := s.fetch(r)
	if status >= 400 {
		wantProblem(s.t, resp, body, status)
		if after := resp.Header.Get("Retry-After"); (after != "") != (status == 429 || status == 503) {
			s.t.Errorf("%s %s: got Retry-After %q with status %d", r.method, r.path, after, status)
		}
		if strings.Contains(body, "hunter2") {
			s.t.Errorf("%s %s: got %s, which tells of the inside", r.method, r.path, body)
		}
	} else if resp.StatusCode != status {
		s.t.Errorf("got status %d (%s), want %d", resp.StatusCode, body, status)
	}
	if s.t.Failed() {
		s.t.Fatalf("so answered %s %.100s %.100s", r.method, r.path, r.body)
	}
	return body
}

// detail returns the detail of a problem.
func detail(t *testing.T, body string) string {
	t.Helper()
	var p struct{ Detail string }
	if err := json.Unmarshal([]byte(body), &p); err != nil {
		t.Fatalf("the body %q is no JSON: %v", body, err)
	}
	return p.Detail
}

// persons returns n parameters that each name another user.
func persons(param string, n int) string { return manyParams(param+"=u%d", n) }

// users returns n ids of some length as JSON.
func users(n, length int) string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("%q", fmt.Sprintf("u%0*d", length-1, i))
	}
	return "[" + strings.Join(ids, ",") + "]"
}

// online opens a stream that holds a user online from a device, and reads it until its end.
func (s *site) online(user, device string) *listener {
	s.t.Helper()
	l := s.listen(request{path: "events", user: user, header: map[string]string{"X-Device": device}}).started(1)
	l.drain()
	return l
}

// endsNothing is the EndSession of a site whose sessions have all ended.
func endsNothing(context.Context, presence.UserID, presence.DeviceID) error { return nil }
