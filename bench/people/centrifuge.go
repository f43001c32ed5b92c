package main

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/centrifugal/centrifuge"
)

// channels is centrifuge with a channel a person: a watcher is subscribed to those of its
// contacts when it connects, and told who is online. The site publishes who comes and goes.
type channels struct {
	node *centrifuge.Node
	l    net.Listener

	mu     sync.Mutex
	online map[int]string
}

// collectFor is the window of Rollcall's people, and so the time for which centrifuge may
// collect messages to one client.
const collectFor = 250 * time.Millisecond

func newCentrifuge() (crowdServer, error) {
	node, err := centrifuge.New(centrifuge.Config{LogLevel: centrifuge.LogLevelNone, ClientChannelLimit: 1000})
	if err != nil {
		return nil, err
	}
	s := &channels{node: node, online: make(map[int]string)}
	node.OnConnecting(s.connecting)
	if err := node.Run(); err != nil {
		return nil, err
	}
	if s.l, err = net.Listen("tcp4", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	server := http.Server{Handler: centrifuge.NewWebsocketHandler(node, centrifuge.WebsocketConfig{
		MessageSizeLimit: 1 << 20, PingPongConfig: centrifuge.PingPongConfig{PingInterval: -1, PongTimeout: -1},
	})}
	go server.Serve(s.l)
	return s, nil
}

func (s *channels) connecting(_ context.Context, e centrifuge.ConnectEvent) (r centrifuge.ConnectReply, err error) {
	var persons []string
	if err := json.Unmarshal(e.Data, &persons); err != nil {
		return r, err
	}
	r = centrifuge.ConnectReply{
		Credentials:        &centrifuge.Credentials{},
		Subscriptions:      make(map[string]centrifuge.SubscribeOptions),
		WriteDelay:         collectFor,
		MaxMessagesInFrame: -1,
	}
	var state []string
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range persons {
		r.Subscriptions[id] = centrifuge.SubscribeOptions{}
		if n, err := strconv.Atoi(id[1:]); err == nil && s.online[n] != "" {
			state = append(state, joined(n, s.online[n]))
		}
	}
	r.Data = []byte("[" + strings.Join(state, ",") + "]")
	return r, nil
}

func (s *channels) addr() string { return s.l.Addr().String() }

func (s *channels) change(person int, comes bool) error {
	at, text := "", left(person)
	if comes {
		at = stamp()
		text = joined(person, at)
	}
	s.mu.Lock()
	s.online[person] = at
	s.mu.Unlock()
	_, err := s.node.Publish(personID(person), []byte(text))
	return err
}

func (s *channels) read() (hundred, thousand time.Duration) { return 0, 0 }

func openCentrifuge(addr string, _ int, persons []int) (*watcher, error) {
	conn, _, err := dialWebSocket(addr, "/")
	if err != nil {
		return nil, err
	}
	return &watcher{conn, scanJSON}, say(conn, `{"id":1,"connect":{"data":[`+quoted(persons)+`]}}`)
}
