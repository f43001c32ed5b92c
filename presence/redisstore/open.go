package redisstore

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Open returns a client for what an operator writes: a redis://, rediss:// or
// unix:// URL, a bare host:port, or several of the network kind with commas
// between them, which are seeds of a Redis Cluster (a comma after a single one
// makes it a cluster of which one seed is known). It connects to nothing yet.
//
// A site that has a client of its own passes that to [New] instead.
func Open(text string) (redis.UniversalClient, error) {
	if strings.Contains(text, ",") {
		return openCluster(text)
	}
	o, err := parseServer(text)
	if err != nil {
		return nil, err
	}
	o.ContextTimeoutEnabled = true
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout = dialTimeout, ioTimeout, ioTimeout
	return redis.NewClient(o), nil
}

const (
	dialTimeout = time.Second
	ioTimeout   = 2 * time.Second
)

func openCluster(text string) (redis.UniversalClient, error) {
	o := &redis.ClusterOptions{
		ContextTimeoutEnabled: true,
		DialTimeout:           dialTimeout,
		ReadTimeout:           ioTimeout,
		WriteTimeout:          ioTimeout,
	}
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		s, err := parseServer(part)
		if err != nil {
			return nil, err
		}
		if s.Network == "unix" {
			return nil, fmt.Errorf("%q: a cluster is reached by addresses, not by a socket", part)
		}
		o.Addrs = append(o.Addrs, s.Addr)
		if s.Password != "" {
			o.Username, o.Password = s.Username, s.Password
		}
		if s.TLSConfig != nil {
			o.TLSConfig = s.TLSConfig
			o.TLSConfig.ServerName = "" // each node is asked for its own
		}
	}
	if len(o.Addrs) == 0 {
		return nil, errors.New("there is no address")
	}
	return redis.NewClusterClient(o), nil
}

// parseServer reads one server's URL or address. Its errors hold no password.
func parseServer(text string) (*redis.Options, error) {
	if !strings.Contains(text, "://") {
		if _, _, err := net.SplitHostPort(text); err != nil {
			return nil, fmt.Errorf("%q is neither host:port nor a redis://, rediss:// or unix:// URL", text)
		}
		return &redis.Options{Addr: text}, nil
	}
	o, err := redis.ParseURL(text)
	if err != nil {
		shown := text
		if u, e := url.Parse(text); e == nil {
			shown = u.Redacted()
		} else {
			shown, _, _ = strings.Cut(text, "://")
			shown += "://…"
		}
		return nil, fmt.Errorf("%s is not a redis://, rediss:// or unix:// URL that can be read: %w", shown, unwrapURL(err))
	}
	return o, nil
}

// unwrapURL leaves out the URL that net/url's errors repeat.
func unwrapURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
