package redisstore_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/rollcall-go/rollcall/internal/redistest"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/redisstore"
)

// A URL that leads to no Redis is refused with the address and the likely cause, and without the
// password.
func TestWrongAddress(t *testing.T) {
	t.Parallel()
	server := redistest.StartTCP(t)
	other := listener(t, "127.0.0.1:0", func(c net.Conn) { c.Close() })
	postgres := listener(t, "127.0.0.7:5432", func(c net.Conn) { c.Close() })
	closed := listener(t, "127.0.0.1:0", nil)
	for url, want := range map[string]string{
		"redis://u:secret@" + closed:             closed + ": nothing listens there",
		"redis://:secret@" + other:               other + ": it hangs up, so it may not be Redis, or speak TLS",
		"redis://:secret@" + postgres:            "127.0.0.7:5432: 5432 is the port of PostgreSQL",
		"rediss://:secret@" + server.Addr:        server.Addr + ": it does not answer by TLS; the URL of a server without TLS begins with redis://",
		"redis://" + server.Addr + "/99":         "it has no database 99; most servers have 0 to 15",
		"redis://" + closed + "," + closed + ",": closed + "," + closed + ": nothing listens there",
	} {
		client, err := redisstore.OpenClient(url)
		noError(t, err)
		store := redisstore.New(client, redisstore.Config{})
		err = store.Check(context.Background())
		switch {
		case err == nil || !strings.Contains(err.Error(), want):
			t.Errorf("%s: got %v, want %q in it", url, err, want)
		case strings.Contains(err.Error(), "secret"):
			t.Errorf("%s: got %v, which tells the password", url, err)
		case errors.Is(err, presence.ErrStoreOut) == strings.HasSuffix(url, "/99"):
			t.Errorf("%s: got %v, want ErrStoreOut where a server may still come", url, err)
		}
		if _, err := store.Snapshot(context.Background(), presence.Site); err == nil || !strings.Contains(err.Error(), want) { // as the log of an outage says it
			t.Errorf("%s, without a check: got %v, want %q in it", url, err, want)
		}
		store.Close()
		client.Close()
	}
}

// listener returns an address at which each connection is served; with nil nothing listens there.
func listener(t *testing.T, addr string, serve func(net.Conn)) string {
	l, err := net.Listen("tcp", addr)
	noError(t, err)
	if serve == nil {
		l.Close()
		return l.Addr().String()
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			serve(c)
		}
	}()
	return l.Addr().String()
}

// A server that has answered before gets its address in the error, and no guess.
func TestAddressOfAnOutage(t *testing.T) {
	t.Parallel()
	server := redistest.StartTCP(t)
	client, err := redisstore.OpenClient(server.Addr)
	noError(t, err)
	defer client.Close()
	store := redisstore.New(client, redisstore.Config{})
	defer store.Close()
	noError(t, store.Check(context.Background()))
	server.Kill()
	_, err = store.Snapshot(context.Background(), presence.Site)
	_, err2 := store.Snapshot(context.Background(), presence.Site)
	for _, err := range []error{err, err2} {
		if err == nil || !strings.HasSuffix(err.Error(), ", at "+server.Addr) {
			t.Errorf("got %v, want one that ends with the address", err)
		}
	}
}
