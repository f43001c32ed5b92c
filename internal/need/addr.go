package need

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
)

// The range of the ports of [FreeAddr]. Each port has two others beside it: one that claims it, and the bus
// of a cluster's node. All lie below the ports that systems use for outgoing connections (from 32768 on
// Linux), so that nothing takes one by chance.
const (
	firstPort   = 10_000
	ports       = 5_000
	claimOffset = 5_000
	busOffset   = 10_000 // Redis's own
)

// FreeAddr returns an address of 127.0.0.1 for a server that cannot listen on port 0, or that must return to
// its address. No other test of any process gets the address until this test ends: FreeAddr claims a port by
// listening on a second one.
func FreeAddr(t testing.TB) string {
	t.Helper()
	for range 1000 {
		port := firstPort + rand.IntN(ports)
		claim, err := listen(port + claimOffset)
		if err != nil {
			continue
		}
		if free(port) && free(port+busOffset) {
			t.Cleanup(func() { claim.Close() })
			return loopback(port)
		}
		claim.Close()
	}
	t.Fatalf("no port from %d to %d is free", firstPort, firstPort+ports)
	return ""
}

// free reports whether nobody listens on a port.
func free(port int) bool {
	l, err := listen(port)
	if err != nil {
		return false
	}
	l.Close()
	return true
}

func listen(port int) (net.Listener, error) { return net.Listen("tcp", loopback(port)) }

func loopback(port int) string { return fmt.Sprint("127.0.0.1:", port) }
