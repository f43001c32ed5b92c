package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/rollcall-go/rollcall/bench/internal/child"
)

func TestMain(m *testing.M) {
	if role := child.Role(); role != "" {
		if err := play(role, nil, os.Stdout); err != nil {
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// TestQuick plays one row briefly: all kinds of pages get something, and one that nobody sees the least.
func TestQuick(t *testing.T) {
	var out bytes.Buffer
	if err := play("", []string{"-quick"}, &out); err != nil {
		t.Fatal(err)
	}
	if rows := strings.Count(out.String(), "\n| 500 | 32 |"); rows != 1 {
		t.Errorf("got %d rows, want one:\n%s", rows, out.String())
	}
}
