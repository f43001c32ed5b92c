package client_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/handlers/client"
	"github.com/rollcall-go/rollcall/internal/leak"
	"github.com/rollcall-go/rollcall/internal/pipes"
	"github.com/rollcall-go/rollcall/presence"
)

func TestMain(m *testing.M) { leak.VerifyTestMain(m) }

// A network in memory, so that time passes at once under testing/synctest. Its
// server may be replaced, or missing.
type network struct {
	t     *testing.T
	http  *http.Client
	stop  func()
	pipes *pipes.Network

	mu       sync.Mutex
	requests []string // what was asked, in order
}

func newNetwork(t *testing.T) *network {
	n := &network{t: t, pipes: pipes.New()}
	transport := &http.Transport{DialContext: n.dial, DisableCompression: true}
	n.http = &http.Client{Transport: transport}
	t.Cleanup(func() {
		if n.stop != nil {
			n.stop()
		}
		transport.CloseIdleConnections()
		time.Sleep(time.Second) // net/http closes some connections half a second late
	})
	return n
}

func (n *network) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	conn, err := n.pipes.Dial(ctx, network, addr)
	if err != nil {
		return nil, fmt.Errorf("nobody listens")
	}
	return conn, nil
}

// serve starts a server, and stop ends it with all its connections.
func (n *network) serve(handler http.Handler) {
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.mu.Lock()
		n.requests = append(n.requests, r.URL.RequestURI())
		n.mu.Unlock()
		handler.ServeHTTP(w, r)
	})}
	served := make(chan struct{})
	go func() {
		defer close(served)
		server.Serve(n.pipes.Listen())
	}()
	n.stop = sync.OnceFunc(func() {
		server.Close()
		<-served
	})
}

func (n *network) asked() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]string(nil), n.requests...)
}

// script is a server that answers the first request with the first text, and so
// on; after the last it answers 410. A text that ends in "…" stays open.
func script(texts ...string) http.Handler {
	var mu sync.Mutex
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if len(texts) == 0 {
			w.WriteHeader(http.StatusGone)
			return
		}
		text, open := strings.CutSuffix(texts[0], "…")
		texts = texts[1:]
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		for len(text) > 0 { // in pieces, wherever they break
			n := min(len(text), 1000)
			fmt.Fprint(w, text[:n])
			w.(http.Flusher).Flush()
			text = text[n:]
		}
		if open {
			mu.Unlock()
			<-r.Context().Done()
			mu.Lock()
		}
	})
}

// message is one event on the wire.
func message(kind, data string) string {
	return "event: " + kind + "\nid: x\ndata: " + data + "\n\n"
}

const (
	welcome  = "retry: 1000\nevent: welcome\ndata: {\"connection\":\"c\",\"heartbeat\":15,\"grace\":10}\n\n"
	stateOne = "event: state\nid: x.1\ndata: {\"topic\":\"site\",\"cursor\":\"x.1\",\"total\":1,\"guests\":2,\"recent\":3,\"users\":{\"alice\":{\"name\":\"Alice\",\"status\":\"online\",\"since\":\"2026-11-21T06:57:00Z\"}},\"truncated\":false}\n\n"
)

// diff is one in which a user joins.
func diff(prev, cursor, user string) string {
	return message("diff", `{"topic":"site","cursor":"`+cursor+`","prev":"`+prev+`","total":2,"joins":{"`+user+`":{"name":"`+strings.ToUpper(user)+`","status":"online","since":"2026-11-21T06:58:00Z"}},"leaves":{}}`)
}

// follow collects what Follow yields, as short words, until it ends.
func (n *network) follow(ctx context.Context, o client.Options, topics ...presence.Topic) (events []string, last error) {
	n.t.Helper()
	o.HTTP = n.http
	if topics == nil {
		topics = []presence.Topic{presence.Site}
	}
	for e, err := range client.Follow(ctx, "http://forum.test/presence", topics, o) {
		if err != nil {
			last = err
			continue
		}
		events = append(events, word(e))
	}
	return events, last
}

func word(e client.Event) string {
	switch e := e.(type) {
	case client.Welcome:
		return "welcome"
	case client.State:
		return fmt.Sprintf("state %s of %d", e.Cursor, e.Total)
	case client.Diff:
		text := "diff " + string(e.Cursor)
		for _, m := range e.Joins {
			text += " +" + string(m.ID)
		}
		for _, l := range e.Leaves {
			text += " -" + string(l.ID)
			if l.LastSeen.IsZero() {
				text += "?"
			}
		}
		return text
	case client.Count:
		return fmt.Sprintf("count %s of %d", e.Cursor, e.Total)
	case client.Heartbeat:
		return "heartbeat"
	case client.Lost:
		return fmt.Sprintf("lost (%v)", e.Err)
	}
	return fmt.Sprintf("%T", e)
}
