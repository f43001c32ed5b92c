package browser_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
	"github.com/rollcall-go/rollcall/internal/bound"
	"github.com/rollcall-go/rollcall/internal/need"
)

// An upstream is where a relay leads: to the forum, or to a proxy before it.
type upstream struct{ network, addr string }

// direct leads to the forum itself.
func direct(_ *testing.T, f *forumtest.Forum) upstream {
	return upstream{"tcp", strings.TrimPrefix(f.URL, "http://")}
}

// nginxConf is what a site's nginx says, with and without buffering.
const nginxConf = `
user root;
worker_processes 1;
pid nginx.pid;
error_log stderr warn;
daemon off;
events { worker_connections 256; }
http {
  access_log off;
  client_body_temp_path tmp; proxy_temp_path tmp; fastcgi_temp_path tmp; uwsgi_temp_path tmp; scgi_temp_path tmp;
  map $http_upgrade $connection_upgrade { default upgrade; '' ''; }
  server {
    listen unix:%s;
    location / {
      proxy_pass %s;
      proxy_http_version 1.1;
      proxy_set_header Host $http_host;
      proxy_set_header Upgrade $http_upgrade;
      proxy_set_header Connection $connection_upgrade;
      proxy_buffering %s;
    }
  }
}
`

// behindNginx starts an nginx before a forum, on a socket of its own.
func behindNginx(buffering string) func(*testing.T, *forumtest.Forum) upstream {
	return func(t *testing.T, f *forumtest.Forum) upstream {
		t.Helper()
		nginx := need.Nginx(t)
		dir, err := os.MkdirTemp("", "nginx")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		socket := filepath.Join(dir, "s")
		conf := fmt.Sprintf(nginxConf, socket, f.URL, buffering)
		if err := os.WriteFile(filepath.Join(dir, "nginx.conf"), []byte(conf), 0o600); err != nil {
			t.Fatal(err)
		}
		var said strings.Builder
		cmd := bound.To(exec.Command(nginx, "-p", dir, "-c", "nginx.conf"), syscall.SIGTERM) // which ends its worker
		cmd.Stderr = &said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			cmd.Process.Signal(syscall.SIGTERM)
			if err := cmd.Wait(); err != nil {
				t.Errorf("nginx: %v: %s", err, &said)
			}
		})
		for deadline := time.Now().Add(forumtest.Patience); ; time.Sleep(10 * time.Millisecond) {
			if conn, err := net.Dial("unix", socket); err == nil {
				conn.Close()
				return upstream{"unix", socket}
			}
			if time.Now().After(deadline) {
				t.Fatalf("nginx does not listen: %s", &said)
			}
		}
	}
}

// A relay is a network that can fail: it passes bytes on to an upstream, until it
// is cut.
type relay struct {
	url string

	mu    sync.Mutex
	conns map[net.Conn]struct{}
	ended bool
}

func newRelay(t *testing.T, to upstream) *relay {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{url: "http://" + listener.Addr().String(), conns: make(map[net.Conn]struct{})}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			all.Go(func() { r.pass(conn, to) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		r.mu.Lock()
		r.ended = true
		r.mu.Unlock()
		r.cut()
		all.Wait()
	})
	return r
}

// pass carries one connection both ways.
func (r *relay) pass(near net.Conn, to upstream) {
	defer near.Close()
	far, err := new(net.Dialer).DialContext(context.Background(), to.network, to.addr)
	if err != nil {
		return
	}
	defer far.Close()
	r.mu.Lock()
	if r.ended {
		r.mu.Unlock()
		return
	}
	r.conns[near], r.conns[far] = struct{}{}, struct{}{}
	r.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { io.Copy(far, near); far.Close() })
	both.Go(func() { io.Copy(near, far); near.Close() })
	both.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.conns, near)
	delete(r.conns, far)
}

// cut breaks every connection there is.
func (r *relay) cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for conn := range r.conns {
		conn.Close()
	}
}
