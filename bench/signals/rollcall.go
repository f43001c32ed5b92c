package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/redisstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// mergeWindow is the default of track.Config.MergeWindow.
const mergeWindow = 50 * time.Millisecond

// rollcall is a node of a site whose threads take "typing". Members are signed in.
type rollcall struct {
	store   backend.Store
	tracker *track.Tracker
	l       net.Listener
}

// newRollcall returns a node over Redis, or over the memory store where there is no socket.
func newRollcall(socket, name string) (chatServer, error) {
	s := &rollcall{store: memstore.New()}
	if socket != "" {
		s.store = redisstore.New(redis.NewClient(&redis.Options{Network: "unix", Addr: socket}), redisstore.Config{})
	}
	var err error
	if s.tracker, err = track.New(s.store, track.Config{Node: name, Grace: -1, Secret: []byte("sixteen bytes 01")}); err != nil {
		return nil, err
	}
	h := handlers.New(s.tracker, handlers.Config{
		MaxConnectionsPerAddress: -1, MaxConnections: -1, MaxRate: -1,
		Authorize: func(*http.Request, presence.Visitor, presence.Topic) bool { return true },
		Whispers: map[string]map[string]handlers.Whisper{"thread": {"typing": {
			Data: func(json.RawMessage) error { return nil },
		}}},
	})
	if s.l, err = net.Listen("tcp4", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	server := &http.Server{Handler: identify(h), ConnContext: handlers.ConnContext}
	go server.Serve(s.l)
	return s, nil
}

// identify is the site's login: who says user=m1 is m1.
func identify(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.URL.Query().Get("user")
		v := presence.Visitor{
			User:   presence.User{ID: presence.UserID(id), Name: "Member " + id[min(1, len(id)):]},
			Device: presence.Device{ID: "d", Kind: presence.Desktop, Label: "Firefox on Linux"},
		}
		next.ServeHTTP(w, r.WithContext(presence.ContextWithVisitor(r.Context(), v)))
	})
}

func (s *rollcall) addr() string { return s.l.Addr().String() }

// stranger is the number in a change's mark: no member has it.
const stranger = 99_999

// obey lets a stranger come ("J 12") or go ("L 12"), as another node of the fleet would write
// it, or sends a signal of the site in the name of a member ("S 12").
func (s *rollcall) obey(words []string) error {
	if len(words) != 2 {
		return fmt.Errorf("got %q", words)
	}
	n, err := strconv.Atoi(words[1])
	if err != nil {
		return err
	}
	now := time.Now()
	switch words[0] {
	case "S":
		data, err := json.Marshal(stamp(wordMark, now, n))
		if err != nil {
			return err
		}
		return s.tracker.Signal(topic, presence.Signal{Type: "typing", From: presence.UserID(memberID(n)), For: 6 * time.Second, Data: data})
	case "J", "L":
		id := strconv.Itoa(n)
		op := backend.Op{Kind: backend.OpDrop, User: presence.User{ID: presence.UserID("s" + id)}, Holder: presence.Holder("elsewhere." + id)}
		if words[0] == "J" {
			op.Kind, op.For, op.User.Name = backend.OpJoin, time.Hour, stamp(changeMark, now, stranger)
		}
		return s.store.Apply(context.Background(), []backend.Batch{{Topic: topic, Ops: []backend.Op{op}}})[0].Err
	}
	return errors.New("there is no order " + words[0])
}

func openRollcall(addr string, n int) (s socket, rest []byte, err error) {
	return dialWebSocket(addr, "/presence/ws?topic="+topic+"&limit=1&v=1&user="+memberID(n))
}

func sayRollcall(m *member, at time.Time) error {
	return m.socket.say(`{"type":"signal","topic":"` + topic + `","signal":"typing","for":6,"data":"` + stamp(wordMark, at, m.n) + `"}`)
}
