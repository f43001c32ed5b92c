package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
)

// rollcall is a site with people. A person who comes opens a connection of the tracker, and
// so is found, held and told as on any site. Nobody's settings hide anything.
type rollcall struct {
	tracker *presence.Tracker
	l       net.Listener
	online  map[int]*presence.Connection
}

func newRollcall() (crowdServer, error) {
	tracker, err := presence.New(memstore.New(), presence.Config{
		Directory: presencetest.NewMemoryDirectory(), Grace: -1, Secret: []byte("sixteen bytes 01"),
	})
	if err != nil {
		return nil, err
	}
	h := handlers.New(tracker, handlers.Config{MaxConnectionsPerAddress: -1, MaxConnections: -1, MaxReads: -1})
	s := &rollcall{tracker: tracker, online: make(map[int]*presence.Connection)}
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

func (s *rollcall) change(person int, comes bool) error {
	if c := s.online[person]; c != nil {
		c.Close()
		delete(s.online, person)
	}
	if !comes {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	c, err := s.tracker.Connect(ctx, presence.ConnectOptions{Visitor: visitor(personID(person), stamp()), Topics: []presence.Topic{presence.Site}})
	s.online[person] = c
	return err
}

// read returns how long it takes to read people, at best: other processes use the machine.
func (s *rollcall) read() (hundred, thousand time.Duration) {
	took := func(n int) time.Duration {
		var ids []presence.UserID
		for person := range s.online {
			if len(ids) < n {
				ids = append(ids, presence.UserID(personID(person)))
			}
		}
		if len(ids) < n {
			return 0
		}
		best := time.Hour
		for range 200 {
			begin := time.Now()
			if _, err := s.tracker.People(context.Background(), "w0", ids...); err != nil {
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
