package main

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/centrifugal/centrifuge"
)

// centrifugeLibrary is the library that Centrifugo is made of, in a server of a site's own. It speaks the
// same protocol, so pages are those of Centrifugo.
var centrifugeLibrary = &peer{
	name: "centrifuge, the library", says: "v0.38.0 with its Redis broker and presence manager; subscriptions have `EmitPresence`, `EmitJoinLeave` and `PushJoinLeave`; its defaults, which are those of Centrifugo",
	year: "2025", needs: "Redis; part of a site in Go, 60 lines", slowest: 75 * time.Second, renewal: 27 * time.Second,
	missing: needsRedis,
	prepare: func(_ context.Context, in place) (fleet, error) {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		f := newCentrifugoFleet(in, centrifugoSite{})
		f.command = func(_ int, addr string) (*exec.Cmd, error) {
			cmd := exec.Command(self, addr, in.redis)
			cmd.Env = append(os.Environ(), roleVariable+"=centrifuge")
			return cmd, nil
		}
		return f, nil
	},
}

// serveCentrifuge is a node.
func serveCentrifuge(ctx context.Context, addr, redis string) error {
	node, err := centrifuge.New(centrifuge.Config{LogLevel: centrifuge.LogLevelError, Name: addr})
	if err != nil {
		return err
	}
	shard, err := centrifuge.NewRedisShard(node, centrifuge.RedisShardConfig{Address: redis})
	if err != nil {
		return err
	}
	shards := []*centrifuge.RedisShard{shard}
	broker, err := centrifuge.NewRedisBroker(node, centrifuge.RedisBrokerConfig{Shards: shards})
	if err != nil {
		return err
	}
	presence, err := centrifuge.NewRedisPresenceManager(node, centrifuge.RedisPresenceManagerConfig{Shards: shards})
	if err != nil {
		return err
	}
	node.SetBroker(broker)
	node.SetPresenceManager(presence)
	node.OnConnecting(func(_ context.Context, e centrifuge.ConnectEvent) (r centrifuge.ConnectReply, err error) {
		user, err := centrifugoUser(e.Token)
		r.Credentials = &centrifuge.Credentials{UserID: user}
		return r, err
	})
	node.OnConnect(func(client *centrifuge.Client) {
		client.OnSubscribe(func(_ centrifuge.SubscribeEvent, reply centrifuge.SubscribeCallback) {
			reply(centrifuge.SubscribeReply{Options: centrifuge.SubscribeOptions{
				EmitPresence: true, EmitJoinLeave: true, PushJoinLeave: true,
			}}, nil)
		})
		client.OnPresence(func(_ centrifuge.PresenceEvent, reply centrifuge.PresenceCallback) {
			reply(centrifuge.PresenceReply{}, nil)
		})
	})
	if err := node.Run(); err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/connection/websocket", centrifuge.NewWebsocketHandler(node, centrifuge.WebsocketConfig{}))
	mux.HandleFunc("/health", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/api/presence", func(w http.ResponseWriter, _ *http.Request) {
		there, err := node.Presence(centrifugoChannel)
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		users := map[string]map[string]string{}
		for client, info := range there.Presence {
			users[client] = map[string]string{"user": info.UserID}
		}
		json.NewEncoder(w).Encode(map[string]any{"result": map[string]any{"presence": users}})
	})
	server := &http.Server{Addr: addr, Handler: mux}
	defer context.AfterFunc(ctx, func() {
		ending, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		node.Shutdown(ending) // says goodbye to pages
		server.Shutdown(ending)
	})()
	return server.ListenAndServe()
}

// centrifugoUser returns the user of a token of centrifugoToken.
func centrifugoUser(token string) (string, error) {
	var claims struct{ Sub string }
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return "", centrifuge.DisconnectInvalidToken
	}
	text, err := base64URL(parts[1])
	if err == nil {
		err = json.Unmarshal(text, &claims)
	}
	if err != nil || centrifugoToken(claims.Sub) != token {
		return "", centrifuge.DisconnectInvalidToken
	}
	return claims.Sub, nil
}
