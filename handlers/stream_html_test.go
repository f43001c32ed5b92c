package handlers_test

import (
	"bufio"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A message is one of a stream as markup.
type message struct{ event, id, html string }

// A reader has the messages of a stream as they come.
type markupReader struct {
	t        *testing.T
	messages chan message
}

// read opens a stream as markup.
func (s *site) read(path, user, last string) *markupReader {
	s.t.Helper()
	header := map[string]string{}
	if last != "" {
		header["Last-Event-ID"] = last
	}
	resp := s.do(request{path: path, user: user, header: header})
	if got := resp.Header.Get("Content-Type"); resp.StatusCode != 200 || got != "text/event-stream" {
		s.t.Fatalf("%s: got %d, %s, want a stream", path, resp.StatusCode, got)
	}
	s.t.Cleanup(func() { resp.Body.Close() })
	r := &markupReader{s.t, make(chan message, 100)}
	go func() {
		defer close(r.messages)
		var m message
		var lines []string
		for scan := bufio.NewScanner(resp.Body); scan.Scan(); {
			switch field, value, _ := strings.Cut(scan.Text(), ": "); field {
			case "event":
				m.event = value
			case "id":
				m.id = value
			case "data":
				lines = append(lines, value)
			case "":
				if m.html = strings.Join(lines, "\n"); m.html != "" {
					r.messages <- m
				}
				m, lines = message{}, nil
			}
		}
	}()
	return r
}

// next returns the next message, which has to come within a second or so.
func (r *markupReader) next() message {
	r.t.Helper()
	select {
	case m, ok := <-r.messages:
		if !ok {
			r.t.Fatal("the stream has ended, want a message")
		}
		return m
	case <-time.After(1100 * time.Millisecond):
		r.t.Fatal("no message came")
	}
	return message{}
}

// none fails if a message comes until d has passed.
func (r *markupReader) none(d time.Duration) {
	r.t.Helper()
	select {
	case m, ok := <-r.messages:
		r.t.Fatalf("got %+v (%v), want nothing for %v", m, ok, d)
	case <-time.After(d):
	}
}

// listWidget returns a widget that lists the users and its own request.
func listWidget(s **site, asked *atomic.Int64) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		q := r.URL.Query()
		if q.Get("max") == "many" {
			http.Error(w, "max is no number", http.StatusBadRequest)
			return
		}
		v := presence.VisitorFromContext(r.Context())
		fmt.Fprintf(w, "<ul>\n%s\r\n%s %s%s%s\r</ul>", (*s).names(presence.Topic(q.Get("topic"))), r.Method, r.URL, v.User.ID, r.Header.Get("X-User"))
	})
}

func markupSite(t *testing.T) (s *site, asked *atomic.Int64) {
	asked = new(atomic.Int64)
	s = newSite(t, setup{handlers: handlers.Config{Authorize: anyTopic, Widget: listWidget(&s, asked)}})
	return s, asked
}

func TestMarkup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := markupSite(t)
		s.see("site", "alice")
		r := s.read("events?topic=site&as=html&max=5&limit=3&cursor=x", "", "")
		first := r.next()
		if want := "<ul>\nalice\nGET /widget?max=5&topic=site\n</ul>"; first.html != want || first.event != "" || first.id == "" {
			t.Errorf("got %+v, want the unnamed message %q with an id", first, want)
		}
		r.none(time.Minute)
		s.see("site", "bob")
		if got := r.next(); !strings.Contains(got.html, "\nbob alice\n") || got.id == first.id {
			t.Errorf("got %+v, want bob in it, and another id than %s", got, first.id)
		}
	})
}

// A burst is the first change at once, and then the last of each second.
func TestMarkupHasAPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, asked := markupSite(t)
		readers := []*markupReader{s.read("events?as=html", "", ""), s.read("events?as=html", "", ""), s.read("events?as=html", "", "")}
		for _, r := range readers {
			r.next()
		}
		time.Sleep(time.Minute)
		asked.Store(0)
		for i := range 20 {
			s.tracker.Seen("site", presence.User{ID: presence.UserID(fmt.Sprint("user-", i))}, presence.Device{})
			time.Sleep(75 * time.Millisecond)
		}
		time.Sleep(5 * time.Second)
		for _, r := range readers {
			if got := len(r.messages); got != 3 {
				t.Errorf("got %d messages in 1.5 s, want 3", got)
			}
			for len(r.messages) > 1 {
				<-r.messages
			}
			if last := <-r.messages; !strings.Contains(last.html, "user-19 ") || !strings.Contains(last.html, "user-0\n") {
				t.Errorf("got %+v at last, want everybody in it", last)
			}
		}
		if n := asked.Load(); n > 3 {
			t.Errorf("the widget was asked %d times, want once for each of 3 versions", n)
		}
	})
}

func TestMarkupOfSeveralTopics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := markupSite(t)
		r := s.read("events?topic=site&topic=thread:1&as=html", "alice", "")
		got := map[string]string{}
		for range 2 {
			m := r.next()
			got[m.event] = m.html
		}
		if !strings.Contains(got["site"], "\nalice\n") || !strings.Contains(got["thread:1"], "\nalice\nGET /widget?topic=thread%3A1\n") {
			t.Errorf("got %q, want a message named after each topic, with alice, whom the stream holds", got)
		}
	})
}

func TestMarkupForTurbo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := markupSite(t)
		r := s.read("events?topic=thread:1&topic=site&as=turbo", "", "")
		var all string
		for range 2 {
			m := r.next()
			if m.event != "" {
				t.Errorf("got a message named %q, which Turbo does not hear", m.event)
			}
			all += m.html
		}
		for _, topic := range []string{"site", "thread:1"} {
			want := `<turbo-stream action="replace" method="morph" targets="whos-online[topic='` + topic + `']"><template><ul>`
			if !strings.Contains(all, want) || !strings.HasSuffix(all, "</ul></template></turbo-stream>") {
				t.Errorf("got %s\nwant %s in it", all, want)
			}
		}
	})
}

func TestMarkupResumes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := markupSite(t)
		last := s.read("events?as=html", "", "").next().id
		back := s.read("events?as=html", "", last)
		back.none(time.Minute)
		s.see("site", "alice")
		back.next()
		again := s.read("events?as=html", "", last)
		if got := again.next(); !strings.Contains(got.html, "\nalice\n") {
			t.Errorf("got %+v, want alice, who came meanwhile", got)
		}
	})
}

// A page learns that its list is old, and that it is not any more, also where it
// comes back meanwhile.
func TestMarkupWhileTheStoreIsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := presencetest.NewFaults(memstore.New())
		var s *site
		s = newSite(t, setup{
			store:    store,
			presence: track.Config{Logger: slog.New(slog.DiscardHandler)},
			handlers: handlers.Config{Widget: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				view, err := s.tracker.View(r.Context(), presence.Site)
				fmt.Fprint(w, "old: ", view.Stale, err)
			})},
		})
		stays := s.read("events?as=html", "", "")
		first := stays.next()
		store.Break(presencetest.Fault{Err: errors.New("out")})
		out := stays.next()
		back := s.read("events?as=html", "", first.id)
		if m := back.next(); !strings.Contains(out.html, "old: true") || m.html != out.html || out.id != "" || m.id != "" {
			t.Errorf("got %+v, and %+v for who comes back, want to be told that the list is old, without an id", out, m)
		}
		stays.none(time.Minute)
		store.Heal()
		for _, r := range []*markupReader{stays, back} {
			if m := r.next(); m.html != first.html || m.id != first.id {
				t.Errorf("got %+v once it is back, want %+v", m, first)
			}
		}
		s.read("events?as=html", "", first.id).none(time.Minute)
	})
}

// The widget is asked as a guest would, since its answer is for all.
func TestMarkupIsForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := markupSite(t)
		if got, want := s.read("events?as=html&observe=1", "zoe", "").next().html, "<ul>\n\nGET /widget?topic=site\n</ul>"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestMarkupThatCannotBe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := markupSite(t)
		for path, status := range map[string]int{"as=markdown": 400, "as=": 400, "as=events": 400, "as=html&max=many": 400} {
			resp, body := s.fetch(request{path: "events?" + path})
			if !strings.Contains(path, "max") && (!strings.Contains(body, "html or turbo") || strings.Contains(body, "as=events")) {
				t.Errorf("%s: got %s, want the values that are allowed", path, body)
			}
			if resp.StatusCode != status || body == "" || strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event") {
				t.Errorf("%s: got %d, %s, want %d", path, resp.StatusCode, body, status)
			}
		}
		bare := newSite(t, setup{})
		resp, body := bare.fetch(request{path: "events?as=html"})
		wantProblem(t, resp, body, 404)
	})
}

// firstMessage returns the first message of a stream as markup.
func firstMessage(resp *http.Response) string {
	for scan := bufio.NewScanner(resp.Body); scan.Scan(); {
		if text, ok := strings.CutPrefix(scan.Text(), "data: "); ok {
			return text
		}
	}
	return ""
}
