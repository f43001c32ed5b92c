package chaos_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
	"github.com/rollcall-go/rollcall/internal/bound"
	"github.com/rollcall-go/rollcall/internal/need"
)

// TestRollingRestart: both forums behind nginx are deployed, one after the
// other, and nobody is seen to leave.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	f := newFleet(t, false, "-ttl", "30s", "-grace", "10s") // which is what a slow machine has to come back
	f.nodes = f.nodes[:2]
	f.front = startNginx(t, f.nodes[0].Addr, f.nodes[1].Addr)
	f.populate(20, 60)
	f.rest(t)
	for _, n := range f.nodes {
		n.Stop()
		n.Run()
		f.rest(t) // it compares the leaves with the departures: no user departed
	}
	resumed, states := 0, 0
	for _, r := range f.readers {
		r.mu.Lock()
		resumed += r.opened - 1
		states += r.states - 1
		r.mu.Unlock()
	}
	if resumed < len(f.readers) || states > 0 {
		t.Errorf("%d streams came back %d times, with %d states, want each once or twice, and diffs", len(f.readers), resumed, states)
	}
}

// startNginx starts nginx with the configuration of examples/cluster before two
// forums, and returns its address.
func startNginx(t *testing.T, first, second string) string {
	program := need.Nginx(t)
	dir, addr := t.TempDir(), need.FreeAddr(t)
	text, err := os.ReadFile("../../../cluster/nginx.conf")
	if err != nil {
		t.Fatal(err)
	}
	conf := strings.NewReplacer("forum1:8080", first, "forum2:8080", second, "listen 8080", "listen "+addr).Replace(string(text))
	if err := os.WriteFile(filepath.Join(dir, "nginx.conf"), []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "tmp"), 0o755); err != nil {
		t.Fatal(err)
	}
	nginx := bound.To(exec.Command(program, "-p", dir, "-c", "nginx.conf"), syscall.SIGTERM) // which ends its workers
	nginx.Stderr = os.Stderr
	if err := nginx.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = nginx.Process.Signal(os.Interrupt)
		_ = nginx.Wait()
	})
	for began := time.Now(); time.Since(began) < forumtest.Patience; time.Sleep(20 * time.Millisecond) {
		if conn, err := net.Dial("tcp", addr); err == nil {
			conn.Close()
			return addr
		}
	}
	t.Fatal("nginx does not listen")
	return ""
}
