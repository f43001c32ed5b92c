package main

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/rollcall-go/rollcall/presence/redisstore"
)

// config has the settings of an operator, from flags and the environment.
type config struct {
	addr   string
	redis  string
	sql    string
	node   string
	secret string
	staff  string
	app    string

	tenants string // separated by commas; the first label of Host names one

	throttle, age, ttl, nodeTTL, grace, sweep time.Duration

	webhook webhookConfig
	mail    mailConfig

	base string // address of the site in mails, such as http://127.0.0.1:8080; no flag sets it
}

// leastPeriod is the shortest duration that a flag takes.
const leastPeriod = 100 * time.Millisecond

// leastSecret is the length of the shortest secret, in bytes.
const leastSecret = 16

// flags returns the flag set that fills c. A flag wins over the environment,
// the environment over the default.
func (c *config) flags(getenv func(string) string) *flag.FlagSet {
	set := flag.NewFlagSet("forum", flag.ContinueOnError)
	set.SetOutput(io.Discard) // run prints one line instead of the usage
	set.StringVar(&c.addr, "addr", cmp.Or(getenv("ADDR"), "127.0.0.1:8080"),
		"listen `address`; port 0 picks one (environment: ADDR)")
	set.StringVar(&c.redis, "redis", getenv("REDIS_URL"),
		"`URL` of a Redis or Valkey server (redis://, rediss://, unix://), or addresses of a cluster with commas between; "+
			"empty: in memory (environment: REDIS_URL)")
	set.StringVar(&c.sql, "sql", getenv("SQL_URL"),
		"`URL` of the database of posts, notifications, settings, contacts and sessions: file:PATH is SQLite, which processes of one machine may share, "+
			"postgres://… is PostgreSQL; empty: SQLite in memory, and with -redis none (environment: SQL_URL)")
	set.StringVar(&c.node, "node", "", "`name` of this node (default random)")
	set.StringVar(&c.secret, "secret", getenv("SECRET"), "`key` that signs connection tokens and guests' ids, at least 16 bytes, "+
		"the same on every node (default random, one a fleet, kept in its Redis; environment: SECRET)")
	set.StringVar(&c.staff, "staff", getenv("STAFF"), "`ids` of users, with commas between, who may open /staff (default nobody; environment: STAFF)")

	set.StringVar(&c.app, "app", getenv("APP"), "`name` of the site's build, such as 4.13.0: pages learn that there is another one (environment: APP)")
	set.StringVar(&c.tenants, "tenants", "", "`names` of the sites of this process, with commas between, such as acme,globex: the first label of Host names one, as in acme.localhost. "+
		"Each has a forum of its own, and they share nothing but the process; another Host has none, and gets 421 (default one forum for all hosts)")

	c.webhook.flags(set, getenv)
	c.mail.flags(set, getenv)

	period := func(d *time.Duration, name string, value time.Duration, usage string) {
		*d = value
		set.Var((*periodFlag)(d), name, usage)
	}
	period(&c.throttle, "throttle", time.Minute, "a visitor's page views are recorded at most once in this `time`")
	period(&c.age, "age", 5*time.Minute, "the current set becomes the old one after this `time`")
	period(&c.ttl, "ttl", 45*time.Second, "a lease not renewed for this `time` is gone")
	period(&c.nodeTTL, "node-ttl", 10*time.Second, "a node that was silent for this `time` is dead, and its users are gone; at most the -ttl counts (environment: NODE_TTL)")
	period(&c.grace, "grace", 10*time.Second, "a user stays online for this `time` after the last connection closed")
	period(&c.sweep, "sweep", time.Second, "expired leases are swept once in this `time`")
	return set
}

// periodFlag is a duration of at least leastPeriod.
type periodFlag time.Duration

func (p *periodFlag) String() string { return time.Duration(*p).String() }

func (p *periodFlag) Set(value string) error {
	d, err := time.ParseDuration(value)
	if err != nil {
		return errors.New("must be a duration, such as 45s or 200ms")
	}
	if d < leastPeriod {
		return fmt.Errorf("must be at least %v", leastPeriod)
	}
	*p = periodFlag(d)
	return nil
}

// parseConfig reads the command line. Its errors are one line each and name the flag. For -help it returns
// flag.ErrHelp.
func parseConfig(args []string, getenv func(string) string) (config, error) {
	var c config
	set := c.flags(getenv)
	if value := getenv("NODE_TTL"); value != "" {
		if err := set.Set("node-ttl", value); err != nil {
			return config{}, fmt.Errorf("invalid value %q for NODE_TTL: %w", value, err)
		}
	}
	if err := set.Parse(args); err != nil {
		return config{}, err
	}
	if set.NArg() > 0 {
		return config{}, fmt.Errorf("unexpected argument %q: there are only flags", set.Arg(0))
	}
	return c, c.validate()
}

func (c config) validate() error {
	if err := validAddr(c.addr); err != nil {
		return fmt.Errorf("invalid value %q for flag -addr: %w", c.addr, err)
	}
	if !validNode(c.node) {
		return fmt.Errorf("invalid value %q for flag -node: must be 1-64 of A-Z a-z 0-9 _ -", c.node)
	}
	if n := len(c.secret); 0 < n && n < leastSecret {
		return fmt.Errorf("invalid value for flag -secret (or SECRET): has %d bytes, and must have at least %d", n, leastSecret)
	}
	if c.throttle > c.age/2 {
		return fmt.Errorf("invalid value %q for flag -throttle: must be at most half of -age, so %v: "+
			"a visitor who comes once a period would seem to come and go", c.throttle, c.age/2)
	}
	if _, err := parseTenants(c.tenants); err != nil {
		return fmt.Errorf("invalid value %q for flag -tenants: %w", c.tenants, err)
	}
	if _, err := parseStaff(c.staff); err != nil {
		return fmt.Errorf("invalid value %q for flag -staff (or STAFF): %w", c.staff, err)
	}
	if !validApp(c.app) {
		return fmt.Errorf("invalid value %q for flag -app (or APP): must be at most 64 characters, none of which is a control character", c.app)
	}
	if err := validRedis(c.redis); err != nil {
		return fmt.Errorf("invalid value for flag -redis (or REDIS_URL): %w", err)
	}
	if err := validSQL(c.sql); err != nil {
		return fmt.Errorf("invalid value for flag -sql (or SQL_URL): %w", err)
	}
	if err := c.mail.validate(); err != nil {
		return fmt.Errorf("invalid value %q for flag -mail (or MAIL_DIR): %w", c.mail.dir, err)
	}
	if _, err := c.webhook.sender(nil); err != nil {
		return err
	}
	return nil
}

// key returns the key with which presence signs. If it is nil, presence makes one. A secret that is too long
// for presence is hashed.
func (c config) key() []byte {
	if len(c.secret) > 64 {
		hash := sha256.Sum256([]byte(c.secret))
		return hash[:]
	}
	return []byte(c.secret)
}

// validRedis checks the URL without connecting.
func validRedis(text string) error {
	if text == "" {
		return nil
	}
	store, err := redisstore.Open(text, redisstore.Config{})
	if err != nil {
		return err
	}
	return store.Close()
}

func validAddr(addr string) error {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return errors.New("must be host:port, such as 127.0.0.1:8080")
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return errors.New("the port must be a number from 0 to 65535")
	}
	return nil
}

// validNode checks the rule of track.Config's field Node here too, so that the message can name the flag.
func validNode(name string) bool {
	outside := func(r rune) bool {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '-':
			return false
		}
		return true
	}
	return len(name) <= 64 && !strings.ContainsFunc(name, outside)
}

func validApp(name string) bool {
	return utf8.ValidString(name) && utf8.RuneCountInString(name) <= 64 && !strings.ContainsFunc(name, unicode.IsControl)
}

// usage returns what -help prints.
func usage() string {
	var c config
	var text strings.Builder
	set := c.flags(func(string) string { return "" })
	set.SetOutput(&text)
	text.WriteString("forum: a forum that shows who is online, live.\n\n")
	set.PrintDefaults()
	return text.String()
}
