package worldstest

import (
	"context"
	"fmt"
	"html/template"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/handlers/webhook"
	"github.com/rollcall-go/rollcall/internal/pipes"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/track"
	"github.com/rollcall-go/rollcall/templates"
)

// A world is a site of some nodes, and what everybody but bob got there.
type world struct {
	t         *testing.T
	directory presence.Directory // nil: none
	nodes     []*node
	running   sync.WaitGroup
	stop      context.CancelFunc

	mu      sync.Mutex
	records map[string]*strings.Builder // of streams and receivers, by name
	answers []string
}

// A node is one process of the site.
type node struct {
	tracker *track.Tracker
	handler *handlers.Handler
	pages   *templates.Widgets
	server  *http.Server
	client  *http.Client
}

// step is how far the moments of one user's leaves are apart at most. Each topic is told by itself, and a busy machine may do something
// else in between.
const step = 100 * time.Millisecond

// graceTime is how long a user stays who closed the last tab.
const graceTime = 200 * time.Millisecond

// parts are what the page of a site shows.
var parts = template.Must(template.New("page").Funcs(templates.Funcs()).Parse(
	`{{whosOnline "site"}}{{whosOnline "thread:1"}}{{recentlyActive "site"}}{{where}}{{mostOnline "site"}}{{onlineCount "thread:1"}}` +
		`{{isOnline "bob"}}{{lastSeen "bob"}}{{onlineDot "bob"}}`))

// newWorld starts a site with a node for each store.
func newWorld(t *testing.T, directory presence.Directory, stores ...backend.Store) *world {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	w := &world{t: t, directory: directory, stop: stop, records: make(map[string]*strings.Builder)}
	for i, store := range stores {
		w.start(ctx, fmt.Sprint("n", i), store)
	}
	w.running.Go(func() { w.deliver(ctx) })
	return w
}

func (w *world) start(ctx context.Context, name string, store backend.Store) {
	tracker, err := track.New(store, track.Config{
		Node: name, Directory: w.directory, Grace: graceTime, Logger: slog.New(slog.DiscardHandler),
		Kinds: map[string]presence.Kind{"site": {Recent: 100, Peak: true, ForgetSignedOut: true}, "thread": {Recent: 100}},
	})
	noError(w.t, err)
	n := &node{tracker: tracker}
	n.handler = handlers.New(tracker, handlers.Config{
		Authorize:  func(*http.Request, presence.Visitor, presence.Topic) bool { return true },
		EndSession: func(context.Context, presence.UserID, presence.DeviceID) error { return nil },
		MaxRate:    -1, MaxStreamAge: -1,
	})
	n.pages, err = templates.New(parts, tracker, templates.Config{
		Authorize: func(*http.Request, presence.Visitor, presence.Topic) bool { return true },
	})
	noError(w.t, err)
	network := pipes.New()
	n.server = &http.Server{Handler: identify(n.handler)}
	n.client = &http.Client{Transport: &http.Transport{DialContext: network.Dial, DisableCompression: true}}
	listener := network.Listen()
	w.running.Go(func() { _ = n.server.Serve(listener) })
	w.running.Go(func() {
		for ctx.Err() == nil {
			time.Sleep(100 * time.Millisecond)
			_, _ = tracker.Sweep(ctx)
		}
	})
	w.nodes = append(w.nodes, n)
}

// close ends the world.
func (w *world) close() {
	w.stop()
	for _, n := range w.nodes {
		if err := n.tracker.Close(context.Background()); err != nil {
			w.t.Error(err)
		}
		n.server.Close()
		n.client.CloseIdleConnections()
		if err := n.handler.Wait(context.Background()); err != nil {
			w.t.Error(err)
		}
	}
	w.running.Wait()
	time.Sleep(time.Second) // net/http closes some connections half a second late
}

// deliver records what a receiver of webhooks gets.
func (w *world) deliver(ctx context.Context) {
	sender, err := webhook.New(webhook.Config{URL: "http://receiver.test/", Transport: receiver{w}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		w.t.Error(err)
		return
	}
	_ = sender.Run(ctx, w.nodes[0].tracker, "webhook", "site", "thread:1")
}

type receiver struct{ *world }

func (r receiver) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	r.write("webhooks of "+topicIn.FindString(string(body)), string(body)+"\n")
	return &http.Response{StatusCode: http.StatusNoContent, Body: http.NoBody, Request: req}, nil
}

// identify is the site's login: the header User says who asks.
func identify(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(presence.ContextWithVisitor(r.Context(), visitor(r.Header.Get("User"), r.Header.Get("Device")))))
	})
}

func visitor(user, device string) presence.Visitor {
	if user == "" {
		return presence.Visitor{}
	}
	return presence.Visitor{User: presence.User{ID: presence.UserID(user), Name: strings.ToUpper(user)}, Device: on(device)}
}

func on(device string) presence.Device {
	return presence.Device{ID: presence.DeviceID(device), Kind: presence.Desktop, Label: "Firefox on Linux"}
}

// do sends a request of a user to a node. The caller closes the answer's body.
func (w *world) do(ctx context.Context, n int, user, device, method, path, body string) *http.Response {
	w.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, "http://site.test/presence/"+path, strings.NewReader(body))
	noError(w.t, err)
	r.Header.Set("User", user)
	r.Header.Set("Device", device)
	resp, err := w.nodes[n].client.Do(r)
	noError(w.t, err)
	return resp
}

// A tab is an open stream.
type tab struct{ close func() }

// open opens a stream, and records what it writes under a name, unless that is empty.
func (w *world) open(n int, user, device, path, name string) tab {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	resp := w.do(ctx, n, user, device, http.MethodGet, path, "")
	if resp.StatusCode != http.StatusOK {
		w.t.Fatalf("%s: got status %d", path, resp.StatusCode)
	}
	w.running.Go(func() {
		b := make([]byte, 4<<10)
		for {
			n, err := resp.Body.Read(b)
			if name != "" {
				w.write(name, string(b[:n]))
			}
			if err != nil {
				return
			}
		}
	})
	return tab{func() {
		cancel()
		resp.Body.Close()
	}}
}

func (w *world) write(name, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.records[name] == nil {
		w.records[name] = new(strings.Builder)
	}
	w.records[name].WriteString(text)
}

// await waits until a record has a text so often.
func (w *world) await(name, text string, times int) {
	w.t.Helper()
	w.until(fmt.Sprintf("%s has %s %d times", name, text, times), func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		b := w.records[name]
		return b != nil && strings.Count(b.String(), text) >= times
	})
}

// until waits until something is so.
func (w *world) until(what string, is func() bool) {
	w.t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatalf("a minute later it is not so: %s", what)
		}
	}
}

// ask records what everybody may ask of each node.
func (w *world) ask(when string) {
	w.t.Helper()
	time.Sleep(2500 * time.Millisecond) // pages remember recent users and places for two seconds
	paths := []string{"where", "counts?topic=site&topic=thread:1"}
	for _, topic := range []string{"site", "thread:1"} {
		for _, path := range []string{"roster?x", "users?id=bob&id=carol&id=nobody", "recent?within=24h", "recent?within=24h&limit=1", "recent?within=age", "poll?observe=1&wait=1"} {
			paths = append(paths, path+"&topic="+topic)
		}
	}
	if w.directory != nil {
		paths = append(paths, "people?id=bob&id=carol&id=nobody", "people?detail=1&id=bob&id=carol&id=nobody&id=eve", "poll?topic=people&person=bob&person=carol&wait=1", "settings")
	}
	for n := range w.nodes {
		for _, user := range []string{"alice", "friend", ""} {
			for _, path := range paths {
				resp := w.do(context.Background(), n, user, "d", http.MethodGet, path, "")
				body, err := io.ReadAll(resp.Body)
				noError(w.t, err)
				resp.Body.Close()
				for _, random := range []string{"Date", "Etag", "Content-Length"} {
					resp.Header.Del(random)
				}
				w.answers = append(w.answers, fmt.Sprintf("%s: %q asks node %d for %s\n%d %v\n%s\n", when, user, n, path, resp.StatusCode, resp.Header, body))
			}
			w.answers = append(w.answers, fmt.Sprintf("%s: %q sees a page of node %d\n%s\n", when, user, n, w.page(n, user)))
		}
	}
}

// page renders a page of the site.
func (w *world) page(n int, user string) string {
	w.t.Helper()
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r = r.WithContext(presence.ContextWithVisitor(r.Context(), visitor(user, "d")))
	var b strings.Builder
	for range 5 {
		b.Reset()
		noError(w.t, w.nodes[n].pages.Execute(&b, "page", nil, r))
		// A page waits 50 ms at most for last seen and for recent visitors, and on a busy machine it may go
		// without. Then no page waits again for a second.
		if !strings.Contains(b.String(), `title=""></last-seen>`) && !strings.Contains(b.String(), `<p class="presence-unknown">`) {
			break
		}
		time.Sleep(1100 * time.Millisecond)
	}
	return b.String()
}

// choose has bob choose a status.
func (w *world) choose(n int, status presence.Status) {
	w.t.Helper()
	resp := w.do(context.Background(), n, "bob", "d", http.MethodPut, "status", fmt.Sprintf(`{"status":%q}`, status))
	resp.Body.Close()
	if resp.StatusCode != http.StatusNoContent {
		w.t.Fatalf("got status %d for %s", resp.StatusCode, url.QueryEscape(string(status)))
	}
}

func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
