package redisstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/presence"
)

// An endpoint describes where a store's server is, for error messages. It contains no password.
type endpoint struct {
	addr    string // empty: unknown
	tls     bool
	db      int
	reached *atomic.Bool // it has answered a call
}

func endpointOf(client redis.UniversalClient) endpoint {
	switch c := client.(type) {
	case *redis.Client:
		if o := c.Options(); o.Addr != "FailoverClient" {
			return endpoint{o.Addr, o.TLSConfig != nil, o.DB, new(atomic.Bool)}
		}
	case *redis.ClusterClient:
		return endpoint{strings.Join(c.Options().Addrs, ","), c.Options().TLSConfig != nil, 0, new(atomic.Bool)}
	}
	return endpoint{reached: new(atomic.Bool)}
}

// explain adds to an error where the server is, and the likely cause if the server has never answered.
func (e endpoint) explain(err error) error {
	if e.addr == "" || !errors.Is(err, presence.ErrStoreOut) {
		return err
	}
	if cause := e.likely(err); cause != "" && !e.reached.Load() {
		return fmt.Errorf("%w, at %s: %s", err, e.addr, cause)
	}
	return fmt.Errorf("%w, at %s", err, e.addr)
}

// likely returns why a server may never have answered; "" if the error says enough.
func (e endpoint) likely(err error) string {
	_, port, _ := net.SplitHostPort(e.addr)
	timeout, hungUp := isTimeout(err), errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET)
	switch {
	case strings.Contains(err.Error(), noDatabase):
		return fmt.Sprintf("it has no database %d; most servers have 0 to 15", e.db)
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing listens there"
	case port == "5432" && (timeout || hungUp):
		return "5432 is the port of PostgreSQL; that of Redis is 6379"
	case e.tls && (timeout || hungUp || strings.Contains(err.Error(), "tls: ")):
		return "it does not answer by TLS; the URL of a server without TLS begins with redis://"
	case hungUp:
		return "it hangs up, so it may not be Redis, or speak TLS: then its URL begins with rediss://"
	}
	return ""
}

// noDatabase is the answer of a server that has no database with the number.
const noDatabase = "DB index is out of range"

func isTimeout(err error) bool {
	var t net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &t) && t.Timeout()
}
