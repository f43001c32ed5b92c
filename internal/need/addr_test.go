package need_test

import (
	"net"
	"testing"

	"github.com/rollcall-go/rollcall/internal/need"
)

// Nobody gets an address that somebody has, although nobody listens on it yet.
func TestFreeAddr(t *testing.T) {
	given := make(map[string]bool)
	for range 300 {
		addr := need.FreeAddr(t)
		if given[addr] {
			t.Errorf("%s was given twice", addr)
		}
		given[addr] = true
	}
	for addr := range given {
		l, err := net.Listen("tcp", addr)
		if err != nil {
			t.Errorf("%s: %v", addr, err)
			continue
		}
		l.Close()
	}
}
