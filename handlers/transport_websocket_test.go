package handlers_test

import (
	"bufio"
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gobwas/ws"
	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
)

// Frames of every length are what they say.
func TestSocketFrame(t *testing.T) {
	for _, n := range []int{0, 40, 80, 1<<16 - 50, 1 << 20} {
		for low := range 40 {
			data := bytes.Repeat([]byte("7"), n+low)
			source := &wsSource{t: t, from: bufio.NewReader(bytes.NewReader(handlers.SocketFrame("diff", "x.1", data)))}
			op, payload, err := source.frame()
			want := `{"event":"diff","id":"x.1","data":` + string(data) + `}`
			if op != ws.OpText || string(payload) != want || err != nil || source.from.Buffered() > 0 {
				t.Fatalf("%d bytes: got kind %d, %d bytes, %v, and %d left, want one text of %d", n+low, op, len(payload), err, source.from.Buffered(), len(want))
			}
		}
	}
}

func TestSocketSubprotocol(t *testing.T) {
	onSite(t, setup{}, func(t *testing.T, s *site) {
		for asked, want := range map[string]string{
			"": "", "presence.v1": "presence.v1", "other, presence.v1": "presence.v1", "other": "", "presence.v9": "", "presence.v1,": "presence.v1", "@,;": "",
		} {
			c := s.talk(request{path: "ws", header: map[string]string{"Sec-WebSocket-Protocol": asked}})
			if got := c.resp.Header.Get("Sec-WebSocket-Protocol"); got != want {
				t.Errorf("asked for %q: got subprotocol %q, want %q", asked, got, want)
			}
			if got := c.resp.Header.Get("Sec-WebSocket-Extensions"); got != "" {
				t.Errorf("got extensions %q, want none", got)
			}
			c.started(1)
		}
	})
}

// The answer to an upgrade has the headers that middleware has set, without those that
// would break it.
func TestSocketKeepsHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, setup{wrap: func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				http.SetCookie(w, &http.Cookie{Name: "a", Value: "1"})
				http.SetCookie(w, &http.Cookie{Name: "b", Value: "2"})
				w.Header().Set("X-Request-Id", "r7")
				w.Header().Set("Content-Type", "text/html")
				w.Header().Set("Content-Encoding", "gzip")
				w.Header().Set("Connection", "close")
				w.Header().Set("Sec-WebSocket-Extensions", "permessage-deflate")
				next.ServeHTTP(w, r)
			})
		}})
		header := s.talk(request{path: "ws", header: map[string]string{"Sec-WebSocket-Protocol": "presence.v1"}}).started(1).resp.Header
		want := http.Header{
			"Set-Cookie": {"a=1", "b=2"}, "X-Request-Id": {"r7"}, "Connection": {"Upgrade"}, "Upgrade": {"websocket"},
			"Sec-Websocket-Accept": {handshakeAccept}, "Sec-Websocket-Protocol": {"presence.v1"},
		}
		if fmt.Sprint(header) != fmt.Sprint(want) {
			t.Errorf("got  %v\nwant %v", header, want)
		}
	})
}

// A request that is no valid handshake gets an ordinary answer. No user is recorded.
func TestSocketRefused(t *testing.T) {
	with := func(header, value string) request {
		h := maps.Clone(handshake)
		h[header] = value
		return request{path: "ws", user: "alice", header: h}
	}
	on := func(path string) request { return request{path: path, user: "alice", header: handshake} }
	long := strings.Repeat("t", presence.MaxTopicLen+1)
	for _, tt := range []struct {
		request
		status int
		header string // that comes with the answer
	}{
		{request{path: "ws", user: "alice"}, 426, "Upgrade"},
		{with("Connection", "keep-alive"), 426, "Upgrade"},
		{with("Connection", ""), 426, "Upgrade"},
		{with("Upgrade", "h2c"), 426, "Upgrade"},
		{with("Upgrade", "websockets"), 426, "Upgrade"},
		{with("Sec-WebSocket-Version", "8"), 426, "Sec-WebSocket-Version"},
		{with("Sec-WebSocket-Version", ""), 426, "Sec-WebSocket-Version"},
		{with("Sec-WebSocket-Key", ""), 400, ""},
		{with("Sec-WebSocket-Key", "short"), 400, ""},
		{with("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==dGhlIHNhbXBsZSBub25jZQ=="), 400, ""},
		{with("Sec-WebSocket-Key", "!!!!!!!!!!!!!!!!!!!!!!=="), 400, ""},
		{with("Origin", "https://evil.test"), 403, ""},
		{with("Origin", "null"), 403, ""},
		{with("Sec-Fetch-Site", "cross-site"), 403, ""},
		{with("Sec-Fetch-Site", "same-site"), 403, ""},
		{on("ws?topic="), 400, ""},
		{on("ws?topic=" + long), 400, ""},
		{on("ws?topic=../x"), 400, ""},
		{on("ws?limit=1001"), 400, ""},
		{on("ws?observe=perhaps"), 400, ""},
		{on("ws?" + manyParams("topic=t%d", 17)), 400, ""},
		{on("ws?topic=site&topic=staff"), 403, ""},
		{request{method: "HEAD", path: "ws", header: handshake}, 405, "Allow"},
		{request{method: "POST", path: "ws", header: handshake}, 405, "Allow"},
	} {
		onSite(t, setup{}, func(t *testing.T, s *site) {
			resp, body := s.fetch(tt.request)
			wantProblem(t, resp, body, tt.status)
			if tt.header != "" && resp.Header.Get(tt.header) == "" {
				t.Errorf("got no %s", tt.header)
			}
			if got := s.names("site"); got != "" {
				t.Errorf("got %q online, want nobody", got)
			}
			if t.Failed() {
				t.Logf("so answered %s %.80s %v", tt.method, tt.path, tt.request.header)
			}
		})
	}
}

func TestSocketOfTrustedOrigin(t *testing.T) {
	onSite(t, setup{}, func(t *testing.T, s *site) {
		s.talk(request{path: "ws", header: map[string]string{"Origin": "http://forum.test"}}).started(1)
		s.talk(request{path: "ws", header: map[string]string{"Origin": "https://forum.test", "Sec-Fetch-Site": "same-origin", "Connection": "keep-alive, upgrade"}}).started(1)
	})
}

func TestSocketBehindMiddleware(t *testing.T) {
	ignore := func(echo.Context, []byte, []byte) {}
	for name, wrap := range map[string]func(http.Handler) http.Handler{
		"gzip and body dump": behindEcho(middleware.Gzip(), middleware.BodyDump(ignore), middleware.Secure()),
	} {
		bubble(t, name, func(t *testing.T) {
			s := newSite(t, setup{wrap: wrap})
			c := s.talk(request{path: "ws", user: "alice", header: map[string]string{"Accept-Encoding": "gzip"}})
			c.started(1).quiet(time.Minute)
			c.say(`{"type":"status","status":"away"}`)
			c.want("diff")
		})
	}
}
