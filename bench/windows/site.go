package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/rollcall-go/rollcall/bench/internal/usage"
	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A Site is a site in a process of its own. Its methods are called over net/rpc.
type Site struct {
	store  backend.Store
	oldest int // of those online, who is the next to go
	newest int
}

// Listen makes the site with users online, and returns where it listens.
func (s *Site) Listen(online int, addr *string) error {
	s.store = memstore.New()
	tracker, err := track.New(s.store, track.Config{})
	if err != nil {
		return err
	}
	for range online {
		if err := s.come(); err != nil {
			return err
		}
	}
	live := handlers.New(tracker, handlers.Config{MaxConnectionsPerAddress: -1, MaxConnections: -1, MaxRate: -1})
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go http.Serve(l, live.Beats(live))
	*addr = l.Addr().String()
	return nil
}

func (s *Site) come() error {
	s.newest++
	return s.apply(backend.OpJoin, s.newest)
}

func (s *Site) apply(kind backend.OpKind, user int) error {
	op := backend.Op{
		Kind: kind, Holder: presence.Holder(fmt.Sprint("elsewhere.", user)), For: time.Hour,
		User: presence.User{ID: idOf(user), Name: fmt.Sprint("Somebody ", user), URL: fmt.Sprint("/users/u", user)},
	}
	if kind == backend.OpRelease {
		op.For = 0 // no grace
	}
	return s.store.Apply(context.Background(), []backend.Batch{{Topic: presence.Site, Ops: []backend.Op{op}}})[0].Err
}

func idOf(user int) presence.UserID { return presence.UserID(fmt.Sprint("u", user)) }

// A Churn is users who come, and as many who go, the longest there first.
type Churn struct {
	Changes int // a second
	For     time.Duration
}

// Churn lets users come and go, and returns what it cost.
func (s *Site) Churn(c Churn, cpu *time.Duration) error {
	before, err := usage.Now(false)
	if err != nil {
		return err
	}
	begin := time.Now()
	for i := range int(c.For.Seconds() * float64(c.Changes)) { // none at rest
		time.Sleep(time.Until(begin.Add(time.Duration(i) * time.Second / time.Duration(c.Changes))))
		if i%2 == 0 {
			err = s.come()
		} else {
			s.oldest++
			err = s.apply(backend.OpRelease, s.oldest)
		}
		if err != nil {
			return err
		}
	}
	time.Sleep(time.Until(begin.Add(c.For)))
	after, err := usage.Now(false)
	*cpu = after.CPU() - before.CPU()
	return err
}
