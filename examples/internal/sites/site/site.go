// Package site is what the imitated sites have in common, and what presence does not see of
// a site: flags, people, forms. The wiring of presence stands in each site's own package.
package site

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/jobs"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/redisstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A Mistake is one that people make when they wire presence into a site.
type Mistake string

// The mistakes. No site can make all of them.
const (
	CSRF         Mistake = "csrf"          // the site's check of tokens stands before the endpoints
	Timeout      Mistake = "timeout"       // a middleware that collects answers stands before them
	NoMiddleware Mistake = "no-middleware" // they are outside of the group that has the sessions
	Unwrapped    Mistake = "unwrapped"     // a logger wraps the http.ResponseWriter without Unwrap
	Prefix       Mistake = "prefix"        // their prefix is cut off before the handler
	Proxy        Mistake = "proxy"         // nobody said that there is a proxy
	Authorize    Mistake = "authorize"     // a page shows a topic that nobody may follow
)

// A Site is a process of one.
type Site struct {
	Tracker *track.Tracker
	Scripts string        // the node_modules folder of npm
	Short   time.Duration // what the site gives to a request: shorter than a stream lives
	State   string        // a folder in which sessions outlive the process

	// Serve serves until ctx ends. Default: a http.Server with short timeouts does.
	Serve func(ctx context.Context, l net.Listener, h http.Handler) error

	addr     string
	redis    string
	ttl      time.Duration
	age      time.Duration
	grace    time.Duration
	mistakes string
}

// Throttle is the middleware's, for the tracker's age.
func (s *Site) Throttle() time.Duration { return min(time.Minute, s.age/5) }

// Made reports whether the site makes a mistake.
func (s *Site) Made(m Mistake) bool {
	for one := range strings.SplitSeq(s.mistakes, ",") {
		if Mistake(one) == m {
			return true
		}
	}
	return false
}

// Main reads the flags, and serves the handler that wire makes until a signal comes.
func Main(wire func(*Site) (http.Handler, error)) {
	s := new(Site)
	flag.StringVar(&s.addr, "addr", "127.0.0.1:8080", "listen address")
	flag.StringVar(&s.redis, "redis", "", "URL of a Redis; empty: the store is in memory")
	flag.DurationVar(&s.ttl, "ttl", 45*time.Second, "track.Config.TTL")
	flag.DurationVar(&s.age, "age", 5*time.Minute, "track.Config.Age")
	flag.DurationVar(&s.grace, "grace", 10*time.Second, "track.Config.Grace")
	flag.DurationVar(&s.Short, "short", 10*time.Second, "the timeouts of the server and of the site")
	flag.StringVar(&s.Scripts, "scripts", ".ci/clients/node_modules", "the node_modules folder of npm")
	flag.StringVar(&s.State, "state", os.TempDir(), "a folder for sessions")
	flag.StringVar(&s.mistakes, "mistake", "", "mistakes to make, with commas between")
	flag.Parse()
	if err := s.run(wire); err != nil {
		log.Fatal(err)
	}
}

func (s *Site) run(wire func(*Site) (http.Handler, error)) (err error) {
	store, closeStore, err := s.openStore()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeStore()) }()
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	slog.SetDefault(logger)
	s.Tracker, err = track.New(store, track.Config{TTL: s.ttl, Grace: s.grace, Age: s.age, Logger: logger})
	if err != nil {
		return err
	}
	handler, err := wire(s)
	if err != nil {
		return err
	}
	runner, err := jobs.Start(s.Tracker, jobs.Config{})
	if err != nil {
		return err
	}
	defer runner.Stop()
	return s.serve(handler)
}

// serve serves until a signal comes. The tracker is closed first, so that streams end and
// the server need not wait for them.
func (s *Site) serve(handler http.Handler) error {
	listener, err := net.Listen("tcp", s.addr)
	if err != nil {
		return err
	}
	fmt.Printf("listening on http://%s\n", listener.Addr())
	stop, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer cancel()
	ctx, end := context.WithCancel(context.Background())
	defer end()
	served := make(chan error, 1)
	if s.Serve == nil {
		s.Serve = s.serveByNetHTTP
	}
	go func() { served <- s.Serve(ctx, listener, handler) }()
	select {
	case err := <-served:
		return err
	case <-stop.Done():
	}
	closing, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	err = s.Tracker.Close(closing)
	end()
	return errors.Join(err, <-served)
}

func (s *Site) serveByNetHTTP(ctx context.Context, l net.Listener, h http.Handler) error {
	server := &http.Server{
		Handler: h, ConnContext: handlers.ConnContext,
		ReadHeaderTimeout: 10 * time.Second, ReadTimeout: s.Short, WriteTimeout: s.Short, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 32 << 10,
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	closing, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return server.Shutdown(closing)
}

// An OldWriter counts the bytes of an answer. It has no method Unwrap.
type OldWriter struct {
	http.ResponseWriter
	Bytes int
}

// Write implements [io.Writer].
func (w *OldWriter) Write(b []byte) (int, error) {
	w.Bytes += len(b)
	return w.ResponseWriter.Write(b)
}

func (s *Site) openStore() (backend.Store, func() error, error) {
	if s.redis == "" {
		return memstore.New(), func() error { return nil }, nil
	}
	client, err := redisstore.OpenClient(s.redis)
	if err != nil {
		return nil, nil, err
	}
	store := redisstore.New(client, redisstore.Config{})
	return store, func() error { return errors.Join(store.Close(), client.Close()) }, nil
}

// SignOut ends what holds a user online. The site's session is the caller's.
func (s *Site) SignOut(r *http.Request) {
	visitor := presence.VisitorFromContext(r.Context())
	if !visitor.SignedIn() {
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), time.Second)
	defer cancel()
	if err := s.Tracker.SignOut(ctx, visitor.User.ID); err != nil {
		slog.Warn("a sign-out waits for the store", "err", err)
	}
}

// Authorize is for handlers.Config: visitors may see the site, and who is in a room. It is
// nil, which is the default, where that is the mistake.
func (s *Site) Authorize() func(*http.Request, presence.Visitor, presence.Topic) bool {
	if s.Made(Authorize) {
		return nil
	}
	return func(_ *http.Request, _ presence.Visitor, t presence.Topic) bool {
		return t == presence.Site || strings.HasPrefix(string(t), "room:")
	}
}

// People are the members of the site.
var People = []string{"alice", "bob", "carol", "dave"}

// User returns the user of a name in a session: 1 to 20 small letters.
func User(name string) (presence.User, bool) {
	if !names.MatchString(name) {
		return presence.User{}, false
	}
	return presence.User{ID: presence.UserID(name), Name: strings.ToUpper(name[:1]) + name[1:]}, true
}

var names = regexp.MustCompile(`^[a-z]{1,20}$`)

// A View is what a page shows.
type View struct {
	Title  string
	User   string // of the session; empty: a guest
	Token  string // against forged forms
	People []string
	Room   string // a topic; empty: the page has none
}

// Views are the pages by path: each site has the same.
var Views = map[string]View{
	"/":        {Title: "Home"},
	"/members": {Title: "Members", People: People},
	"/rooms/1": {Title: "Room 1", Room: "room:1"},
}
