package hostile_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
	"github.com/rollcall-go/rollcall/internal/need"
	"github.com/rollcall-go/rollcall/internal/redistest"
)

// onNode runs a forum on a store until the test ends, with times that are short
// enough to wait for.
func onNode(t *testing.T, store, name string, flags ...string) *forumtest.Node {
	t.Helper()
	n := &forumtest.Node{T: t, Addr: need.FreeAddr(t), Args: append([]string{"-redis", store, "-node", name, "-ttl", hostileTTL.String(),
		"-grace", hostileGrace.String(), "-sweep", hostileSweep.String()}, flags...)}
	n.Run()
	t.Cleanup(n.Kill)
	forumtest.Await(t, "a roster", func() bool { return rosterOf(bare(n)).Status == http.StatusOK })
	return n
}

// bare returns a client of a node.
func bare(n *forumtest.Node) *forumtest.BareClient {
	return &forumtest.BareClient{Addr: n.Addr, Wait: forumtest.Patience}
}

// rosterOf asks for the site's roster.
func rosterOf(c *forumtest.BareClient) forumtest.Response {
	status, header, body, _ := c.Do(http.MethodGet, "/presence/roster?topic=site&limit=1000", "", "")
	c.Close()
	return forumtest.Response{Status: status, Header: header, Body: body}
}

// follow opens a stream and collects its events.
func follow(t *testing.T, n *forumtest.Node, query, cookie string) *followed {
	t.Helper()
	s, status, err := bare(n).Stream(query, cookie, true)
	if err != nil {
		t.Fatalf("a stream of %s: got %d and error %v", query, status, err)
	}
	t.Cleanup(func() { s.Conn.Close() })
	f := &followed{t: t, token: s.Token, close: func() { s.Conn.Close() }, events: make(chan string, 10_000)}
	go func() {
		defer close(f.events)
		for {
			typ, data, err := s.Next()
			if err != nil {
				return
			}
			f.events <- typ + " " + data
		}
	}()
	return f
}

// A followed collects the events of one stream, each as its type and its data.
type followed struct {
	t      *testing.T
	token  string
	close  func()
	events chan string
}

// within returns the events of some time, and whether the stream has ended.
func (f *followed) within(d time.Duration) (events []string, ended bool) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		select {
		case e, open := <-f.events:
			if !open {
				return events, true
			}
			events = append(events, e)
		case <-timer.C:
			return events, false
		}
	}
}

// until reads on to an event that begins and holds so.
func (f *followed) until(typ, holds string) string {
	f.t.Helper()
	late := time.After(forumtest.Patience)
	for {
		select {
		case e, open := <-f.events:
			if !open {
				f.t.Fatalf("the stream ended before a %s with %s", typ, holds)
			}
			if strings.HasPrefix(e, typ+" ") && strings.Contains(e, holds) {
				return e
			}
		case <-late:
			f.t.Fatalf("no %s with %s came", typ, holds)
		}
	}
}

// A guest that counts connection ids up or down ends nobody else's stream.
func TestGuestEndsNoOthersStream(t *testing.T) {
	t.Parallel()
	n := onNode(t, redistest.Start(t).URL(), "n")
	before := follow(t, n, "topic=site", "")
	user := follow(t, n, "topic=site", forumtest.UserCookie("alice"))
	own := follow(t, n, "topic=site", "")
	after := follow(t, n, "topic=site", "")
	node, number, _ := strings.Cut(strings.Split(own.token, "~")[0], ".")
	var tokens []string
	for _, other := range []*followed{before, user, after} { // ids as a log may show them
		id, _, _ := strings.Cut(other.token, "~")
		_, rest, _ := strings.Cut(own.token, "~")
		tokens = append(tokens, id, id+"~site", id+"~"+rest)
	}
	if count, err := strconv.ParseInt(number, 36, 64); err == nil {
		for by := int64(-4); by <= 4; by++ {
			if by != 0 {
				tokens = append(tokens, node+"."+strconv.FormatInt(count+by, 36))
			}
		}
	}
	for _, token := range tokens {
		for _, cookie := range []string{"", forumtest.GuestCookie()} {
			status, _, _, err := bare(n).Do(http.MethodPost, "/presence/leave", cookie, goodbye(token))
			if err != nil || status != http.StatusGone && status != http.StatusNoContent {
				t.Errorf("leave %s: got %d and error %v, want 410", token, status, err)
			}
		}
	}
	for what, f := range map[string]*followed{"a guest's stream opened before": before, "a user's": user, "a guest's opened after": after} {
		if _, ended := f.within(300 * time.Millisecond); ended {
			t.Errorf("%s ended, want it to go on", what)
		}
	}
}

// Tokens that nobody was given are refused, and nothing of them reaches Redis, at
// first or in the sweeps that follow.
func TestForgedTokensCostNothing(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	n, db := onNode(t, redis.URL(), "n"), redis.Client()
	follow(t, n, "topic=site", forumtest.UserCookie("alice"))
	time.Sleep(hostileTTL / 3) // a heartbeat
	work := func() int {
		before := commands(t, db)
		time.Sleep(hostileTTL / 3)
		return commands(t, db) - before
	}
	quiet := work()
	got := make(map[int]int)
	for i := range 20 {
		var topics []string
		for j := range 15 {
			topics = append(topics, fmt.Sprintf("evil-%d-%d", i, j))
		}
		for form, token := range []string{
			"x.1~" + strings.Join(topics, "~"),
			"n." + forumtest.MadeUp(12) + "~YWxpY2U~" + strings.Join(topics, "~"),
			"n." + forumtest.MadeUp(12) + "~YWxpY2U~" + strings.Join(topics, "~") + "~" + forumtest.MadeUp(16),
		} {
			path := []string{"/presence/beat", "/presence/leave"}[(i+form)%2]
			status, _, _, err := bare(n).Do(http.MethodPost, path, forumtest.UserCookie("alice"), goodbye(token))
			if err != nil {
				t.Fatal(err)
			}
			got[status]++
		}
		time.Sleep(250 * time.Millisecond) // within the rate of a visitor
	}
	if got[http.StatusGone] != 60 {
		t.Errorf("60 forged tokens: got the answers %v, want 410 each", got)
	}
	if found := holding(t, db, "evil"); len(found) > 0 {
		t.Errorf("made-up topics are in Redis: %d names, such as %s", len(found), found[0])
	}
	if now := work(); now > quiet*3/2+20 {
		t.Errorf("a heartbeat later Redis runs %d scripts in %v, want about %d as before", now, hostileTTL/3, quiet)
	}
}

// commands is how many scripts a server has run.
func commands(t *testing.T, db *redis.Client) (n int) {
	t.Helper()
	info := db.Info(t.Context(), "commandstats").Val()
	for line := range strings.Lines(info) {
		if _, rest, ok := strings.Cut(line, "cmdstat_evalsha:calls="); ok {
			count, _, _ := strings.Cut(rest, ",")
			n, _ = strconv.Atoi(count)
		}
	}
	return n
}

// holding returns each key, and each member of a set, list or log, whose name holds
// a text.
func holding(t *testing.T, db *redis.Client, text string) (found []string) {
	t.Helper()
	ctx := t.Context()
	for _, key := range db.Keys(ctx, "*").Val() {
		members := []string{key}
		switch db.Type(ctx, key).Val() {
		case "zset":
			members = append(members, db.ZRange(ctx, key, 0, -1).Val()...)
		case "set":
			members = append(members, db.SMembers(ctx, key).Val()...)
		case "hash":
			for field, value := range db.HGetAll(ctx, key).Val() {
				members = append(members, field, value)
			}
		case "stream":
			for _, m := range db.XRange(ctx, key, "-", "+").Val() {
				members = append(members, fmt.Sprint(m.Values))
			}
		}
		for _, m := range members {
			if strings.Contains(m, text) {
				found = append(found, key+": "+m)
			}
		}
	}
	return found
}
