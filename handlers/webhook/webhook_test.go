package webhook_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"math"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/handlers/webhook"
	"github.com/rollcall-go/rollcall/internal/hooktest"
	"github.com/rollcall-go/rollcall/internal/leak"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
	"github.com/rollcall-go/rollcall/presence/track/tracktest"
)

func TestMain(m *testing.M) { leak.VerifyTestMain(m) }

// A receiver takes posts in the place of a network.
type receiver struct {
	t      *testing.T
	answer func(post) *http.Response // nil: 204

	mu    sync.Mutex
	posts []post
	under int // posts under way
	most  int // at a time
}

// A post is one that came.
type post struct {
	at   time.Time
	id   string
	body string
	Type string
	Data struct {
		Topic    string
		User     struct{ ID, Name string }
		Since    time.Time
		LastSeen time.Time `json:"last_seen"`
		Seconds  float64
	}
	n int // of this id
}

func (r *receiver) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	if err := hooktest.Verify(req.Header, body); err != nil {
		r.t.Errorf("got a post that cannot be verified: %v", err)
	}
	p := post{at: time.Now(), id: req.Header.Get("webhook-id"), body: string(body)}
	if err := json.Unmarshal(body, &p); err != nil || req.Method != http.MethodPost || req.Header.Get("Content-Type") != "application/json" {
		r.t.Errorf("got %s of %s with %v, want a POST of JSON", req.Method, body, req.Header)
	}
	r.mu.Lock()
	for _, earlier := range r.posts {
		if earlier.id == p.id {
			p.n++
			if earlier.body != p.body {
				r.t.Errorf("got %s and then %s, want the same body", earlier.body, p.body)
			}
		}
	}
	r.posts = append(r.posts, p)
	answer := r.answer
	r.under++
	r.most = max(r.most, r.under)
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.under--
	}()
	res := status(http.StatusNoContent)
	if answer != nil {
		res = answer(p)
	}
	if res == nil { // it hangs
		<-req.Context().Done()
		return nil, req.Context().Err()
	}
	return res, nil
}

// all returns the posts so far.
func (r *receiver) all() []post {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]post(nil), r.posts...)
}

// of returns the posts about a user.
func of(posts []post, user string) (some []post) {
	for _, p := range posts {
		if p.Data.User.ID == user {
			some = append(some, p)
		}
	}
	return some
}

func status(code int, header ...string) *http.Response {
	res := &http.Response{StatusCode: code, Header: make(http.Header), Body: io.NopCloser(strings.NewReader("body"))}
	for i := 0; i+1 < len(header); i += 2 {
		res.Header.Set(header[i], header[i+1])
	}
	return res
}

// run posts to a receiver until the test ends. It returns once the consumer leads.
func run(t *testing.T, r *receiver, cfg webhook.Config) *track.Tracker {
	t.Helper()
	return runOn(t, tracktest.Site(t), r, cfg)
}

// runOn is run for a site of the test's own.
func runOn(t *testing.T, tracker *track.Tracker, r *receiver, cfg webhook.Config) *track.Tracker {
	t.Helper()
	cfg.URL, cfg.Secret, cfg.Transport = "https://user:password@example.org/hook", hooktest.Secret, r
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	sender, err := webhook.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := sender.Run(ctx, tracker, "webhook", presence.Site); !errors.Is(err, context.Canceled) && !errors.Is(err, presence.ErrClosed) {
			t.Errorf("Run: got %v", err)
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	time.Sleep(6 * time.Second)
	return tracker
}

func alice() presence.User { return presence.User{ID: "alice", Name: "Alice"} }

func TestPosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &receiver{t: t}
		tracker := run(t, r, webhook.Config{})
		began := time.Now()
		tracker.Seen(presence.Site, alice(), presence.Device{})
		time.Sleep(312 * time.Second / 4)
		if err := tracker.SignOut(t.Context(), "alice"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		posts := r.all()
		if len(posts) != 2 || posts[0].Type != "presence.join" || posts[1].Type != "presence.leave" {
			t.Fatalf("got %+v, want a join and a leave", posts)
		}
		for _, p := range posts {
			if p.Data.Topic != "site" || p.Data.User.ID != "alice" || p.Data.User.Name != "Alice" || p.Data.Since.Sub(began).Abs() > time.Second {
				t.Errorf("got %s, want alice since %v", p.body, began)
			}
		}
		if join := posts[0].body; strings.Contains(join, "last_seen") || strings.Contains(join, "seconds") {
			t.Errorf("got %s, want a join without the fields of a leave", join)
		}
		if left := posts[1].Data; math.Abs(left.Seconds-78) > 0.1 || math.Abs(left.LastSeen.Sub(left.Since).Seconds()-left.Seconds) > 0.01 {
			t.Errorf("got %s, want 78 seconds", posts[1].body)
		}
		if posts[0].id == posts[1].id {
			t.Error("got the same id twice")
		}
	})
}

// The leave of a user who hides last seen has neither the moment nor the seconds.
func TestLeaveWithoutLastSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		directory := presencetest.NewMemoryDirectory()
		directory.Choose("alice", presence.Settings{Seen: presence.Nobody})
		r := &receiver{t: t}
		tracker := runOn(t, tracktest.SiteWithConfig(t, track.Config{Directory: directory}), r, webhook.Config{})
		tracker.Seen(presence.Site, alice(), presence.Device{})
		time.Sleep(time.Minute)
		if err := tracker.SignOut(t.Context(), "alice"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		posts := r.all()
		if len(posts) != 2 || posts[1].Type != "presence.leave" || posts[1].Data.User.ID != "alice" || posts[1].Data.Since.IsZero() {
			t.Fatalf("got %+v, want a join and a leave of alice", posts)
		}
		if left := posts[1].body; strings.Contains(left, "last_seen") || strings.Contains(left, "seconds") {
			t.Errorf("got %s, want no last_seen and no seconds", left)
		}
	})
}

// The seconds of a short visit are those between the moments beside them.
func TestShortVisit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &receiver{t: t}
		tracker := run(t, r, webhook.Config{})
		for _, offset := range []time.Duration{900 * time.Microsecond, 0, 0} { // 0.9, 1.1 and 1.3 ms past a second
			time.Sleep(time.Second + offset)
			tracker.Seen(presence.Site, alice(), presence.Device{})
			time.Sleep(20*time.Millisecond + 200*time.Microsecond)
			tracker.Seen(presence.Site, alice(), presence.Device{})
			if err := tracker.SignOut(t.Context(), "alice"); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Second)
		left := 0
		for _, p := range r.all() {
			if p.Type != "presence.leave" {
				continue
			}
			left++
			if want := p.Data.LastSeen.Sub(p.Data.Since).Seconds(); math.Abs(p.Data.Seconds-want) > 0.01*want {
				t.Errorf("got %s, want %v seconds", p.body, want)
			}
		}
		if left != 3 {
			t.Errorf("got %d leaves, want 3", left)
		}
	})
}

// Without a secret of its own a Sender signs by one that the fleet shares.
func TestFleetSecret(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := tracktest.Site(t, alice())
		signatures := make(chan string, 1)
		sender, err := webhook.New(webhook.Config{URL: "http://localhost/", Transport: transport(func(req *http.Request) *http.Response {
			signatures <- req.Header.Get("webhook-signature")
			return status(200)
		})})
		if err != nil {
			t.Fatal(err)
		}
		go sender.Run(t.Context(), tracker, "webhook", presence.Site)
		time.Sleep(6 * time.Second)
		if got := <-signatures; !strings.HasPrefix(got, "v1,") || len(got) < 40 {
			t.Errorf("got signature %q", got)
		}
	})
}

type transport func(*http.Request) *http.Response

func (f transport) RoundTrip(req *http.Request) (*http.Response, error) { return f(req), nil }

func TestNewRefuses(t *testing.T) {
	for _, bad := range []string{"", "example.org", "ftp://example.org", "http://", "https://:80/", "http://a b/", "/hook", "mailto:a@b", "http://localhost:99999/", "http://localhost:0/"} {
		if _, err := webhook.New(webhook.Config{URL: bad}); !errors.Is(err, webhook.ErrInvalidURL) {
			t.Errorf("URL %q: got %v, want ErrInvalidURL", bad, err)
		}
	}
	for _, bad := range []string{"secret", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_", "whsec_!!!", "whsec_c2hvcnQ=", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS"} {
		_, err := webhook.New(webhook.Config{URL: "http://localhost", Secret: bad})
		if !errors.Is(err, webhook.ErrInvalidSecret) || len(bad) > 8 && strings.Contains(err.Error(), bad[6:]) {
			t.Errorf("secret %q: got %v, want ErrInvalidSecret without the secret", bad, err)
		}
	}
}
