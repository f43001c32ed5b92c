package peers

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/centrifugal/centrifuge"

	"github.com/rollcall-go/rollcall/bench/internal/diff"
)

var (
	centrifugeSSE = Peer{Name: "centrifuge SSE", Module: "github.com/centrifugal/centrifuge",
		Path: "/?cf_connect=%7B%22id%22%3A1%2C%22connect%22%3A%7B%7D%7D",
		New: func(o Options) (Server, error) {
			return newCentrifuge(o, func(n *centrifuge.Node) http.Handler {
				return centrifuge.NewSSEHandler(n, centrifuge.SSEConfig{PingPongConfig: quiet})
			})
		}}
	centrifugeWS = Peer{Name: "centrifuge WS", Module: "github.com/centrifugal/centrifuge", Path: "/", Framing: WebSocket,
		Hello: `{"id":1,"connect":{}}`,
		New: func(o Options) (Server, error) {
			return newCentrifuge(o, func(n *centrifuge.Node) http.Handler {
				return centrifuge.NewWebsocketHandler(n, centrifuge.WebsocketConfig{PingPongConfig: quiet})
			})
		}}
)

// quiet: the readers here answer no pings.
var quiet = centrifuge.PingPongConfig{PingInterval: -1, PongTimeout: -1}

type centrifugeServer struct {
	httpServer
	node *centrifuge.Node
	pad  string
}

func newCentrifuge(o Options, handler func(*centrifuge.Node) http.Handler) (Server, error) {
	node, err := centrifuge.New(centrifuge.Config{LogLevel: centrifuge.LogLevelNone})
	if err != nil {
		return nil, err
	}
	node.OnConnecting(func(context.Context, centrifuge.ConnectEvent) (centrifuge.ConnectReply, error) {
		return centrifuge.ConnectReply{
			Credentials:        &centrifuge.Credentials{},
			Subscriptions:      map[string]centrifuge.SubscribeOptions{"site": {}},
			WriteDelay:         o.Merge,
			MaxMessagesInFrame: -1,
		}, nil
	})
	s := &centrifugeServer{node: node, pad: strings.Repeat("x", o.Padding)}
	s.server.Handler = handler(node)
	return s, node.Run()
}

func (s *centrifugeServer) Publish(first, end int) {
	for n := first; n < end; n++ {
		s.node.Publish("site", diff.Append(nil, n, time.Now(), s.pad))
	}
}
