package handlers_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
)

// page reads the answer of /feed.
func (f *feedSite) page(path, user string) event {
	f.t.Helper()
	var e event
	if err := json.Unmarshal([]byte(f.wantStatus(request{path: path, user: user}, 200)), &e.data); err != nil {
		f.t.Fatal(err)
	}
	return e
}

// Without feeds nothing of them exists: the paths are not there, and the topics are like any
// others.
func TestFeedsOff(t *testing.T) {
	onSite(t, setup{handlers: handlers.Config{Authorize: anyTopic}}, func(t *testing.T, s *site) {
		for _, r := range []request{
			{path: "feed?topic=inbox", user: "alice"},
			post("feed/mark", "alice", `{"topic":"inbox","as":"seen"}`),
			{path: "mutes", user: "alice"},
			put("mutes", "alice", `{"scope":"*","how":"all"}`),
		} {
			s.wantStatus(r, 404)
		}
		for _, topic := range []presence.Topic{"inbox", "inbox:bob", "feed:inbox:bob", "feed:thread:1"} {
			s.see(topic, "bob")
			if body := s.wantStatus(request{path: "roster?topic=" + string(topic)}, 200); !strings.Contains(body, `"bob"`) {
				t.Errorf("got %s, want a roster with bob", body)
			}
			s.follow(overSSE, "topic="+string(topic), "").started(1)
		}
	})
}

func TestFeedPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeedSite(t, setup{handlers: unlimited()})
		for i := range 45 {
			f.send("alice", fmt.Sprint("m", i))
		}
		f.post("thread:1", "hello")
		first := f.page("feed?topic=inbox", "alice")
		if d := first.data; d.Topic != "inbox" || len(d.Items) != 20 || d.Items[0].Text != "m44" || d.More == nil || !*d.More || *d.Unread != 45 || d.Cursor == "" {
			t.Errorf("got %d items of %s, want the newest 20 of 45", len(d.Items), d.Topic)
		}
		path, got := "feed?topic=inbox&limit=17", []string(nil)
		for more := true; more; {
			d := f.page(path, "alice").data
			for _, i := range d.Items {
				got = append(got, i.Text)
			}
			more = *d.More
			path = fmt.Sprintf("feed?topic=inbox&limit=17&before=%d", d.Items[len(d.Items)-1].Pos)
		}
		if len(got) != 45 || got[0] != "m44" || got[44] != "m0" {
			t.Errorf("got %d items by pages: %q, want all 45", len(got), got)
		}
		f.send("alice", "new")
		d := f.page(from("feed?topic=inbox", first.data.Cursor), "alice")
		if got := shows(d); got != "46/46 new" || d.data.Prev != first.data.Cursor {
			t.Errorf("got %q after %q, want new after %q", got, d.data.Prev, first.data.Cursor)
		}
		if same := f.page(from("feed?topic=inbox", d.data.Cursor), "alice"); len(same.data.Items) != 0 || same.data.Cursor != d.data.Cursor {
			t.Errorf("got %q, want that nothing changed", shows(same))
		}
		if room := f.page("feed?topic=feed:thread:1", ""); shows(room) != "hello" {
			t.Errorf("got the room %q, want hello", shows(room))
		}
		if empty := f.page("feed?topic=inbox", "carol"); shows(empty) != "0/0" || empty.data.Items == nil || *empty.data.More {
			t.Errorf("got %+v, want an empty inbox", empty.data)
		}
	})
}

// A stream goes on where a page stands, and the other way round (F8).
func TestFeedCursors(t *testing.T) {
	over(t, allTransports, func(t *testing.T, over transport) {
		f := newFeedSite(t, setup{})
		f.send("alice", "one")
		page := f.page("feed?topic=inbox", "alice")
		f.send("alice", "two")
		l := f.resume(over, "topic=inbox", "alice", page.data.Cursor)
		l.want("welcome")
		l.wantShown("diff", "2/2 two")
		f.send("alice", "three")
		time.Sleep(100 * time.Millisecond) // until the node that has the stream knows
		if d := f.page(from("feed?topic=inbox", l.last), "alice"); shows(d) != "3/3 three" {
			t.Errorf("got %q, want three", shows(d))
		}
	})
}

func TestFeedRevalidates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeedSite(t, setup{})
		f.send("alice", "one")
		resp, body := f.fetch(request{path: "feed?topic=inbox", user: "alice"})
		tag := resp.Header.Get("ETag")
		if tag == "" || resp.Header.Get("Cache-Control") != "private, no-cache" || resp.Header.Get("Content-Type") != "application/json" {
			t.Errorf("got the header %v, want an entity tag, and no cache that asks nobody", resp.Header)
		}
		again := request{path: "feed?topic=inbox", user: "alice", header: map[string]string{"If-None-Match": "W/" + tag}}
		if resp, body := f.fetch(again); resp.StatusCode != 304 || body != "" || resp.Header.Get("ETag") != tag {
			t.Errorf("got %d %q, want 304", resp.StatusCode, body)
		}
		other := again
		other.user = "eve"
		if resp, _ := f.fetch(other); resp.StatusCode != 200 || resp.Header.Get("ETag") == tag {
			t.Errorf("another user got %d, want 200 and another tag", resp.StatusCode)
		}
		head := again
		head.method, head.header = http.MethodHead, nil
		if resp, empty := f.fetch(head); resp.StatusCode != 200 || empty != "" || resp.ContentLength != int64(len(body)) {
			t.Errorf("HEAD: got %d, %d bytes, want those of GET", resp.StatusCode, resp.ContentLength)
		}
		f.send("alice", "two")
		if resp, _ := f.fetch(again); resp.StatusCode != 200 {
			t.Errorf("got %d after a change, want 200", resp.StatusCode)
		}
	})
}

// What a mark does, by its body. In each case alice has the unseen items c, b and a at the
// places 3, 2 and 1. They are about thread:1.
func TestMark(t *testing.T) {
	for body, want := range map[string]string{
		`{"topic":"inbox","as":"read","pos":[1,3]}`:                           "1/1 c:read b a:read",
		`{"as":"read","pos":[3,3,3]}`:                                         "2/2 c:read b a",
		`{"topic":"inbox","as":"archived","pos":[2,999,9223372036854775807]}`: "2/2 c a",
		`{"topic":"inbox","as":"read","about":"thread:1"}`:                    "0/0 c:read b:read a:read",
		`{"topic":"inbox","as":"read","about":"thread:1","upto":2}`:           "1/1 c b:read a:read",
		`{"topic":"inbox","as":"read","about":"thread:2"}`:                    "3/3 c b a",
		`{"topic":"inbox","as":"read","upto":2}`:                              "1/1 c b:read a:read",
		`{"topic":"inbox","as":"unread","upto":9223372036854775807}`:          "3/3 c b a",
		`{"topic":"inbox","as":"seen"}`:                                       "3/0 c b a",
		`{"topic":"inbox","as":"seen","upto":2}`:                              "3/1 c b a",
		`{"as":"archived","as":"read","pos":[1]}`:                             "2/2 c b a:read", // the last one counts, as in all JSON here
	} {
		bubble(t, body, func(t *testing.T) {
			f := newFeedSite(t, setup{})
			f.send("alice", "a", "b", "c")
			f.send("eve", "hers")
			var head struct {
				Cursor         string
				Unread, Unseen int
			}
			for range 2 { // a mark may be repeated (F7)
				noError(t, json.Unmarshal([]byte(f.wantStatus(post("feed/mark", "alice", body), 200)), &head))
				page := f.page("feed?topic=inbox", "alice")
				if got := shows(page); got != want || head.Cursor != page.data.Cursor || fmt.Sprintf("%d/%d", head.Unread, head.Unseen) != want[:3] {
					t.Errorf("got %q after the answer %+v, want %q", got, head, want)
				}
			}
			if got := shows(f.page("feed?topic=inbox", "eve")); got != "1/1 hers" {
				t.Errorf("got %q of another user, want it untouched", got)
			}
		})
	}
}

func TestMutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeedSite(t, setup{handlers: unlimited()})
		list := func(want string) {
			t.Helper()
			if got := f.wantStatus(request{path: "mutes?me=alice", user: "alice"}, 200); got != `{"mutes":[`+want+`]}` {
				t.Errorf("got %s, want %s", got, want)
			}
		}
		list("")
		f.wantStatus(put("mutes?me=alice", "alice", `{"scope":"type:reply","how":"all"}`), 204)
		f.wantStatus(put("mutes", "alice", `{"scope":"about:thread:1","how":"mail","for":3600}`), 204)
		f.wantStatus(put("mutes", "alice", `{"scope":"*","how":"mail","for":0}`), 204)
		list(`{"scope":"*","how":"mail"},{"scope":"about:thread:1","how":"mail","until":"2000-01-01T01:00:00.000Z"},{"scope":"type:reply","how":"all"}`)
		f.send("alice", "muted")
		f.send("bob", "not muted")
		if got := shows(f.page("feed?topic=inbox", "alice")) + ", " + shows(f.page("feed?topic=inbox", "bob")); got != "0/0, 1/1 not muted" {
			t.Errorf("got %q, want nothing for alice alone", got)
		}
		for _, scope := range []string{"type:reply", "*", "about:thread:1", "type:never"} {
			f.wantStatus(put("mutes", "alice", `{"scope":"`+scope+`","how":"nothing"}`), 204)
		}
		list("")
		for i := range feed.MaxMutes {
			f.wantStatus(put("mutes", "alice", fmt.Sprintf(`{"scope":"about:thread:%d","how":"all"}`, i)), 204)
		}
		if body := f.wantStatus(put("mutes", "alice", `{"scope":"*","how":"all"}`), 400); !strings.Contains(body, "Lift a mute first") {
			t.Errorf("got %s, want what to do", body)
		}
	})
}

// While the database is out the endpoints say so, and tell nothing of it.
func TestFeedsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeedSite(t, setup{})
		f.send("alice", "one")
		f.store.Out(true)
		for _, r := range []request{
			{path: "feed?topic=inbox", user: "alice"},
			{path: "feed?topic=feed:thread:1", user: "alice"},
			post("feed/mark", "alice", `{"as":"seen"}`),
			{path: "mutes", user: "alice"},
			put("mutes", "alice", `{"scope":"*","how":"all"}`),
		} {
			if body := f.wantStatus(r, 503); strings.Contains(body, "driver") || !strings.Contains(body, "nothing has changed") {
				t.Errorf("got %s, want that nothing has changed, and no more", body)
			}
		}
		f.store.Out(false)
		if got := shows(f.page("feed?topic=inbox", "alice")); got != "1/1 one" {
			t.Errorf("got %q, want nothing changed", got)
		}
	})
}

// A database that does not answer holds no request for longer than two seconds, and no stream:
// the site's other topics are there at once (F10).
func TestFeedsHang(t *testing.T) {
	over(t, allTransports, func(t *testing.T, over transport) {
		store := new(hanging)
		f := newFeedSite(t, setup{feedStore: func(inner feed.Store) feed.Store {
			store.Store = inner
			return store
		}})
		f.send("alice", "one")
		store.hangs.Store(true)
		for _, r := range []request{
			{path: "feed?topic=inbox", user: "alice"},
			post("feed/mark", "alice", `{"as":"seen"}`),
			{path: "mutes", user: "alice"},
			put("mutes", "alice", `{"scope":"*","how":"all"}`),
		} {
			begin := time.Now()
			if f.wantStatus(r, 503); time.Since(begin) > 2*time.Second {
				t.Errorf("%s: got an answer after %v, want one within 2s", r.path, time.Since(begin))
			}
		}
		begin := time.Now()
		l := f.follow(over, "topic=site&topic=inbox", "alice")
		l.want("welcome")
		if e := l.want("state"); e.data.Topic != "site" || time.Since(begin) > 2*time.Second {
			t.Errorf("got the state of %s after %v, want that of site within 2s", e.data.Topic, time.Since(begin))
		}
		store.hangs.Store(false)
		l.wantShown("state", "1/1 one")
	})
}

// Marks and mutes count with a visitor's other changes.
func TestFeedRates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeedSite(t, setup{})
		for i := range 20 {
			f.wantStatus([]request{post("feed/mark", "alice", `{"as":"seen"}`), put("mutes", "alice", `{"scope":"*","how":"all"}`)}[i%2], []int{200, 204}[i%2])
		}
		f.wantStatus(post("feed/mark", "alice", `{"as":"seen"}`), 429)
		f.wantStatus(put("mutes", "alice", `{"scope":"*","how":"all"}`), 429)
		f.wantStatus(post("feed/mark", "bob", `{"as":"seen"}`), 200)
	})
}

// A mark of an item that moved up since the page saw it changes nothing: no reply is read
// unseen (F7).
func TestMarkOfAMovedItem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeedSite(t, setup{})
		reply := func(text string) {
			f.relay(feed.Message{To: []presence.UserID{"alice"}, From: "dora", About: "thread:1", Group: "replies", Text: text})
		}
		reply("first")
		seen := f.page("feed?topic=inbox", "alice").data.Items[0]
		reply("second")
		if moved := f.page("feed?topic=inbox", "alice").data.Items[0]; moved.ID != seen.ID || moved.Pos == seen.Pos {
			t.Fatalf("got %+v after %+v, want the same item at another place", moved, seen)
		}
		for _, body := range []string{fmt.Sprintf(`{"as":"read","pos":[%d]}`, seen.Pos), fmt.Sprintf(`{"as":"read","upto":%d}`, seen.Pos), fmt.Sprintf(`{"as":"seen","upto":%d}`, seen.Pos)} {
			f.wantStatus(post("feed/mark", "alice", body), 200)
			if got := shows(f.page("feed?topic=inbox", "alice")); got != "1/1 second" {
				t.Errorf("after %s: got %q, want the second unread and unseen", body, got)
			}
		}
	})
}

// With times=1 the items of an inbox say when they were seen and read. A mark that changes nothing
// else changes the entity tag too.
func TestFeedTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeedSite(t, setup{handlers: unlimited()})
		f.send("alice", "one", "two")
		f.post("thread:1", "hello")
		read := func(path string, r request) string {
			t.Helper()
			r.path, r.user = path, "alice"
			return f.wantStatus(r, 200)
		}
		plain := read("feed?topic=inbox", request{})
		if got := read("feed?topic=inbox&times=1", request{}); got != plain {
			t.Errorf("nothing is seen or read: got %s, want %s", got, plain)
		}
		mark := func(body string) {
			t.Helper()
			f.wantStatus(post("feed/mark", "alice", body), 200)
			time.Sleep(time.Second)
		}
		mark(`{"topic":"inbox","as":"read","pos":[1,2]}`)
		resp, _ := f.fetch(request{path: "feed?topic=inbox&times=1", user: "alice"})
		same := map[string]string{"If-None-Match": resp.Header.Get("ETag")}
		f.wantStatus(request{path: "feed?topic=inbox&times=1", user: "alice", header: same}, 304)
		before := read("feed?topic=inbox", request{})
		mark(`{"topic":"inbox","as":"seen","upto":1}`)
		timed := read("feed?topic=inbox&times=1", request{header: same})
		if strings.Count(timed, `"read_at":"2000-01-01T`) != 2 || strings.Count(timed, `"seen_at":"2000-01-01T`) != 1 {
			t.Errorf("got %s, want two that were read, and one that was seen", timed)
		}
		if after := read("feed?topic=inbox", request{}); after != before {
			t.Errorf("without times: got %s, want %s as before", after, before)
		}
		if got, want := read("feed?topic=feed:thread:1&times=1", request{}), read("feed?topic=feed:thread:1", request{}); got != want {
			t.Errorf("a room: got %s, want %s", got, want)
		}
		for _, bad := range []string{"", "0", "2", "true", "1&times=0"} {
			f.wantStatus(request{path: "feed?topic=inbox&times=" + bad, user: "alice"}, 400)
		}
	})
}
