package redisstore

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Open returns a client for what an operator writes: a redis://, rediss:// or
// unix:// URL, a bare host:port, or several of the network kind with commas
// between them, which are seeds of a Redis Cluster (a comma after a single one
// makes it a cluster of which one seed is known; the parameters of the first hold
// for all). It connects to nothing yet. An error names what is wrong, and no
// password.
//
// A URL may set what [redis.ParseURL] knows, such as ?read_timeout=1s or
// &max_retries=1. Default: 1 s to connect, 2 s to read and to write.
//
// A site that has a client of its own, or a Sentinel, passes its client to [New]
// instead.
func Open(text string) (redis.UniversalClient, error) {
	if strings.Contains(text, ",") {
		return openCluster(text)
	}
	o, err := parseServer(text)
	if err != nil {
		return nil, err
	}
	o.ContextTimeoutEnabled = true
	defaults(&o.DialTimeout, &o.ReadTimeout, &o.WriteTimeout)
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
			return nil, fmt.Errorf("%q: a cluster is reached by addresses, not by a socket", part)
		case s.DB != 0:
			return nil, fmt.Errorf("%s: a cluster has no database but 0", s.Addr)
		case o != nil:
			o.Addrs = append(o.Addrs, s.Addr)
		default:
			if o, err = redis.ParseClusterURL(withScheme(part)); err != nil {
				return nil, unreadable(part, err)
			}
		}
		if s.Password != "" {
			o.Username, o.Password = s.Username, s.Password
		}
		if s.TLSConfig != nil {
			o.TLSConfig = s.TLSConfig
			o.TLSConfig.ServerName = "" // each node is asked for its own
		}
	}
	if o == nil {
		return nil, errors.New("there is no address")
	}
	o.ContextTimeoutEnabled = true
	defaults(&o.DialTimeout, &o.ReadTimeout, &o.WriteTimeout)
	return redis.NewClusterClient(o), nil
}

func withScheme(text string) string {
	if strings.Contains(text, "://") {
		return text
	}
	return "redis://" + text
}

// parseServer reads one server's URL or address. Its errors hold no password.
func parseServer(text string) (*redis.Options, error) {
	if !strings.Contains(text, "://") {
		if _, _, err := net.SplitHostPort(text); err != nil {
			return nil, fmt.Errorf("%q is neither host:port nor a redis://, rediss:// or unix:// URL", text)
		}
		return &redis.Options{Addr: text}, validPort(text)
	}
	o, err := redis.ParseURL(text)
	if err != nil {
		return nil, unreadable(text, err)
	}
	if o.Network == "unix" {
		return o, nil
	}
	return o, validPort(o.Addr)
}

// validPort returns an error unless an address has a port that can be: one that
// cannot would look like a server that is out, for ever.
func validPort(addr string) error {
	_, port, err := net.SplitHostPort(addr)
	if n, e := strconv.ParseUint(port, 10, 16); err != nil || e != nil || n == 0 {
		return fmt.Errorf("%q: the port must be a number from 1 to 65535", addr)
	}
	return nil
}

// unreadable is the error for a URL, which it names without its password.
func unreadable(text string, err error) error {
	shown, _, _ := strings.Cut(text, "://")
	shown += "://…"
	if u, e := url.Parse(text); e == nil {
		shown = u.Redacted()
	}
	var repeats *url.Error // the whole URL
	if errors.As(err, &repeats) {
		err = repeats.Err
	}
	return fmt.Errorf("%s is not a redis://, rediss:// or unix:// URL that can be read: %w", shown, err)
}
