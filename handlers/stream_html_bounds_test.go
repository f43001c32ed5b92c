package handlers_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/handlers"
)

// Of a widget's parameters a stream takes those of package templates, and little of
// them.
func TestMarkupParameters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, asked := markupSite(t)
		long := url.QueryEscape(strings.Repeat("é", 130))
		for query, want := range map[string]string{
			"x=1":                      "form, max, figures",
			"form=list&max=3&label=me": "form, max, figures",
			"_=1700000000":             "form, max, figures",
			"form=list&form=compact":   "form, max, figures",
			"form=" + long:             "256 bytes",
			"form=list&max=" + strings.Repeat("1", 250): "256 bytes",
		} {
			resp, body := s.fetch(request{path: "events?as=html&" + query})
			if wantProblem(t, resp, body, http.StatusBadRequest); !strings.Contains(body, want) {
				t.Errorf("%s: got %s, want %q in it", query, body, want)
			}
		}
		if n := asked.Load(); n != 0 {
			t.Errorf("the widget was asked %d times, want 0", n)
		}
		for _, spelling := range []string{"max=3&figures=guests,online", "figures=guests+online&max=%2B3", "max=003&figures=online,,guests,online"} {
			s.read("events?as=html&observe=1&"+spelling, "", "").next()
		}
		if n := asked.Load(); n != 1 {
			t.Errorf("the widget was asked %d times for one thing in three spellings, want once", n)
		}
		s.read("events?as=html&form=list&max=3&me=alice&idle=1&beat=1&observe=1&limit=3&cursor=x&stream=site", "alice", "").next()
	})
}

// A stream that a limit refuses, or a right, has rendered nothing.
func TestMarkupIsAdmittedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s *site
		asked := new(atomic.Int64)
		s = newSite(t, setup{handlers: handlers.Config{Widget: listWidget(&s, asked), MaxConnectionsPerAddress: 1}})
		s.listen(request{path: "events"}).started(1)
		s.wantLimited(request{path: "events?as=html"})
		resp, body := s.fetch(request{path: "events?as=html&topic=staff", user: "alice"})
		wantProblem(t, resp, body, http.StatusForbidden)
		if n := asked.Load(); n != 0 {
			t.Errorf("the widget was asked %d times, want 0", n)
		}
		if _, body := s.fetch(request{path: "events?as=html&max=many", user: "alice"}); !strings.Contains(body, "max is no number") || s.names("site") != "" {
			t.Errorf("got %s and %q online, want the widget's own refusal, and nobody", body, s.names("site"))
		}
	})
}

// streamable is a recorder that a stream can be written to.
type streamable struct{ *httptest.ResponseRecorder }

func (streamable) SetWriteDeadline(time.Time) error { return nil }
