package redistest

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/rollcall-go/rollcall/internal/need"
)

// SentinelMaster is what the Sentinel calls its master.
const SentinelMaster = "main"

// StartSentinel starts a Sentinel that watches over a master which listens on an
// address, and promotes a replica half a second after it is gone.
func StartSentinel(t testing.TB, master *Server) *Server {
	t.Helper()
	s := newServer(t, Program())
	s.Addr = need.FreeAddr(t)
	_, port, _ := net.SplitHostPort(s.Addr)
	host, watched, _ := net.SplitHostPort(master.Addr)
	file := filepath.Join(s.dir, "sentinel.conf")
	config := fmt.Sprintf("bind 127.0.0.1\nport %s\ndir %s\nsentinel monitor %s %s %s 1\nsentinel down-after-milliseconds %[3]s 500\nsentinel failover-timeout %[3]s 3000\n",
		port, s.dir, SentinelMaster, host, watched)
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	s.args = []string{file, "--sentinel"}
	s.Run()
	return s
}
