package handlers_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/internal/syncbuf"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A logbook is a logger whose lines a test can read.
type logbook struct{ syncbuf.Buffer }

// count returns how often a text stands in the log.
func (l *logbook) count(text string) int { return strings.Count(l.String(), text) }

func (l *logbook) config() track.Config {
	return track.Config{Logger: slog.New(slog.NewTextHandler(l, nil)), MaxConnectionsPerUser: -1}
}

// afterFirst returns an Authorize that allows the first call for each topic, and then
// does something else.
func afterFirst(then func(*http.Request) bool) func(*http.Request, presence.Visitor, presence.Topic) bool {
	var asked sync.Map
	return func(r *http.Request, _ presence.Visitor, t presence.Topic) bool {
		if _, again := asked.LoadOrStore(string(t)+r.Header.Get("X-Tab"), true); !again {
			return true
		}
		return then(r)
	}
}

// A panic of the site's Authorize is a no: the request is refused as ever, and the
// fault is in the log once, with its stack.
func TestAuthorizePanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := new(logbook)
		s := newSite(t, setup{presence: log.config(), handlers: handlers.Config{Authorize: func(r *http.Request, v presence.Visitor, topic presence.Topic) bool {
			return topic == "site" || strings.Split(string(topic), ":")[7] == ""
		}}})
		for _, path := range []string{"events?", "poll?", "roster?", "users?id=a&", "widget?"} {
			resp, body := s.fetch(request{path: path + "topic=x:y:z", user: "alice"})
			wantProblem(t, resp, body, http.StatusForbidden)
		}
		c := s.talk(request{path: "ws", user: "alice"})
		c.started(1)
		c.say(`{"type":"subscribe","topic":"x:y:z"}`)
		c.wantError("Forbidden")
		c.say(`{"type":"snapshot","topic":"site"}`)
		c.want("state")
		if got := s.handler.Stats().SitePanics; got != 6 {
			t.Errorf("got %d panics counted, want 6", got)
		}
		if log.count("Authorize panicked") != 1 || log.count("sitecode_test.go") == 0 {
			t.Errorf("got %d lines in the log within a minute, want one with the stack", log.count("Authorize panicked"))
		}
		c.drain()
		time.Sleep(time.Minute)
		c.say(`{"type":"subscribe","topic":"x:y:z"}`)
		time.Sleep(time.Second)
		if got := log.count("Authorize panicked"); got != 2 {
			t.Errorf("a minute later: got %d lines in the log, want 2", got)
		}
	})
}

// A site that takes three seconds for each answer keeps its streams, also where heartbeats are shorter than that.
func TestRightsThatTakeSeconds(t *testing.T) {
	over(t, streams, func(t *testing.T, over transport) {
		var ends atomic.Bool
		slowly := func(*http.Request) bool {
			if !ends.Load() {
				time.Sleep(3 * time.Second)
			}
			return true
		}
		s := newSite(t, setup{presence: track.Config{TTL: 6 * time.Second, Grace: time.Second}, handlers: handlers.Config{Authorize: afterFirst(slowly)}})
		told := s.follow(over, "topic=site&observe=1", "").started(1).feed()
		time.Sleep(20 * time.Second)
		s.tracker.Seen("site", presence.User{ID: "bob"}, presence.Device{})
		if e := <-told; keys(e.data.Joins) != "bob" {
			t.Errorf("got joins %q, want bob", keys(e.data.Joins))
		}
		ends.Store(true)
		time.Sleep(3 * time.Second) // until the last answer is there
	})
}

// A stream whose right the site cannot confirm ends: where Authorize panics, and
// where it does not answer. The others go on.
func TestRightsThatCannotBeChecked(t *testing.T) {
	for name, then := range map[string]func(*http.Request) bool{
		"panics":         func(*http.Request) bool { panic("the session is gone") },
		"hangs":          func(r *http.Request) bool { <-r.Context().Done(); return true },
		"hangs for ever": func(*http.Request) bool { time.Sleep(10 * time.Minute); return true },
	} {
		t.Run(name, func(t *testing.T) {
			over(t, streams, func(t *testing.T, over transport) {
				log := new(logbook)
				authorize := afterFirst(then)
				s := newSite(t, setup{presence: log.config(), handlers: handlers.Config{
					Authorize: func(r *http.Request, v presence.Visitor, topic presence.Topic) bool {
						return topic == "thread:1" || authorize(r, v, topic)
					},
				}})
				other := s.follow(over, "topic=thread:1&observe=1", "").started(1)
				ended := s.follow(over, "topic=site", "alice").started(1).drain()
				begin := time.Now()
				told := other.feed()
				<-ended
				if d := time.Since(begin); d > 21*time.Second {
					t.Errorf("the stream ended after %v, want a heartbeat, five seconds and one to close at most: 21s", d)
				}
				s.tracker.Seen("thread:1", presence.User{ID: "bob"}, presence.Device{})
				if e := <-told; keys(e.data.Joins) != "bob" {
					t.Errorf("another stream: got joins %q, want bob", keys(e.data.Joins))
				}
				stats := s.handler.Stats()
				if name == "panics" && (stats.SitePanics != 1 || stats.Unanswered != 0) || name != "panics" && stats.Unanswered != 1 {
					t.Errorf("got %d panics and %d questions unanswered", stats.SitePanics, stats.Unanswered)
				}
				time.Sleep(11 * time.Minute) // until the last call has returned
			})
		})
	}
}

// A poll whose second look at the rights is not answered has no answer either.
func TestPollRightsThatCannotBeChecked(t *testing.T) {
	for name, then := range map[string]func(*http.Request) bool{
		"panics": func(*http.Request) bool { panic("the session is gone") },
		"hangs":  func(*http.Request) bool { time.Sleep(10 * time.Minute); return true },
	} {
		bubble(t, name, func(t *testing.T) {
			s := newSite(t, setup{presence: new(logbook).config(), handlers: handlers.Config{Authorize: afterFirst(then)}})
			begin := time.Now()
			resp, body := s.fetch(request{path: "poll", user: "alice"})
			wantProblem(t, resp, body, http.StatusForbidden)
			if d := time.Since(begin); d > 6*time.Second {
				t.Errorf("got the answer after %v, want it within 5 s or so", d)
			}
			time.Sleep(11 * time.Minute)
		})
	}
}

// However many streams there are, few goroutines ask the site, and a site that hangs
// does not collect them. The streams end all the same.
func TestRightsWhileTheSiteHangs(t *testing.T) {
	const n = 1000
	for _, path := range []string{"events?observe=1&topic=site&topic=thread:1", "ws?observe=1&topic=site&topic=thread:1"} {
		bubble(t, path, func(t *testing.T) {
			var hanging, most atomic.Int64
			var hangs atomic.Bool
			release := make(chan struct{})
			s := newSite(t, setup{presence: new(logbook).config(), handlers: handlers.Config{
				MaxConnections: -1,
				Authorize: func(*http.Request, presence.Visitor, presence.Topic) bool {
					if hangs.Load() {
						most.Store(max(most.Load(), hanging.Add(1)))
						<-release
						hanging.Add(-1)
					}
					return true
				},
			}})
			var streams []*listener
			var ended []<-chan struct{}
			open := func() {
				for i := range n {
					r := request{path: path, user: fmt.Sprint("u", i)}
					if strings.HasPrefix(path, "ws") {
						streams = append(streams, s.talk(r).listener)
					} else {
						streams = append(streams, s.listen(r))
					}
					ended = append(ended, streams[i].drain())
				}
			}
			open()
			synctest.Wait()
			before := runtime.NumGoroutine()
			hangs.Store(true)
			time.Sleep(16 * time.Second)
			synctest.Wait()
			if got := runtime.NumGoroutine() - before; got > 100 || most.Load() > 32 {
				t.Errorf("got %d more goroutines and %d calls at once, want 32 calls at most", got, most.Load())
			}
			for _, end := range ended {
				<-end
			}
			if got := s.handler.Stats().Unanswered; got != n {
				t.Errorf("got %d streams that were not answered, want %d", got, n)
			}
			close(release)
		})
	}
}

// Streams that ask the same at the same time share one question, and those whose
// requests differ do not.
func TestRightsAreAskedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		s := newSite(t, setup{presence: new(logbook).config(), handlers: handlers.Config{
			Authorize: func(r *http.Request, _ presence.Visitor, _ presence.Topic) bool {
				asked.Add(1)
				time.Sleep(time.Second)
				return r.Header.Get("Cookie") != "session=ended" || asked.Load() <= 12
			},
		}})
		var ended [3]<-chan struct{}
		var opened sync.WaitGroup
		for i, cookie := range []string{"session=1", "session=2", "session=ended"} {
			for tab := range 4 {
				opened.Go(func() {
					l := s.listen(request{path: fmt.Sprint("events?topic=site&cursor=", tab), user: "alice", header: map[string]string{"Cookie": cookie}})
					if done := l.drain(); tab == 0 {
						ended[i] = done
					}
				})
			}
		}
		opened.Wait()
		time.Sleep(13 * time.Second)
		asked.Store(0)
		asked.Add(12)
		time.Sleep(5 * time.Second)
		if got := asked.Load() - 12; got != 3 {
			t.Errorf("got %d questions for 12 streams of 3 browsers, want 3", got)
		}
		for i, want := range []bool{false, false, true} {
			select {
			case <-ended[i]:
				if !want {
					t.Errorf("the stream of browser %d has ended, want it open", i)
				}
			default:
				if want {
					t.Errorf("the stream of browser %d is open, want it ended", i)
				}
			}
		}
	})
}

// A guest whose address cannot be found counts with the others of whom that is true.
func TestClientIPFails(t *testing.T) {
	for name, clientIP := range map[string]func(*http.Request) string{
		"panics": func(r *http.Request) string { return strings.Split(r.Header.Get("X-Forwarded-For"), ",")[7] },
		"empty":  func(*http.Request) string { return "" },
		"long":   func(r *http.Request) string { return r.Header.Get("X-Long") },
	} {
		bubble(t, name, func(t *testing.T) {
			log := new(logbook)
			s := newSite(t, setup{presence: log.config(), handlers: handlers.Config{MaxConnectionsPerAddress: 2, ClientIP: clientIP}})
			for i := range 2 {
				s.listen(request{path: "events", header: map[string]string{"X-Long": strings.Repeat(fmt.Sprint(i), 65)}}).started(1)
			}
			s.wantLimited(request{path: "events", header: map[string]string{"X-Long": strings.Repeat("x", 65)}})
			if got := log.count("ClientIP panicked"); (got == 1) != (name == "panics") {
				t.Errorf("got %d lines in the log", got)
			}
		})
	}
}

// A widget that panics is an error of one request, and no news for a stream.
func TestWidgetPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := new(logbook)
		var panics atomic.Bool
		panics.Store(true)
		s := newSite(t, setup{presence: log.config(), handlers: handlers.Config{
			Widget: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Query().Get("max") == "1" {
					fmt.Fprint(w, "half a widget")
					http.NewResponseController(w).Flush()
				}
				if panics.Load() {
					panic("no template")
				}
				fmt.Fprint(w, "a widget")
			}),
		}})
		for _, path := range []string{"widget", "assets/x.js", "events?as=html"} {
			resp, body := s.fetch(request{path: path})
			wantProblem(t, resp, body, http.StatusInternalServerError)
		}
		resp := s.do(request{path: "widget?max=1"})
		if _, err := bytes.NewBuffer(nil).ReadFrom(resp.Body); err == nil {
			t.Error("got the whole of half a widget, want an error")
		}
		resp.Body.Close()
		panics.Store(false)
		r := s.read("events?as=html&observe=1", "", "")
		if got := r.next().html; got != "a widget" {
			t.Errorf("got %q, want the widget", got)
		}
		panics.Store(true)
		s.see("site", "bob")
		r.none(10 * time.Second)
		panics.Store(false)
		s.see("site", "carol")
		if got := r.next().html; got != "a widget" {
			t.Errorf("got %q, want the widget", got)
		}
		if got := s.handler.Stats().SitePanics; got < 5 || log.count("Widget panicked") != 1 {
			t.Errorf("got %d panics counted and %d lines in the log, want 5 or more, and 1", got, log.count("Widget panicked"))
		}
	})
}

// A widget that hangs holds up neither the streams nor the other topics.
func TestWidgetHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		s := newSite(t, setup{presence: new(logbook).config(), handlers: handlers.Config{
			Authorize: anyTopic,
			Widget: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Query().Get("topic") == "thread:1" {
					<-release
				}
				fmt.Fprint(w, "a widget")
			}),
		}})
		go func() {
			time.Sleep(time.Second)
			if got := s.read("events?as=html", "", "").next().html; got != "a widget" {
				t.Errorf("another topic: got %q, want its widget", got)
			}
		}()
		for range 3 {
			begin := time.Now()
			resp, body := s.fetch(request{path: "events?as=html&topic=thread:1"})
			wantProblem(t, resp, body, http.StatusServiceUnavailable)
			if d := time.Since(begin); d > 6*time.Second {
				t.Errorf("got the answer after %v, want it within 5 s or so", d)
			}
		}
		if got := s.handler.Stats().Unrendered; got != 3 {
			t.Errorf("got %d unrendered, want 3", got)
		}
	})
}

// secretKey is where a middleware of the site's keeps a reader's session.
type secretKey struct{}

// A widget that renders for all readers gets nothing of a single reader.
func TestMarkupHoldsNothingOfAReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, setup{
			wrap: func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), secretKey{}, r.Header.Get("Cookie"))))
				})
			},
			handlers: handlers.Config{Widget: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, ends := r.Context().Deadline()
				v := presence.VisitorFromContext(r.Context())
				fmt.Fprintf(w, "session %v, host %q, from %q, header %v, visitor %q%q, ends %v", r.Context().Value(secretKey{}), r.Host, r.RemoteAddr, r.Header, v.User.ID, v.Guest, ends)
			})},
		})
		for _, user := range []string{"alice", "bob"} {
			resp := s.do(request{path: "events?as=html&observe=1", user: user, header: map[string]string{"Cookie": "session=" + user, "X-Guest": "g" + user}})
			got := firstMessage(resp)
			if want := `session <nil>, host "", from "", header map[], visitor """", ends true`; got != want {
				t.Errorf("%s got %s\nwant %s", user, got, want)
			}
			resp.Body.Close()
		}
	})
}

// Few widgets are rendered for streams at a time, and those that wait for too long are
// left out.
func TestWidgetsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running, most atomic.Int64
		var hangs atomic.Bool
		release := make(chan struct{})
		s := newSite(t, setup{presence: new(logbook).config(), handlers: handlers.Config{
			Authorize: anyTopic, MaxRate: -1,
			Widget: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				most.Store(max(most.Load(), running.Add(1)))
				defer running.Add(-1)
				if time.Sleep(time.Second); hangs.Load() {
					<-release
				}
				fmt.Fprint(w, "a widget")
			}),
		}})
		ask := func() (answered, refused int) {
			var all sync.WaitGroup
			var ok, not atomic.Int64
			for i := range 40 {
				all.Go(func() {
					resp := s.do(request{path: fmt.Sprintf("events?as=html&observe=1&topic=thread:%d", i)})
					defer resp.Body.Close()
					if resp.StatusCode == http.StatusOK {
						ok.Add(1)
					} else if resp.StatusCode == http.StatusServiceUnavailable {
						not.Add(1)
					}
				})
			}
			all.Wait()
			return int(ok.Load()), int(not.Load())
		}
		if ok, _ := ask(); ok != 40 || most.Load() != 16 {
			t.Errorf("got %d streams of 40 and %d widgets at once, want all and 16", ok, most.Load())
		}
		for i := range 40 { // or they would be in the cache
			s.tracker.Seen(presence.Topic(fmt.Sprint("thread:", i)), presence.User{ID: "bob"}, presence.Device{})
		}
		time.Sleep(5 * time.Second)
		hangs.Store(true)
		if _, refused := ask(); refused != 40 || most.Load() != 16 {
			t.Errorf("got %d of 40 refused and %d widgets at once, want all and 16", refused, most.Load())
		}
		if got := s.handler.Stats().Unrendered; got < 40 {
			t.Errorf("got %d counted, want 40 or more", got)
		}
		close(release)
		time.Sleep(10 * time.Second)
	})
}
