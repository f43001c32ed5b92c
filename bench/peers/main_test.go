package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rollcall-go/rollcall/internal/need"
)

// The program starts itself again, and in a test that is the test's binary.
func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		if err := serveRole(context.Background(), role, os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, "peers:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// One failure is played whole: a node is killed, its users stay away, and the page is right in
// the end. How long that takes is not of interest here.
func TestQuick(t *testing.T) {
	need.Program(t, "redis", "redis-server")
	dir := t.TempDir()
	path := filepath.Join(dir, "results.json")
	var out strings.Builder
	if err := run(t.Context(), []string{"-quick", "-json", path, "-cache", dir}, &out); err != nil {
		t.Fatal(err)
	}
	r, err := loadResults(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Cells) != len(quickPeers) {
		t.Fatalf("got %d results, want one of each of %d peers", len(r.Cells), len(quickPeers))
	}
	for _, c := range r.Cells {
		if c.Error != "" {
			t.Errorf("%s: %s", c.Peer, c.Error)
			continue
		}
		t.Log(c.Peer, c.short())
		// The five users of the node were shown before, so for a while they are ghosts.
		if v := c.Page[0]; v.Right <= 0 || v.GhostSeconds <= 0 || v.Ghosts+v.Missing > 0 {
			t.Errorf("%s: got %+v, want a page that was wrong and is right", c.Peer, v)
		}
		if v := c.Roster[0]; v.Right < 0 {
			t.Errorf("%s: got the roster %+v, want one that is right", c.Peer, v)
		}
		if !strings.Contains(out.String(), c.Peer) {
			t.Errorf("%s is not in the tables:\n%s", c.Peer, &out)
		}
	}
}
