package templates_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
	"github.com/rollcall-go/rollcall/templates"
)

// A signalSite is a site with a thread and a post to edit, over real handlers.
type signalSite struct {
	*testing.T
	url      string
	tracker  *track.Tracker
	revision atomic.Int64
	posted   atomic.Int32 // signals that pages have sent
	app      atomic.Value // the build of the pages
}

const editGrace = 300 * time.Millisecond

const (
	threadView = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Thread</title>{{presenceHead}}</head><body><main><h1>Thread</h1><p id="above">The thread.</p>
<form id="reply" action="/save" method="post">{{typing "thread:1"}}<p id="below"><label>Reply <textarea name="text"></textarea></label> <button>Send</button></p></form></main></body></html>`
	editView = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Edit</title>{{presenceHead}}</head><body><main><h1>Edit</h1>{{editors "edit:1:3" "revision" .}}
<form action="/save" method="post"><label>Text <textarea name="text"></textarea></label> <button>Save</button></form></main><script src="/watch.js"></script></body></html>`
)

func newSignalSite(t *testing.T, config track.Config) *signalSite {
	t.Helper()
	s := &signalSite{T: t}
	s.revision.Store(1)
	s.app.Store("")
	config.Grace, config.Logger = editGrace, slog.New(slog.DiscardHandler)
	tracker, err := track.New(memstore.New(), config)
	noError(t, err)
	s.tracker = tracker
	widgets := func(view string) *templates.Widgets {
		return newWidgets(t, parse(view), tracker, templates.Config{App: "1"})
	}
	thread, edit := widgets(threadView), widgets(editView)
	mux := http.NewServeMux()
	page := func(of *templates.Widgets) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			of.Execute(w, "page", int(s.revision.Load()), r)
		}
	}
	mux.HandleFunc("GET /as", func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "who", Value: r.URL.Query().Get("who"), Path: "/"})
		io.WriteString(w, "<!doctype html><title>Hello</title>")
	})
	mux.HandleFunc("GET /favicon.ico", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /watch.js", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		io.WriteString(w, watchScript)
	})
	mux.HandleFunc("GET /thread", page(thread))
	mux.HandleFunc("GET /edit", page(edit))
	mux.HandleFunc("GET /away", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "<!doctype html><title>Away</title>") })
	mux.HandleFunc("POST /save", func(w http.ResponseWriter, r *http.Request) {
		s.save(strings.ToUpper(visitorOf(r).User.Name))
		http.Redirect(w, r, "/thread", http.StatusSeeOther)
	})
	h := handlers.New(tracker, handlers.Config{
		Widget: thread.Handler(), App: "1",
		Whispers:  map[string]map[string]handlers.Whisper{"thread": {"typing": {}}},
		Authorize: func(_ *http.Request, v presence.Visitor, _ presence.Topic) bool { return true },
	})
	mux.HandleFunc("/presence/signal", func(w http.ResponseWriter, r *http.Request) {
		s.posted.Add(1)
		h.ServeHTTP(w, r)
	})
	mux.Handle("/presence/", h)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mux.ServeHTTP(w, r.WithContext(presence.ContextWithVisitor(r.Context(), visitorOf(r))))
	}))
	s.url = server.URL
	sweeping, end := context.WithCancel(context.Background())
	swept := make(chan struct{})
	go func() {
		defer close(swept)
		for tick := time.NewTicker(100 * time.Millisecond); ; {
			select {
			case <-sweeping.Done():
				tick.Stop()
				return
			case <-tick.C:
				tracker.Sweep(sweeping)
			}
		}
	}()
	t.Cleanup(func() {
		end()
		<-swept
		tracker.Close(context.Background()) // ends the streams
		server.CloseClientConnections()
		server.Close()
	})
	return s
}

func visitorOf(r *http.Request) (v presence.Visitor) {
	if c, err := r.Cookie("who"); err == nil {
		v.User = presence.User{ID: presence.UserID(c.Value), Name: strings.ToUpper(c.Value[:1]) + c.Value[1:]}
	}
	return v
}

// save stores a newer version, and says so.
func (s *signalSite) save(name string) {
	data, _ := json.Marshal(map[string]any{"revision": s.revision.Add(1), "name": name})
	if err := s.tracker.Signal("edit:1:3", presence.Signal{Type: "saved", Data: data}); err != nil {
		s.Error(err)
	}
}

// visitor opens a tab of a browser of its own, signed in.
func (s *signalSite) visitor(who string) *browser {
	s.Helper()
	b := newBrowser(s.T)
	b.do(chromedp.Navigate(s.url + "/as?who=" + who))
	return b
}

func (s *signalSite) open(b *browser, path string) {
	s.Helper()
	b.do(chromedp.Navigate(s.url + path))
	if path != "/away" {
		b.until(`document.querySelector("presence-part").dataset.live ?? "on"`, "on")
	}
}

// offline takes the network from the tab, or gives it back.
func (b *browser) offline(is bool) {
	b.Helper()
	all := []*network.Conditions{{Offline: is, DownloadThroughput: -1, UploadThroughput: -1}}
	if _, err := chromedp.Call(b.ctx, network.EmulateNetworkConditionsByRule, network.EmulateNetworkConditionsByRuleParams{MatchedNetworkConditions: all}); err != nil {
		b.Fatal(err)
	}
	if _, err := chromedp.Call(b.ctx, network.OverrideNetworkState, network.OverrideNetworkStateParams{Offline: is, DownloadThroughput: -1, UploadThroughput: -1}); err != nil {
		b.Fatal(err)
	}
}
