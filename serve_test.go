package rollcall_test

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall"
	"github.com/rollcall-go/rollcall/presence/memstore"
)

// A server of the site's own answers beats before the site's handler sees them, and tells
// streams their connection beside what the site says of it. Close stops it.
func TestAttachedServer(t *testing.T) {
	site, log := newSite(t, rollcall.Config{})
	type key struct{}
	var paths []string
	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			paths = append(paths, r.URL.Path)
			if r.Context().Value(key{}) != "the site's" {
				t.Errorf("%s: the site's ConnContext is lost", r.URL.Path)
			}
			site.Wrap(http.NotFoundHandler()).ServeHTTP(w, r)
		}),
		ConnContext: func(ctx context.Context, _ net.Conn) context.Context {
			return context.WithValue(ctx, key{}, "the site's")
		},
	}
	site.Attach(server)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	stream := open(t, "http://"+l.Addr().String()+"/presence/events?beat=auto", "alice")
	c := connect(t, site, "bob")
	res, err := http.Post("http://"+l.Addr().String()+"/presence/beat", "application/json", strings.NewReader(`{"connection":"`+string(c.Token())+`"}`))
	if err != nil || res.StatusCode != http.StatusNoContent {
		t.Fatalf("got %v and %v, want a beat", res, err)
	}
	res.Body.Close()
	if err := site.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if got := string(stream()); !strings.Contains(got, "event: welcome") {
		t.Errorf("got the stream %q, want one that has begun, and ends", got)
	}
	select {
	case err := <-done:
		if err != http.ErrServerClosed {
			t.Errorf("got %v, want a server that Close has stopped", err)
		}
	case <-time.After(time.Minute):
		t.Error("the server goes on")
	}
	if got := strings.Join(paths, " "); got != "/presence/events" {
		t.Errorf("the site's handler saw %q, want the stream alone", got)
	}
	if strings.Contains(log.String(), "finding") {
		t.Errorf("got the log %q, want no finding", log)
	}
}

// A server without ConnContext or Handler of its own is attached too, and a client cannot hold its connections for ever.
func TestAttachedServerWithoutFields(t *testing.T) {
	site, _ := newSite(t, rollcall.Config{})
	server := new(http.Server)
	site.Attach(server)
	here, there := net.Pipe()
	defer here.Close()
	defer there.Close()
	if server.Handler == nil || server.ConnContext(t.Context(), here) == t.Context() {
		t.Errorf("got %v, want a server that has a handler and knows its connections", server)
	}
	if server.ReadHeaderTimeout != 10*time.Second || server.IdleTimeout != 2*time.Minute || server.ReadTimeout != 0 || server.WriteTimeout != 0 {
		t.Errorf("got %+v, want timeouts for headers and for idle connections alone", server)
	}
	for _, its := range []*http.Server{{ReadTimeout: time.Second}, {ReadHeaderTimeout: time.Second, IdleTimeout: -1}} {
		was := [2]time.Duration{its.ReadHeaderTimeout, its.IdleTimeout}
		site.Attach(its)
		if got := [2]time.Duration{its.ReadHeaderTimeout, its.IdleTimeout}; got != was {
			t.Errorf("got the timeouts %v, want %v, which the site has set", got, was)
		}
	}
}

// A variable of a store's own type that is nil is no store.
func TestNilStoreIsNone(t *testing.T) {
	var none *memstore.Store
	_, log := newSite(t, rollcall.Config{Store: none})
	if !strings.Contains(log.String(), "store=memory") {
		t.Errorf("got the log %q, want a site in memory", log)
	}
}
