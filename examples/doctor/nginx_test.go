package main

import (
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
)

// nginxConf is an nginx that does what presence needs. The lines of a test come first in
// their block.
const nginxConf = `
user root;
worker_processes 1;
pid nginx.pid;
error_log stderr crit;
daemon off;
events { worker_connections 256; }
http {
  access_log off;
  client_body_temp_path tmp; proxy_temp_path tmp; fastcgi_temp_path tmp; uwsgi_temp_path tmp; scgi_temp_path tmp;
  map $http_upgrade $connection_upgrade { default upgrade; '' ''; }
  %s
  server {
    listen %s;
    location / {
      proxy_pass %s;
      proxy_http_version 1.1;
      proxy_set_header Host $http_host;
      %s
    }
  }
}
`

// passed are the headers that a proxy passes on; a test may leave some out.
const (
	upgrades  = "proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection $connection_upgrade; "
	addresses = "proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for; "
)

// nginx starts an nginx before a site, and returns its address.
func nginx(t *testing.T, site, http, location string) string {
	t.Helper()
	program := need.Nginx(t)
	dir := t.TempDir()
	addr := need.FreeAddr(t)
	conf := fmt.Sprintf(nginxConf, http, addr, site, location)
	if err := os.WriteFile(filepath.Join(dir, "nginx.conf"), []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	cmd := bound.To(exec.Command(program, "-p", dir, "-c", "nginx.conf"), syscall.SIGTERM) // which ends its worker
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("nginx: %v: %s", err, &said)
		}
	})
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if conn, err := net.Dial("tcp", addr); err == nil {
			conn.Close()
			return "http://" + addr
		}
		if time.Now().After(deadline) {
			t.Fatalf("nginx does not listen: %s", &said)
		}
	}
}
