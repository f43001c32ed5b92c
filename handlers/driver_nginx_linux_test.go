package handlers_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/internal/bound"
	"github.com/rollcall-go/rollcall/internal/need"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A client that vanishes behind nginx, as nginx comes and as docs/operations.md says, is gone within the
// TTL, while nginx still holds both connections.
func TestVanishedBehindNginx(t *testing.T) {
	const ttl = 3 * time.Second
	const asItComes, addresses = "", "proxy_http_version 1.1; proxy_set_header Connection ''; proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;"
	const upgrades = "proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection upgrade;"
	for _, tt := range []struct {
		name, location string
		over           transport
		beat           string
	}{
		{"as it comes", asItComes, overSSE, `"beat":1.333,`},
		{"with addresses", addresses, overSSE, `"beat":1.333,`},
		{"WebSocket", upgrades, overSocket, `"beat":0,`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newTCPSite(t, setup{presence: track.Config{TTL: ttl, Grace: time.Minute}})
			s.sweeps()
			addr := need.FreeAddr(t)
			startNginx(t, addr, s.address(), tt.location)
			s.dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, "tcp", addr)
			}
			p := s.peer(tt.over, request{path: "beat=auto", user: "alice"}).mute()
			p.until(tt.beat)
			if got := s.names("site"); got != "alice" {
				t.Errorf("got %q online, want alice", got)
			}
			p.deafen()
			if got := s.goneAfter(); got < ttl/3 {
				t.Errorf("gone after %v, want a TTL of %v", got, ttl)
			}
		})
	}
}

// startNginx starts an nginx at an address before a site.
func startNginx(t *testing.T, addr, site, location string) {
	t.Helper()
	program, dir := need.Nginx(t), t.TempDir()
	conf := fmt.Sprintf(`
user root;
worker_processes 1;
pid nginx.pid;
error_log stderr crit;
daemon off;
events { worker_connections 64; }
http {
  access_log off;
  client_body_temp_path tmp; proxy_temp_path tmp; fastcgi_temp_path tmp; uwsgi_temp_path tmp; scgi_temp_path tmp;
  server { listen %s; location / { proxy_pass http://%s; %s } }
}
`, addr, site, location)
	noError(t, os.WriteFile(filepath.Join(dir, "nginx.conf"), []byte(conf), 0o600))
	var said strings.Builder
	cmd := bound.To(exec.Command(program, "-p", dir, "-c", "nginx.conf"), syscall.SIGTERM) // which ends its worker
	cmd.Stderr = &said
	noError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("nginx: %v: %s", err, &said)
		}
	})
	eventually(t, "nginx listens", func() bool {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
}
