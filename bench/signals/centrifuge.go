package main

import (
	"context"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/centrifugal/centrifuge"
)

// channel is centrifuge with one channel: members are subscribed to it when they connect, and
// publish into it. Redis carries publications between nodes, without a history.
type channel struct{ l net.Listener }

func newCentrifuge(socket, name string, delay time.Duration) (chatServer, error) {
	node, err := centrifuge.New(centrifuge.Config{LogLevel: centrifuge.LogLevelNone, Name: name})
	if err != nil {
		return nil, err
	}
	shard, err := centrifuge.NewRedisShard(node, centrifuge.RedisShardConfig{Address: "unix://" + socket})
	if err != nil {
		return nil, err
	}
	broker, err := centrifuge.NewRedisBroker(node, centrifuge.RedisBrokerConfig{Shards: []*centrifuge.RedisShard{shard}})
	if err != nil {
		return nil, err
	}
	node.SetBroker(broker)
	node.OnConnecting(func(context.Context, centrifuge.ConnectEvent) (centrifuge.ConnectReply, error) {
		return centrifuge.ConnectReply{
			Credentials:        &centrifuge.Credentials{},
			Subscriptions:      map[string]centrifuge.SubscribeOptions{topic: {}},
			WriteDelay:         delay,
			MaxMessagesInFrame: -1,
		}, nil
	})
	node.OnConnect(func(client *centrifuge.Client) {
		client.OnPublish(func(_ centrifuge.PublishEvent, reply centrifuge.PublishCallback) {
			reply(centrifuge.PublishReply{}, nil)
		})
	})
	if err := node.Run(); err != nil {
		return nil, err
	}
	s := &channel{}
	if s.l, err = net.Listen("tcp4", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	server := http.Server{Handler: centrifuge.NewWebsocketHandler(node, centrifuge.WebsocketConfig{
		PingPongConfig: centrifuge.PingPongConfig{PingInterval: -1, PongTimeout: -1},
	})}
	go server.Serve(s.l)
	return s, nil
}

func (s *channel) addr() string { return s.l.Addr().String() }

func (s *channel) obey([]string) error { return nil }

func openCentrifuge(addr string, _ int) (s socket, rest []byte, err error) {
	if s, _, err = dialWebSocket(addr, "/"); err != nil {
		return s, nil, err
	}
	if err = s.say(`{"id":1,"connect":{}}`); err != nil {
		s.Close()
	}
	return s, nil, err
}

func sayCentrifuge(m *member, at time.Time) error {
	return m.socket.say(`{"id":` + strconv.Itoa(m.clock+1) + `,"publish":{"channel":"` + topic + `","data":` + word(m.n, at) + `}}`)
}
