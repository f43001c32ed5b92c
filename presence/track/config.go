package track

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/internal/memory"
	"github.com/rollcall-go/rollcall/presence"
)

// Config configures a [Tracker]: its times, bounds and parts. The zero value is usable; each field's comment
// states its default.
type Config struct {
	// Node names this process in the fleet; it is part of every connection's
	// id. 1-64 bytes of A-Z a-z 0-9 _ -. Default: random.
	Node string

	// Secret signs what pages and browsers carry around: connection tokens, and what
	// [Tracker.Sign] is given. 16 to 64 bytes, the same on every node. Default: a
	// random one that the store keeps for the fleet.
	Secret []byte

	// Prefix is the path under which the site mounts the endpoints. The packages
	// middleware, handlers and templates take it from here, so they cannot differ.
	// "/" is the root. Default: "/presence".
	Prefix string

	TTL time.Duration // a lease not renewed for this long is gone. Default: 45 s
	// NodeTTL is how long this process may be silent before the other nodes consider it dead and its users
	// leave. A NodeTTL above TTL counts as TTL. Default: 10 s.
	NodeTTL time.Duration
	Grace   time.Duration // a user stays this long after a connection closed. Default: 10 s; negative: not at all
	Age     time.Duration // the current set becomes the old one this often, and a page view holds this long. Default: 5 min

	// MergeWindow is the least time between two frames of a topic: changes within it
	// become one diff. The first after a quiet moment goes out at once. Raise it if one topic
	// has many changes and so many readers that a node cannot write to all of them: with
	// 250 ms a reader gets at most four frames a second.
	// Default: 50 ms; negative: every diff is a frame.
	MergeWindow time.Duration

	// MaxTopics is how many topics this node keeps current at once. A topic is kept while somebody here looks
	// at it, and for a minute after that. Further topics are refused with [presence.ErrTooManyTopicsHere]
	// until one is idle. If the metric presence_topics comes close to it, raise it as far as the memory
	// allows. While more than half of the topics are taken, connections from one address
	// ([ConnectOptions].From) cannot take more than a sixteenth, and a tenant not more than a quarter.
	// Default: as many as fit into an eighth of the memory that this process may use, at 8 KiB each, and
	// 10,000 at least.
	MaxTopics int

	MaxTopicsPerConnection int // Default: 16
	MaxConnectionsPerUser  int // on this node. Default: 32; negative: any number
	MaxRoster              int // users online over which a topic sends counts and no diffs, until it is 10 % below. Default: 10,000; negative: none
	LogSize                int // diffs kept a topic for readers who come back. Default: 1,024

	// Kinds has settings by the kind of topic: "thread" is for all topics thread:….
	// Default: all topics have the same settings.
	Kinds map[string]presence.Kind

	// LastSeenKeep is how long a topic remembers when users were last seen, for the 100,000 users who were
	// seen last. A Directory remembers it of all users. Default: 30 days.
	LastSeenKeep time.Duration

	// Directory is the site's lasting knowledge of people. With it users have devices, settings, contacts,
	// and a last seen that lasts. The topic "people" then has the users whom a visitor watches.
	// Default: none; these features do not exist, and cost nothing.
	Directory presence.Directory

	// Logger takes the few lines that somebody can act on, each with the attribute node.
	// Default: slog.Default().
	Logger *slog.Logger
}

// The length of Config.Secret, in bytes.
const (
	minSecretLen = 16
	maxSecretLen = 64
)

// topicsByMemory returns how many topics a node may keep if the process may use so many bytes; 0: unknown. A
// topic with one reader takes up to 8 KiB (TestTenThousandTenants).
func topicsByMemory(bytes int64) int {
	return int(min(max(bytes/8/(8<<10), 10_000), 1_000_000))
}

func (c Config) withDefaults() Config {
	c.Node = cmp.Or(c.Node, strings.ToLower(rand.Text()[:8]))
	c.Prefix = strings.TrimSuffix(path.Clean("/"+cmp.Or(c.Prefix, "/presence")), "/")
	c.TTL = cmp.Or(c.TTL, 45*time.Second)
	c.NodeTTL = min(cmp.Or(c.NodeTTL, 10*time.Second), c.TTL)
	c.Grace = cmp.Or(c.Grace, 10*time.Second)
	c.Age = cmp.Or(c.Age, 5*time.Minute)
	c.MergeWindow = cmp.Or(c.MergeWindow, 50*time.Millisecond)
	c.MaxTopics = cmp.Or(c.MaxTopics, topicsByMemory(memory.Limit()))
	c.MaxTopicsPerConnection = cmp.Or(c.MaxTopicsPerConnection, 16)
	c.MaxConnectionsPerUser = cmp.Or(c.MaxConnectionsPerUser, 32)
	c.MaxRoster = cmp.Or(c.MaxRoster, 10_000)
	c.LogSize = cmp.Or(c.LogSize, 1024)
	c.LastSeenKeep = cmp.Or(c.LastSeenKeep, 30*24*time.Hour)
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	c.Grace = max(c.Grace, 0)
	c.MergeWindow = max(c.MergeWindow, 0)
	return c
}

// validate returns every problem at once.
func (c Config) validate() error {
	var errs []error
	bad := func(field, why string) {
		errs = append(errs, fmt.Errorf("%w: %s %s", presence.ErrInvalidConfig, field, why))
	}
	if len(c.Node) > 64 || strings.Trim(c.Node, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") != "" {
		bad("Node", "must be 1-64 bytes of A-Z a-z 0-9 _ -")
	}
	if n := len(c.Secret); n > 0 && (n < minSecretLen || n > maxSecretLen) {
		bad("Secret", fmt.Sprintf("has %d bytes, and must have %d to %d", n, minSecretLen, maxSecretLen))
	}
	for _, d := range []struct {
		field string
		value time.Duration
	}{{"TTL", c.TTL}, {"NodeTTL", c.NodeTTL}, {"Age", c.Age}} {
		if d.value < 100*time.Millisecond {
			bad(d.field, fmt.Sprintf("is %v, and must be at least 100ms", d.value))
		}
	}
	if c.LastSeenKeep < 0 {
		bad("LastSeenKeep", "must not be negative")
	}
	for _, n := range []struct {
		field string
		value int
	}{{"MaxTopics", c.MaxTopics}, {"MaxTopicsPerConnection", c.MaxTopicsPerConnection}, {"LogSize", c.LogSize}} {
		if n.value < 1 {
			bad(n.field, "must be at least 1")
		}
	}
	for name, k := range c.Kinds {
		errs = append(errs, validateKind(k, name))
	}
	return errors.Join(errs...)
}

// Heartbeat returns how often a page beats that renews its leases itself: every 15 s, or a third of
// the TTL where that is shorter, so that two lost beats do no harm. Topics whose
// [presence.Kind] has a TTL have their own: see [Connection.Timing]. The leases in the store last four
// times the TTL, and are renewed each half of that.
func (c Config) Heartbeat() time.Duration { return heartbeatFor(c.TTL) }

// houseKeeping is how often the store is asked for figures, so that they lag by less than a second. Those of
// inactive topics lag by a second.
const houseKeeping = 500 * time.Millisecond

// How long a page and a stream wait for a topic that is not in memory yet, and how long loading it may take.
const (
	viewWait    = 50 * time.Millisecond
	connectWait = 2 * time.Second
	loadTimeout = 10 * time.Second
)
