package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// rollcall is a site with people. A person who comes opens a connection of the tracker, and
// so is found, held and told as on any site. Nobody's settings hide anything.
type rollcall struct {
	tracker *track.Tracker
	l       net.Listener

	mu     sync.Mutex
	online map[int]*track.Connection
}

func newRollcall() (crowdServer, error) {
	tracker, err := track.New(memstore.New(), track.Config{
		Directory: presencetest.NewMemoryDirectory(), Grace: -1, Secret: []byte("sixteen bytes 01"),
	})
	if err != nil {
		return nil, err
	}
	h := handlers.New(tracker, handlers.Config{MaxConnectionsPerAddress: -1, MaxConnections: -1, MaxRate: -1})
	s := &rollcall{tracker: tracker, online: make(map[int]*track.Connection)}
	if s.l, err = net.Listen("tcp4", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	server := &http.Server{Handler: identify(h), ConnContext: handlers.ConnContext}
	go server.Serve(s.l)
	return s, nil
}

// identify is the site's login: who says user=x is x.
func identify(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := visitor(r.URL.Query().Get("user"), "")
		next.ServeHTTP(w, r.WithContext(presence.ContextWithVisitor(r.Context(), v)))
	})
}

func visitor(id, name string) presence.Visitor {
	return presence.Visitor{
		User:   presence.User{ID: presence.UserID(id), Name: name},
		Device: presence.Device{ID: "d", Kind: presence.Desktop, Label: "Firefox on Linux"},
	}
}

func (s *rollcall) addr() string { return s.l.Addr().String() }

// change lets a person come or go. Connect returns when the store knows of the person, so
// others are not kept waiting meanwhile.
func (s *rollcall) change(person int, comes bool) error {
	s.mu.Lock()
	c := s.online[person]
	delete(s.online, person)
	s.mu.Unlock()
	if c != nil {
		c.Close()
	}
	if comes {
		go s.come(person)
	}
	return nil
}

func (s *rollcall) come(person int) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	c, err := s.tracker.Connect(ctx, track.ConnectOptions{Visitor: visitor(personID(person), stamp()), Topics: []presence.Topic{presence.Site}})
	if err != nil {
		panic(err) // the memory store has no errors
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.online[person] = c
}

func (s *rollcall) isOnline(person int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.online[person] != nil
}

// read returns how long it takes to read people, at best: other processes use the machine.
func (s *rollcall) read() (hundred, thousand time.Duration) {
	took := func(n int) time.Duration {
		ids := make([]presence.UserID, n)
		for person := range ids {
			ids[person] = presence.UserID(personID(person))
			if !s.isOnline(person) {
				_ = s.change(person, true)
			}
		}
		time.Sleep(time.Second) // until the node has seen them
		best := time.Hour
		for range 200 {
			begin := time.Now()
			if _, err := s.tracker.People().Find(context.Background(), "w0", ids...); err != nil {
				return 0
			}
			best = min(best, time.Since(begin))
		}
		return best
	}
	return took(100), took(1000)
}

func collect() {
	runtime.GC()
	debug.FreeOSMemory()
}

func openRollcall(addr string, n int, persons []int) (*watcher, error) {
	conn, _, err := dialWebSocket(addr, fmt.Sprintf("/presence/ws?topic=people&user=w%d", n))
	if err != nil {
		return nil, err
	}
	return &watcher{conn, scanJSON}, say(conn, `{"type":"watch","users":[`+quoted(persons)+`]}`)
}
