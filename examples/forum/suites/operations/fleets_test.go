package operations_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
	"github.com/rollcall-go/rollcall/internal/redistest"
)

// A fleet is one job of Prometheus: forums that share a store.
type fleet struct {
	name  string
	want  []string // the alerts that its fault causes
	nodes []*forumtest.Forum
	// fault begins the fault, or runs it until ctx ends. nil: there is none.
	fault func(ctx context.Context)
}

// start starts a forum of the fleet. One that is to have faults is killed at the end,
// since its log is not clean.
func (f *fleet) start(t *testing.T, args ...string) *forumtest.Forum {
	t.Helper()
	node := forumtest.Start(t, args...)
	if len(f.want) > 0 {
		t.Cleanup(func() { node.Kill(t) })
	}
	f.nodes = append(f.nodes, node)
	return node
}

// fleets starts all fleets. Each is used like any site, and has its fault beside that.
func fleets(t *testing.T) []*fleet {
	quiet := &fleet{name: "quiet"}
	shared := redistest.Start(t)
	database := "file:" + filepath.Join(t.TempDir(), "forum.db")
	quiet.start(t, "-redis", shared.URL(), "-sql", database)
	quiet.start(t, "-redis", shared.URL(), "-sql", database)

	out := &fleet{name: "out", want: []string{"PresenceStoreOut"}}
	gone := redistest.Start(t)
	out.start(t, "-redis", gone.URL())
	out.fault = func(context.Context) { gone.Kill() }

	slow := &fleet{name: "slow", want: []string{"PresenceStoreSlow"}}
	lame := redistest.Start(t)
	slow.start(t, "-redis", lame.URL())
	slow.fault = func(ctx context.Context) {
		for sleep(ctx, 150*time.Millisecond) {
			lame.Freeze()
			sleep(ctx, 600*time.Millisecond)
			lame.Thaw()
		}
	}

	unswept := &fleet{name: "unswept", want: []string{"PresenceNotSwept"}}
	unswept.start(t, "-sweep", "24h")

	broken := &fleet{name: "broken", want: []string{"PresenceGaps", "PresenceOperationsLost"}}
	server := redistest.Start(t)
	broken.start(t, "-redis", server.URL())
	broken.fault = func(ctx context.Context) { breakData(t, ctx, server, broken.nodes[0]) }

	hostile := &fleet{name: "hostile", want: []string{"PresenceRefused", "PresenceSiteFault", "PresenceSlowReaders"}}
	hostile.start(t)
	hostile.fault = func(ctx context.Context) { beHostile(ctx, hostile.nodes[0]) }

	unlisted := &fleet{name: "unlisted", want: []string{"PresenceDirectoryOut", "PresenceFeedsStuck"}}
	unlisted.start(t, "-sql", "postgres://forum@localhost/forum?host="+t.TempDir()) // where no server is

	return []*fleet{quiet, out, slow, unswept, broken, hostile, unlisted}
}

// client returns a client of a forum.
func client(f *forumtest.Forum) *forumtest.BareClient {
	return &forumtest.BareClient{Addr: strings.TrimPrefix(f.URL, "http://"), Wait: 5 * time.Second}
}

// use is visitors of a forum: four pages a second of users who are new, a reader, and a
// user who comes back to a stream every second.
func use(ctx context.Context, f *forumtest.Forum) {
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() {
		c := client(f)
		defer c.Close()
		for n := 0; sleep(ctx, 250*time.Millisecond); n++ {
			_, _, _, _ = c.Do(http.MethodGet, "/", forumtest.UserCookie(fmt.Sprint("user", n)), "")
		}
	})
	all.Go(func() { stay(ctx, f, "topic=site&topic=thread:1", "reader", time.Hour) })
	all.Go(func() {
		for sleep(ctx, time.Second) {
			stay(ctx, f, "topic=site&cursor=site.0", "visitor", 500*time.Millisecond)
		}
	})
}

// stay reads a stream for a while, and reports whether it was open.
func stay(ctx context.Context, f *forumtest.Forum, query, user string, d time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	s, _, err := client(f).Stream(query, forumtest.UserCookie(user), true)
	if err != nil {
		return false
	}
	defer context.AfterFunc(ctx, func() { s.Conn.Close() })()
	defer s.Conn.Close()
	_, _ = io.Copy(io.Discard, s.Conn)
	return true
}

// sleep returns false if ctx ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// breakData makes a key of a topic one of another kind, so that Redis refuses each write to
// the topic, and publishes what is no message.
func breakData(t *testing.T, ctx context.Context, server *redistest.Server, f *forumtest.Forum) {
	c := server.Client()
	if err := c.Set(ctx, "presence:{thread:2}:leases", "broken", 0).Err(); err != nil {
		t.Error(err)
	}
	for sleep(ctx, time.Second) {
		stay(ctx, f, "topic=thread:2", "unlucky", 100*time.Millisecond)
		for _, channel := range c.PubSubChannels(ctx, "presence:{site}:diffs:*").Val() {
			c.Publish(ctx, channel, "no message")
		}
	}
}

// beHostile opens streams that it does not read, and more than a user may have, and says
// that beats are refused, as behind a CSRF check.
func beHostile(ctx context.Context, f *forumtest.Forum) {
	var all sync.WaitGroup
	defer all.Wait()
	c := client(f)
	for n := range 800 { // so that a state does not fit into the sockets
		_, _, _, _ = c.Do(http.MethodGet, "/", forumtest.UserCookie(fmt.Sprintf("a member of this forum %08d", n)), "")
	}
	c.Close()
	for half := range 2 { // each stream is cut after ten seconds
		all.Go(func() {
			sleep(ctx, time.Duration(half)*5*time.Second)
			for ctx.Err() == nil {
				for range 30 {
					if conn, err := deaf(f); err == nil {
						defer conn.Close()
					}
				}
				sleep(ctx, 10*time.Second)
			}
		})
	}
	for sleep(ctx, 200*time.Millisecond) {
		all.Go(func() { stay(ctx, f, "topic=thread:1&nobeat=403", "greedy", time.Hour) })
	}
}

// deaf opens a stream, and reads nothing.
func deaf(f *forumtest.Forum) (net.Conn, error) {
	c := client(f)
	conn, err := c.Dial()
	if err != nil {
		return nil, err
	}
	_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
	_, err = io.WriteString(conn, c.Head(http.MethodGet, "/presence/events?topic=site&limit=1000", ""))
	return conn, err
}
