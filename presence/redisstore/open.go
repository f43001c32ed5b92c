package redisstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/presence"
)

// Open returns a Store at the address that an operator writes: see [OpenClient]. It connects to
// nothing yet. Close also closes its connections.
func Open(text string, cfg Config) (*Store, error) {
	client, err := OpenClient(text)
	if err != nil {
		return nil, err
	}
	s := New(client, cfg)
	s.ownsClient = true
	return s, nil
}

// OpenClient returns a client for an address that an operator writes: a redis://, rediss:// or unix:// URL, a
// bare host:port, or several network addresses separated by commas. Several addresses are seeds of a Redis
// Cluster; a single one followed by a comma is one, too. The parameters of the first apply to all. OpenClient
// does not connect yet. An error names what is wrong, and contains no password.
//
// A URL may set what [redis.ParseURL] knows, such as ?read_timeout=1s or &max_retries=1. Default: 1 s to
// connect, 2 s to read and to write.
//
// The client logs nothing while the server is out: the Tracker logs one line when the store goes out, and one
// when it is back. Other clients of go-redis log each dial that fails, some lines a second, to a logger of
// the whole process, which OpenClient does not change.
//
// A site that has a client of its own, or a Sentinel, passes its client to [New] instead. That client logs as
// usual: [redis.SetLogger] with a logger of the site's, such as logging.VoidLogger of go-redis, silences it.
func OpenClient(text string) (redis.UniversalClient, error) {
	if strings.Contains(text, ",") {
		return openCluster(text)
	}
	o, err := parseServer(text)
	if err != nil {
		return nil, err
	}
	o.ContextTimeoutEnabled = true
	o.PoolSize = cmp.Or(o.PoolSize, 2*maxCalls) // so that reads leave connections for writes
	defaults(&o.DialTimeout, &o.ReadTimeout, &o.WriteTimeout)
	o.Dialer = quiet(redis.NewDialer(o))
	return redis.NewClient(o), nil
}

func defaults(dial, read, write *time.Duration) {
	*dial = cmp.Or(*dial, time.Second)
	*read = cmp.Or(*read, 2*time.Second)
	*write = cmp.Or(*write, 2*time.Second)
}

func openCluster(text string) (redis.UniversalClient, error) {
	var o *redis.ClusterOptions
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		s, err := parseServer(part)
		switch {
		case err != nil:
			return nil, err
		case s.Network == "unix":
			return nil, fmt.Errorf("%q: a cluster is reached by addresses, not by a socket", s.Addr)
		case s.DB != 0:
			return nil, fmt.Errorf("%s: a cluster has no database but 0", s.Addr)
		case o != nil:
			o.Addrs = append(o.Addrs, s.Addr)
		default:
			if o, err = redis.ParseClusterURL(withScheme(part)); err != nil {
				return nil, unreadable(err)
			}
		}
		if s.Password != "" {
			o.Username, o.Password = s.Username, s.Password
		}
		if s.TLSConfig != nil {
			o.TLSConfig = s.TLSConfig
			o.TLSConfig.ServerName = "" // the name of each node is checked instead
		}
	}
	if o == nil {
		return nil, errors.New("there is no address")
	}
	o.ContextTimeoutEnabled = true
	o.PoolSize = cmp.Or(o.PoolSize, 2*maxCalls)
	defaults(&o.DialTimeout, &o.ReadTimeout, &o.WriteTimeout)
	o.Dialer = quiet(redis.NewDialer(&redis.Options{DialTimeout: o.DialTimeout, TLSConfig: o.TLSConfig}))
	return redis.NewClusterClient(o), nil
}

func withScheme(text string) string {
	if strings.Contains(text, "://") {
		return text
	}
	return "redis://" + text
}

// parseServer parses one server's URL or address. Its errors contain no password, even if the text is
// malformed: they repeat only a scheme, a host, a port of digits, or the path of a socket.
func parseServer(text string) (*redis.Options, error) {
	if !strings.Contains(text, "://") {
		if strings.Contains(text, "@") {
			return nil, errors.New("a password needs a URL: redis://user:password@host:port")
		}
		if _, _, err := net.SplitHostPort(text); err != nil {
			return nil, fmt.Errorf("%s is neither host:port nor a redis://, rediss:// or unix:// URL", address(text))
		}
		return &redis.Options{Addr: text}, validPort(text)
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, unreadable(err)
	case strings.Contains(u.Path+u.RawQuery+u.Fragment+u.Opaque, "@") && (u.Scheme != "unix" || u.User == nil),
		strings.Count(u.Host, ":") > 1 && !strings.HasPrefix(u.Host, "["):
		return nil, unreadable(errEscape)
	}
	o, err := redis.ParseURL(text)
	switch {
	case err != nil:
		return nil, unreadable(err)
	case o.Network == "unix":
		return o, nil
	}
	return o, validPort(o.Addr)
}

// address returns the part of a malformed host:port that may be shown. Text after a colon is shown only if it
// can be a port, because it may be a password.
func address(text string) string {
	host, port, ok := strings.Cut(text, ":")
	digits := strings.Trim(port, "0123456789") == ""
	switch {
	case !ok:
		return strconv.Quote(text)
	case digits && strings.Trim(host, hostBytes) == "":
		return strconv.Quote(text)
	}
	return "what stands there"
}

const hostBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_"

// validPort returns an error unless an address has a possible port. With an impossible one, the server would
// seem to be out for ever.
func validPort(addr string) error {
	_, port, err := net.SplitHostPort(addr)
	if n, e := strconv.ParseUint(port, 10, 16); err != nil || e != nil || n == 0 {
		return fmt.Errorf("%s: the port must be a number from 1 to 65535", address(addr))
	}
	return nil
}

var errEscape = errors.New("in a user name or password, write %40 for @, %2F for /, %3A for :, %3F for ?, %23 for #, %2C for a comma and %25 for %")

// unreadable returns the error for an invalid URL. An error of net/url repeats the text, or a part that may
// be of the password, so only its kind is used. Errors of go-redis repeat only what follows the host.
func unreadable(err error) error {
	var all *url.Error
	var escape url.EscapeError
	switch {
	case errors.As(err, &escape):
		err = fmt.Errorf("invalid URL escape: %w", errEscape)
	case errors.As(err, &all):
		err = errEscape
	}
	return fmt.Errorf("redis://… is not a redis://, rediss:// or unix:// URL that can be read: %w", err)
}

// go-redis logs each dial that fails: about three lines a second on standard error while the server is out.
// Its logger is one for the whole process, so a library must not replace it. Instead, dials of a client of
// Open never fail. If there is no server, the client gets a connection on which each read and write fails
// with the error of the dial. Commands then fail with the same error as they would otherwise.

type dialer = func(ctx context.Context, network, addr string) (net.Conn, error)

func quiet(dial dialer) dialer {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		if err != nil {
			pipe, _ := net.Pipe()
			return failedConn{pipe, err}, nil
		}
		return c, nil
	}
}

// A failedConn takes the place of a connection that could not be made. The pipe takes its deadlines.
type failedConn struct {
	net.Conn
	err error
}

func (c failedConn) Read([]byte) (int, error)  { return 0, c.err }
func (c failedConn) Write([]byte) (int, error) { return 0, c.err }

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
