package webhook_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/handlers/webhook"
	"github.com/rollcall-go/rollcall/internal/hooktest"
	"github.com/rollcall-go/rollcall/internal/need"
	"github.com/rollcall-go/rollcall/presence"
)

// Events are posted again until the answer is 2xx, for a day at most. A redirect is not
// followed, and an answer that does not come is none.
func TestRepeats(t *testing.T) {
	need.Slow(t, "a day of a fleet")
	for name, answer := range map[string]func(post) *http.Response{
		"500":      func(post) *http.Response { return status(500) },
		"404":      func(post) *http.Response { return status(404) },
		"redirect": func(post) *http.Response { return status(307, "Location", "https://example.net/") },
		"hangs":    func(post) *http.Response { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				r := &receiver{t: t, answer: answer}
				tracker := run(t, r, webhook.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
				began := time.Now()
				tracker.Seen(presence.Site, alice(), presence.Device{})
				length := 20 * time.Minute
				if name == "500" {
					length = 25 * time.Hour // seconds of real time
				}
				time.Sleep(length)
				posts := of(r.all(), "alice")
				var join []post
				for _, p := range posts {
					if p.Type == "presence.join" {
						join = append(join, p)
					}
				}
				slack := 11 * time.Second // of an answer that does not come
				late := time.Duration(0)
				for i, p := range join[1:] {
					wait, age := p.at.Sub(join[i].at), p.at.Sub(began)
					switch {
					case i == 0 && wait > 20*time.Second:
						t.Errorf("got a second post after %v, want it within 20s", wait)
					case age < 15*time.Minute && wait > time.Minute+slack:
						t.Errorf("got a wait of %v after %v, want at most a minute", wait, age)
					case wait < 2*time.Second:
						t.Errorf("got a wait of %v after %v", wait, age)
					}
					late = max(late, wait)
				}
				if n := len(join); n < 15 || n > 100 {
					t.Errorf("got %d posts", n)
				}
				if name != "500" {
					return
				}
				if late < 20*time.Minute || late > time.Hour+slack {
					t.Errorf("got waits of up to %v, want them to grow to an hour", late)
				}
				if last := join[len(join)-1].at.Sub(began); last > 24*time.Hour+time.Second || last < 22*time.Hour {
					t.Errorf("got the last post after %v, want it within a day", last)
				}
				got := tracker.Stats().Deliveries["webhook"]
				if got.Dropped != 2 || got.Backlog != 0 {
					t.Errorf("got %+v, want both dropped", got)
				}
				if strings.Contains(log.String(), "password") || strings.Contains(log.String(), hooktest.Secret[6:]) || !strings.Contains(log.String(), "webhook: the receiver failed") {
					t.Errorf("got a log without a word, or with secrets\n%.2000s", log.String())
				}
			})
		})
	}
}

// While an event of one user is repeated, later ones of that user wait, and those of others
// go on.
func TestOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &receiver{t: t}
		r.answer = func(p post) *http.Response {
			if p.Data.User.ID == "alice" && p.Type == "presence.join" && p.n < 3 {
				return status(503)
			}
			return status(200)
		}
		tracker := run(t, r, webhook.Config{})
		tracker.Seen(presence.Site, alice(), presence.Device{})
		time.Sleep(time.Second)
		if err := tracker.SignOut(t.Context(), "alice"); err != nil {
			t.Fatal(err)
		}
		tracker.Seen(presence.Site, presence.User{ID: "bob", Name: "Bob"}, presence.Device{})
		time.Sleep(time.Second)
		if got := of(r.all(), "bob"); len(got) != 1 {
			t.Errorf("got %+v, want bob's join at once", got)
		}
		time.Sleep(2 * time.Minute)
		var types []string
		for _, p := range of(r.all(), "alice") {
			types = append(types, strings.TrimPrefix(p.Type, "presence."))
		}
		if got := fmt.Sprint(types); got != "[join join join join leave]" {
			t.Errorf("got %s, want the leave after the join was taken", got)
		}
	})
}

func TestRetryAfter(t *testing.T) {
	need.Slow(t, "hours of a fleet")
	for header, want := range map[string]time.Duration{
		"120": 2 * time.Minute, "999999": time.Hour, "-5": 5 * time.Second, "nonsense": 5 * time.Second, "0": 5 * time.Second,
		"date": 3 * time.Minute,
	} {
		t.Run(header, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &receiver{t: t}
				r.answer = func(p post) *http.Response {
					if p.n > 0 {
						return status(200)
					}
					if header == "date" {
						return status(429, "Retry-After", time.Now().Add(3*time.Minute).UTC().Format(http.TimeFormat))
					}
					return status(429, "Retry-After", header)
				}
				tracker := run(t, r, webhook.Config{})
				time.Sleep(500*time.Millisecond - time.Duration(time.Now().Nanosecond())) // dates have whole seconds
				tracker.Seen(presence.Site, alice(), presence.Device{})
				time.Sleep(2 * time.Hour)
				posts := of(r.all(), "alice")
				if wait := posts[1].at.Sub(posts[0].at); wait < want*3/4-time.Second || wait > want+time.Second {
					t.Errorf("got a wait of %v, want about %v", wait, want)
				}
			})
		})
	}
}

// Also where many events wait, each is posted again within 20 s, and then at least once a
// minute.
func TestRepeatsMany(t *testing.T) {
	for _, tt := range []struct {
		name   string
		users  int
		answer func() *http.Response // returns nil: it hangs
	}{
		{"refuses", 300, func() *http.Response { return status(500) }},
		{"hangs", 8, func() *http.Response { return nil }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &receiver{t: t, answer: func(post) *http.Response { return tt.answer() }}
				tracker := run(t, r, webhook.Config{})
				for i := range tt.users {
					tracker.Seen(presence.Site, presence.User{ID: presence.UserID(fmt.Sprint("u", i))}, presence.Device{})
				}
				time.Sleep(4 * time.Minute)
				last := make(map[string]post)
				for _, p := range r.all() {
					wait, most := p.at.Sub(last[p.id].at), 61*time.Second
					if p.n == 1 {
						most = 20 * time.Second
					}
					if p.n > 0 && wait > most {
						t.Fatalf("%s: got post %d after %v, want at most %v", p.Data.User.ID, p.n+1, wait, most)
					}
					last[p.id] = p
				}
				if len(last) != tt.users {
					t.Errorf("got posts of %d events, want %d", len(last), tt.users)
				}
			})
		})
	}
}

// An answer is read up to a bound.
func TestLongAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var read int
		r := &receiver{t: t}
		r.answer = func(post) *http.Response {
			res := status(200)
			res.Body = io.NopCloser(readerFunc(func(p []byte) (int, error) { read += len(p); return len(p), nil }))
			return res
		}
		tracker := run(t, r, webhook.Config{})
		tracker.Seen(presence.Site, alice(), presence.Device{})
		time.Sleep(time.Second)
		r.all()
		if read == 0 || read > 200<<10 || tracker.Stats().Deliveries["webhook"].Told != 1 {
			t.Errorf("got %d bytes read, want at most 200 KiB, and the event told", read)
		}
	})
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
