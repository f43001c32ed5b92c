package handlers_test

import (
	"fmt"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence/feed"
)

// What a page that follows feeds gets, over each transport. In each case alice has the items
// two and one.
func TestFollowFeeds(t *testing.T) {
	for name, test := range map[string]func(f *feedSite, over transport){
		"a state, then diffs": func(f *feedSite, over transport) {
			l := f.follow(over, "topic=inbox", "alice")
			l.want("welcome")
			state := l.wantShown("state", "2/2 two one")
			if d := state.data; d.Topic != "inbox" || d.More == nil || *d.More || d.Cursor == "" {
				f.t.Errorf("got %+v, want the whole inbox with its cursor", d)
			}
			told := l.feed()
			f.send("alice", "three")
			diff := <-told
			if got := shows(diff); got != "3/3 three" || diff.data.Prev != state.data.Cursor {
				f.t.Errorf("got %q after %s, want three after %s", got, diff.data.Prev, state.data.Cursor)
			}
			body := f.wantStatus(post("feed/mark?me=alice", "alice", fmt.Sprintf(`{"topic":"inbox","as":"read","pos":[%d]}`, state.data.Items[0].Pos)), 200)
			diff = <-told
			if got, want := body, fmt.Sprintf(`{"cursor":"%s","unread":2,"unseen":2}`, diff.data.Cursor); got != want || shows(diff) != "2/2 two:read" {
				f.t.Errorf("got the answer %s and the diff %q, want %s and two:read", got, shows(diff), want)
			}
		},
		"more than a page": func(f *feedSite, over transport) {
			for i := range 25 {
				f.send("alice", fmt.Sprint("m", i))
			}
			l := f.follow(over, "topic=inbox", "alice")
			l.want("welcome")
			if d := l.want("state").data; len(d.Items) != feed.PageItems || d.More == nil || !*d.More || d.Items[0].Text != "m24" {
				f.t.Errorf("got %d items, more %v, want the newest 20 of more", len(d.Items), d.More)
			}
		},
		"nothing missed (F8)": func(f *feedSite, over transport) {
			l := f.follow(over, "topic=inbox", "alice").started(1)
			l.close()
			back := f.resume(over, "topic=inbox", "alice", l.last)
			back.want("welcome")
			back.quiet(40 * time.Second)
		},
		"something missed (F8)": func(f *feedSite, over transport) {
			l := f.follow(over, "topic=inbox", "alice").started(1)
			l.close()
			time.Sleep(5 * time.Minute) // the line has gone
			f.send("alice", "three", "four")
			back := f.resume(over, "topic=inbox", "alice", l.last)
			back.want("welcome")
			back.wantShown("diff", "4/4 four three")
			back.quiet(40 * time.Second)
		},
		"after too many changes (F8)": func(f *feedSite, over transport) {
			l := f.follow(over, "topic=inbox", "alice").started(1)
			l.close()
			time.Sleep(5 * time.Minute)
			for i := range feed.MaxBehind + 1 {
				f.send("alice", fmt.Sprint("m", i))
			}
			back := f.resume(over, "topic=inbox", "alice", l.last)
			back.want("welcome")
			if got := len(back.want("state").data.Items); got != feed.PageItems {
				f.t.Errorf("got %d items, want %d", got, feed.PageItems)
			}
		},
		"another user's cursor (F13)": func(f *feedSite, over transport) {
			f.send("eve", "hers")
			l := f.follow(over, "topic=inbox", "alice").started(1)
			cursor := l.last
			l.close()
			other := f.resume(over, "topic=inbox", "eve", cursor)
			other.want("welcome")
			other.wantShown("state", "1/1 hers")
		},
		"beside a roster and a room": func(f *feedSite, over transport) {
			f.post("thread:1", "hello")
			l := f.follow(over, "topic=site&topic=feed:thread:1&topic=inbox", "alice").started(3)
			if got := f.names("site"); got != "alice" {
				f.t.Errorf("got %q in site, want alice", got)
			}
			told := l.feed()
			f.post("thread:1", "world")
			if e := <-told; e.typ != "diff" || e.data.Topic != "feed:thread:1" || shows(e) != "world" {
				f.t.Errorf("got the %s %q of %s, want the post in the room", e.typ, shows(e), e.data.Topic)
			}
			f.send("alice", "three")
			if e := <-told; e.data.Topic != "inbox" || shows(e) != "3/3 three" {
				f.t.Errorf("got %q of %s, want three in the inbox", shows(e), e.data.Topic)
			}
			f.see("site", "bob")
			if e := <-told; e.data.Topic != "site" || keys(e.data.Joins) != "bob" {
				f.t.Errorf("got %+v, want bob in site", e.data)
			}
		},
		"a room has no counters": func(f *feedSite, over transport) {
			f.post("thread:1", "hello")
			l := f.follow(over, "topic=feed:thread:1", "")
			l.want("welcome")
			l.wantShown("state", "hello")
		},
		"nobody is held": func(f *feedSite, over transport) {
			f.post("thread:1", "hello")
			f.follow(over, "topic=inbox&topic=feed:thread:1", "alice").started(2)
			f.follow(over, "topic=inbox", "alice").started(1)
			if body := f.wantStatus(request{path: "where"}, 200); body != `{"topics":[]}` {
				f.t.Errorf("got the places %s, want none", body)
			}
		},
		"signed out": func(f *feedSite, over transport) {
			l := f.follow(over, "topic=inbox", "alice").started(1)
			cursor, ended := l.last, l.drain()
			if over.path != "poll" {
				if err := f.tracker.SignOut(f.t.Context(), "alice"); err != nil {
					f.t.Fatal(err)
				}
				<-ended
			}
			// eve signs in with the same browser, and the page of alice comes back
			header := map[string]string(nil)
			if over.path == "ws" {
				header = handshake
			}
			f.wantStatus(request{path: from(over.path+"?topic=inbox&me=alice", cursor), user: "eve", header: header}, 401)
			f.wantStatus(request{path: from(over.path+"?topic=inbox&me=alice", cursor), header: header}, 401)
			other := f.resume(over, "topic=inbox", "eve", cursor)
			other.want("welcome")
			other.wantShown("state", "0/0")
		},
	} {
		t.Run(name, func(t *testing.T) {
			over(t, allTransports, func(t *testing.T, over transport) {
				f := newFeedSite(t, setup{handlers: unlimited()})
				f.send("alice", "one", "two")
				test(f, over)
			})
		})
	}
}

// While the database is out a stream says so of the feed, and its other topics go on. A stream
// that is opened then gets its state once the database is back (F10).
func TestStaleFeed(t *testing.T) {
	over(t, allTransports, func(t *testing.T, over transport) {
		f := newFeedSite(t, setup{handlers: unlimited()})
		f.send("alice", "one")
		l := f.follow(over, "topic=inbox", "alice").started(1)
		wantStale := func(l *listener, want bool) event {
			t.Helper()
			for begin := time.Now(); ; {
				e, ok := l.next()
				switch {
				case !ok || time.Since(begin) > 2*time.Minute:
					t.Fatalf("got %s (%v) after %v, want a heartbeat with stale %v", e.typ, ok, time.Since(begin), want)
				case e.typ != "heartbeat" && e.typ != "welcome":
					t.Fatalf("got the %s %q, want nothing but heartbeats", e.typ, shows(e))
				case e.typ == "heartbeat" && e.data.Stale == want:
					return e
				}
			}
		}
		wantStale(l, false)
		f.store.Out(true)
		if over.path == "poll" {
			time.Sleep(time.Minute)
		}
		if e := wantStale(l, true); e.data.Topic != "inbox" || e.data.Unread == nil || *e.data.Unread != 1 {
			t.Errorf("got %+v, want the last known counters of the inbox", e.data)
		}

		first := f.follow(over, "topic=inbox", "carol") // of whom nothing is known
		if e := wantStale(first, true); e.data.Unread != nil {
			t.Errorf("got %d unread, want no number: nothing is known", *e.data.Unread)
		}
		cut := f.follow(over, "topic=inbox", "dave")
		wantStale(cut, true)
		cut.close()
		room := f.follow(over, "topic=site&topic=feed:thread:1", "erin")
		room.want("welcome")
		if e := room.want("state"); e.data.Topic != "site" {
			t.Errorf("got a state of %s, want that of site: it goes on", e.data.Topic)
		}
		told := room.feed()
		f.see("site", "bob")
		if e := <-told; e.data.Topic != "site" || e.typ != "diff" {
			t.Errorf("got the %s of %s, want the diff of site", e.typ, e.data.Topic)
		}

		f.store.Out(false)
		f.send("dave", "news")
		back := f.resume(over, "topic=inbox", "dave", cut.last)
		back.want("welcome")
		back.wantShown("state", "1/1 news")
		first.wantShown("state", "0/0")
		for e := range told {
			if e.data.Topic == "feed:thread:1" && e.typ == "state" {
				break
			}
		}
		f.send("alice", "two")
		l.wantShown("diff", "2/2 two")
	})
}

// Over a WebSocket feeds come and go, and a snapshot is a state.
func TestFeedsOverSocket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeedSite(t, setup{})
		f.send("alice", "one")
		f.post("thread:1", "hello")
		c := f.talk(request{path: "ws?topic=site&observe=1", user: "alice"})
		c.started(1)
		c.say(`{"type":"subscribe","topic":"inbox"}`)
		state := c.wantShown("state", "1/1 one")
		c.say(`{"type":"subscribe","topic":"feed:thread:1"}`)
		c.wantShown("state", "hello")
		time.Sleep(2 * time.Second)
		c.say(`{"type":"snapshot","topic":"inbox"}`)
		c.wantShown("state", "1/1 one")
		c.say(`{"type":"unsubscribe","topic":"inbox"}`)
		c.say(`{"type":"snapshot","topic":"inbox"}`)
		c.wantError("Not Found")
		f.send("alice", "two")
		c.say(`{"type":"subscribe","topic":"inbox","cursor":"` + state.data.Cursor + `"}`)
		c.wantShown("diff", "2/2 two")
		for topic, title := range map[string]string{
			"inbox:bob": "Bad Request", "feed:inbox:bob": "Bad Request", "feed:": "Bad Request", "feed:staff:1": "Forbidden",
		} {
			c.say(`{"type":"subscribe","topic":"` + topic + `"}`)
			c.wantError(title)
			c.say(`{"type":"snapshot","topic":"` + topic + `"}`)
			c.wantError("Not Found")
		}
		guest := f.talk(request{path: "ws?topic=site"})
		guest.started(1)
		guest.say(`{"type":"subscribe","topic":"inbox"}`)
		guest.wantError("Unauthorized")
		guest.say(`{"type":"subscribe","topic":"feed:thread:1"}`)
		guest.wantShown("state", "hello")
	})
}

// On real sockets, where shards write, all pages of a user get the same diffs.
func TestTCPFeeds(t *testing.T) {
	overTCP(t, streams, func(t *testing.T, over transport) {
		port, err := net.Listen("tcp", "127.0.0.1:0")
		noError(t, err)
		f := newFeedSite(t, setup{listener: port})
		f.send("alice", "one")
		var pages []*listener
		for range 10 {
			l := f.follow(over, "topic=inbox", "alice")
			l.want("welcome")
			l.wantShown("state", "1/1 one")
			pages = append(pages, l)
		}
		other := f.follow(over, "topic=inbox", "eve").started(1)
		f.send("alice", "two")
		f.send("eve", "hers")
		for _, l := range pages {
			l.wantShown("diff", "2/2 two")
			l.close()
		}
		other.wantShown("diff", "1/1 hers")
		other.close()
		f.none()
	})
}
