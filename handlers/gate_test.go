package handlers_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/internal/gate"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// Beats of guests that say hidden at another node count by their address, since all nodes are told. Their tokens end
// with the streams.
func TestGuestsBeatElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		faults := presencetest.NewFaults(store)
		s, other := newSite(t, setup{store: store}), newSite(t, fronted(setup{store: faults}))
		var tokens []string
		for range 10 {
			l := s.listen(request{path: "events?beat=1"})
			tokens = append(tokens, l.want("welcome").data.Connection)
			l.drain()
		}
		alice := s.listen(request{path: "events?beat=1", user: "alice"})
		hers := alice.want("welcome").data.Connection
		alice.drain()
		time.Sleep(time.Second)
		hide := func(token string) int {
			r := says("beat", "", token)
			r.body = strings.TrimSuffix(r.body, "}") + `,"hidden":true}`
			resp, _ := other.fetch(r)
			return resp.StatusCode
		}
		before, status := faults.Calls(presencetest.CallPublish), map[int]int{}
		for _, token := range tokens {
			for range 19 {
				status[hide(token)]++
			}
		}
		if got := faults.Calls(presencetest.CallPublish) - before; got > 80 || status[http.StatusNoContent] != 80 || status[http.StatusTooManyRequests] != 110 {
			t.Errorf("got %d notices and statuses %v for 190 beats in a moment, want 80 at most, 80 times 204, and 429", got, status)
		}
		if got := hide(hers); got != http.StatusNoContent {
			t.Errorf("a user at the same address: got status %d, want 204", got)
		}
		time.Sleep(15 * time.Minute)
		if got := hide(tokens[0]); got != http.StatusNoContent {
			t.Errorf("a stream that may still be open: got status %d, want 204", got)
		}
		time.Sleep(3 * time.Minute)
		if got := hide(tokens[0]); got != http.StatusGone {
			t.Errorf("after the greatest age of a stream: got status %d, want 410", got)
		}
	})
}

// The store is asked once a second for a first page of recent users. What an address asks beyond that is paid for
// by the users whom the store looks at. Others notice nothing.
func TestRecentIsPaidFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := presencetest.NewFaults(memstore.New())
		s := newSite(t, setup{store: faults, wrap: fromHeader, presence: track.Config{Kinds: map[string]presence.Kind{"site": {Recent: 1000}}}})
		s.see("site", "alice")
		ask := func(query, address, user string) int {
			resp, _ := s.fetch(request{path: "recent?" + query, user: user, header: map[string]string{"X-Addr": address}})
			return resp.StatusCode
		}
		calls := func(n int, query func(i int) string) int {
			before := faults.Calls(presencetest.CallRecent)
			for i := range n {
				ask(query(i), "192.0.2.1:1", "")
			}
			return faults.Calls(presencetest.CallRecent) - before
		}
		same := func(int) string { return "limit=1000" }
		if got := calls(100, same); got != 1 {
			t.Errorf("got %d calls of the store for 100 equal requests, want 1", got)
		}
		time.Sleep(time.Minute)
		other := func(i int) string { return fmt.Sprint("limit=1000&group=g", i) }
		if got := calls(1000, other); got != 160 {
			t.Errorf("got %d calls of the store at once, for 100 users each, want 160: 5 tokens of 800 for each", got)
		}
		time.Sleep(time.Second)
		if got := calls(1000, other); got < 36 || got > 44 {
			t.Errorf("got %d calls of the store a second later, want 40", got)
		}
		for _, who := range [][2]string{{"192.0.2.2:1", ""}, {"192.0.2.1:1", "bob"}} {
			if got := ask("group=staff", who[0], who[1]); got != http.StatusOK {
				t.Errorf("%s %s: got status %d, want 200", who[0], who[1], got)
			}
		}
	})
}

// A client that subscribes and unsubscribes by turns gets a state a second, as by messages snapshot.
func TestSubscribingAgainIsPaced(t *testing.T) {
	onSite(t, setup{handlers: handlers.Config{Authorize: threads}}, func(t *testing.T, s *site) {
		c := s.talk(request{path: "ws?topic=thread:1&observe=1"})
		c.started(1)
		events := c.feed()
		for i := range 60 {
			c.say([]string{`{"type":"subscribe","topic":"site"}`, `{"type":"unsubscribe","topic":"site"}`}[i%2])
			time.Sleep(50 * time.Millisecond)
		}
		states := func() (n int) {
			for len(events) > 0 {
				if e := <-events; e.typ == "state" && e.data.Topic == "site" {
					n++
				}
			}
			return n
		}
		if got := states(); got < 1 || got > 4 {
			t.Errorf("got %d states for 30 subscriptions in 3 s, want one a second at most", got)
		}
		c.say(`{"type":"subscribe","topic":"site"}`)
		time.Sleep(time.Minute)
		if got := states(); got == 0 {
			t.Error("got no state after the last subscription, want one")
		}
	})
}

// All sockets of a user pay from one account: what is asked for beyond it comes later, and no less.
func TestSocketsShareAnAccount(t *testing.T) {
	onSite(t, setup{handlers: handlers.Config{Authorize: anyTopic}}, func(t *testing.T, s *site) {
		const sockets, topics = 20, 15
		path := "ws?observe=1"
		for i := range topics {
			path += fmt.Sprint("&topic=thread:", i)
		}
		var all []<-chan event
		var talkers []talker
		for range sockets {
			c := s.talk(request{path: path, user: "alice"})
			c.started(topics)
			talkers, all = append(talkers, c), append(all, c.feed())
		}
		states := func() (n int) {
			for _, events := range all {
				for len(events) > 0 {
					if e := <-events; e.typ == "state" {
						n++
					}
				}
			}
			return n
		}
		time.Sleep(time.Minute)
		states()
		for i := range topics {
			for _, c := range talkers {
				c.say(fmt.Sprintf(`{"type":"snapshot","topic":"thread:%d"}`, i))
			}
		}
		time.Sleep(900 * time.Millisecond)
		atOnce := states()
		time.Sleep(20 * time.Second)
		if later := states(); atOnce > 250 || atOnce+later != sockets*topics {
			t.Errorf("got %d states at once and %d later, want 200 and 50 a second, and %d in all", atOnce, later, sockets*topics)
		}
	})
}

// A list is paid for before the first question. So nobody asks the site or the store for an answer that is refused.
func TestListsArePaidForFirst(t *testing.T) {
	for name, path := range map[string]string{
		"counts":          "counts?another=%d&" + manyParams("topic=thread:%d", 90),
		"where":           "where?limit=60&another=%d",
		"a page of where": "where?limit=20&after=eyJUb3BpYyI6IngiLCJUb3RhbCI6OX0&another=%d",
		"a group":         "recent?limit=100&group=g%d",
	} {
		bubble(t, name, func(t *testing.T) {
			asked := 0
			faults := presencetest.NewFaults(memstore.New())
			s := newSite(t, setup{store: faults, presence: track.Config{Kinds: map[string]presence.Kind{"site": {Recent: 1000}}}, handlers: handlers.Config{Authorize: func(_ *http.Request, _ presence.Visitor, topic presence.Topic) bool {
				if topic.Kind() == "thread" {
					asked++
				}
				return true
			}}})
			for i := range 300 {
				s.see(presence.Topic(fmt.Sprint("thread:", i)), "alice")
				s.see("site", presence.UserID(fmt.Sprint("u", i)))
			}
			time.Sleep(5 * time.Second)
			s.fetch(request{path: "where", user: "alice"}) // has the places read
			time.Sleep(5 * time.Second)
			status := map[int]int{}
			for i := range 300 {
				asked = 0
				recents := faults.Calls(presencetest.CallRecent)
				resp, _ := s.fetch(request{path: fmt.Sprintf(path, i), user: "eve"})
				if status[resp.StatusCode]++; resp.StatusCode != http.StatusOK && asked+faults.Calls(presencetest.CallRecent)-recents > 0 {
					t.Errorf("request %d: got status %d after %d questions to the site and %d to the store, want none", i, resp.StatusCode, asked, faults.Calls(presencetest.CallRecent)-recents)
				}
				time.Sleep(time.Second / 64)
			}
			if status[http.StatusOK] < 10 || status[http.StatusTooManyRequests] < 10 {
				t.Errorf("got statuses %v, want answers and refusals", status)
			}
		})
	}
}

// What the site says about the topics of a list is remembered for two seconds, for the same request of the same
// browser and for no other.
func TestRightsAreRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		s := newSite(t, setup{handlers: handlers.Config{Authorize: func(*http.Request, presence.Visitor, presence.Topic) bool {
			asked++
			return true
		}}})
		questions := func(cookie string) int {
			asked = 0
			s.fetch(request{path: "counts?topic=thread:1&topic=thread:2", header: map[string]string{"Cookie": cookie}})
			return asked
		}
		got := []int{questions("a=1"), questions("a=1"), questions("a=2")}
		time.Sleep(2 * time.Second)
		if got = append(got, questions("a=1")); fmt.Sprint(got) != "[2 0 2 2]" {
			t.Errorf("got %v questions for a request, the same, that of another browser, and the first 2 s later, want [2 0 2 2]", got)
		}
	})
}

// What answers cost, in requests: 200 at once and 50 a second. A stream pays for each topic in which its user is
// recorded, a stream of HTML for its messages and their bytes, and a list for the topics that the store is asked about.
func TestWhatAnswersCost(t *testing.T) {
	widget := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, "%8192s", "") })
	onSite(t, setup{handlers: handlers.Config{Authorize: anyTopic, Widget: widget}}, func(t *testing.T, s *site) {
		sixteen := manyParams("topic=thread:%d", 16)
		s.listen(request{path: "events?" + sixteen, user: "the first"}).drain() // so the topics are in memory
		for i, answer := range []struct {
			path string
			cost float64
		}{
			{"events?observe=1&" + sixteen, 1},
			{"events?" + sixteen, 9},                           // 15/2 and 16/20
			{"poll?wait=1&" + sixteen, 9},                      // the same
			{"events?as=html&observe=1&" + sixteen, 9},         // 16/4 for messages, and 16/4 for their bytes
			{"counts?" + manyParams("topic=thread:%d", 40), 2}, // 40/20
		} {
			began, user, got := time.Now(), fmt.Sprint("user", i), 0.0
			for range 1000 {
				resp := s.do(request{path: answer.path, user: user})
				if resp.StatusCode == http.StatusOK {
					got++
					synctest.Wait() // until a stream of HTML has written
				}
				resp.Body.Close()
				synctest.Wait() // until the stream is gone
			}
			if cost := (200 + 50*time.Since(began).Seconds()) / got; cost < 0.9*answer.cost || cost > 1.1*answer.cost {
				t.Errorf("%.60s: got a cost of %.2f requests, want %.0f", answer.path, cost, answer.cost)
			}
		}
	})
}

// Bytes that are sent already are owed: whoever has no token left gets the next one later.
func TestBytesAreOwed(t *testing.T) {
	onSite(t, setup{}, func(t *testing.T, s *site) {
		for i := range 500 {
			s.tracker.Seen("site", presence.User{ID: presence.UserID(fmt.Sprint("u", i)), Name: strings.Repeat("x", 200)}, presence.Device{})
		}
		time.Sleep(5 * time.Second)
		const seconds = 20
		answers, bytes := 0, 0
		for range 100 * seconds {
			if resp, body := s.fetch(request{path: "roster?limit=500", user: "alice"}); resp.StatusCode == http.StatusOK {
				answers, bytes = answers+1, len(body)
			}
			time.Sleep(10 * time.Millisecond)
		}
		each := (bytes + 32<<10 - 1) >> 15 // tokens: one for 32 KiB
		if want := (200 + 50*seconds) / each; each < 4 || answers < want*9/10 || answers > want*11/10 {
			t.Errorf("got %d answers of %d bytes in %d s, want %d", answers, bytes, seconds, want)
		}
	})
}

// Expensive requests of one user are served by half of the cores. What is in memory, and others, do not wait for them.
func TestExpensiveRequestsTakeTurns(t *testing.T) {
	var running, most atomic.Int64
	slow := func(_ *http.Request, v presence.Visitor, topic presence.Topic) bool {
		if v.User.ID == "eve" && topic == "thread:0" {
			most.Store(max(most.Load(), running.Add(1)))
			time.Sleep(time.Second / 10)
			running.Add(-1)
		}
		return true
	}
	onSite(t, setup{handlers: handlers.Config{Authorize: slow}}, func(t *testing.T, s *site) {
		list := manyParams("topic=thread:%d", 50)
		s.names("site") // is loaded
		for i := range 8 {
			go func() {
				_ = s.do(request{path: fmt.Sprintf("counts?another=%d&%s", i, list), user: "eve"}).Body.Close()
			}()
		}
		synctest.Wait()
		began := time.Now()
		s.fetch(request{path: "roster", user: "eve"})
		s.fetch(request{path: "counts?" + list, user: "bob"})
		if took := time.Since(began); took > 0 {
			t.Errorf("a page in memory, and another user, waited for %v", took)
		}
		time.Sleep(2 * time.Second)
		if got, want := most.Load(), int64(max(1, runtime.GOMAXPROCS(0)/2)); got != want {
			t.Errorf("%d expensive requests of a user ran at a time, want %d", got, want)
		}
	})
}

// Streams of HTML leave half of what their address may ask for at once to the requests there, however many and large
// they are, and go on meanwhile. What a flood of answers owes makes its neighbors wait for two seconds at most.
func TestNeighborsOfAFlood(t *testing.T) {
	const size = 280 << 10 // nine reads
	here := func(path, guest string) request {
		return request{path: path, header: map[string]string{"X-Addr": "192.0.2.1:1", "X-Guest": guest}}
	}
	widget := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, "%*s", size, "") })
	bubble(t, "streams", func(t *testing.T) {
		s := newSite(t, setup{wrap: fromHeader, handlers: handlers.Config{Widget: widget}})
		s.see("site", "alice")
		for range 256 { // twelve seconds, which pay for their first messages
			stream := s.do(here("events?as=html", ""))
			defer stream.Body.Close()
			go io.Copy(io.Discard, stream.Body)
			time.Sleep(time.Second / 20)
		}
		time.Sleep(5 * time.Second)
		before := s.handler.Stats().Events
		for i := range 60 {
			s.tracker.Seen("site", presence.User{ID: presence.UserID(fmt.Sprint("u", i))}, presence.Device{}) // so each stream has a message due
			for range 25 {
				time.Sleep(20 * time.Millisecond)
				if resp, _ := s.fetch(here("roster", "bob")); resp.StatusCode != http.StatusOK {
					t.Fatalf("a neighbor, after %d s: got status %d, want 200", i/2, resp.StatusCode)
				}
			}
		}
		if got := s.handler.Stats().Events - before; got < 300 || got > 1000 {
			t.Errorf("got %d messages of streams in 30 s, want about 500: 4,500 reads were left for them", got)
		}
	})
	bubble(t, "debt", func(t *testing.T) {
		account := newSite(t, setup{}).handler.Account(httptest.NewRequest(http.MethodGet, "/presence/roster", nil))
		account(gate.Token*100_000, gate.After)
		time.Sleep(1900 * time.Millisecond)
		refused := account(gate.Token, gate.Before)
		time.Sleep(200 * time.Millisecond)
		if answered := account(gate.Token, gate.Before); refused || !answered {
			t.Errorf("got %v and %v, want no answer until two seconds have passed", refused, answered)
		}
	})
}

// Honest visitors never see 429: 200 guests behind one address who open a page within ten seconds and keep it open,
// a user with sixteen tabs, a page of a hundred dots, and a crawler.
func TestHonestVisitorsAreNotRefused(t *testing.T) {
	onSite(t, setup{wrap: fromHeader, handlers: handlers.Config{Authorize: anyTopic}}, func(t *testing.T, s *site) {
		for i := range 300 {
			s.see("site", presence.UserID(fmt.Sprint("u", i)))
		}
		counts, dots := "counts?"+manyParams("topic=thread:%d", 30), "users?"+manyParams("id=author%d", 100)
		get := func(path, user, guest, address string) {
			resp, body := s.fetch(request{path: path, user: user, header: map[string]string{"X-Guest": guest, "X-Addr": address}})
			if resp.StatusCode != http.StatusOK {
				t.Errorf("%.40s by %q and %q: got status %d (%s), want 200", path, user, guest, resp.StatusCode, body)
			}
		}
		page := func(user, guest, address string) {
			s.listen(request{path: "events?topic=site&topic=thread:1&beat=auto", user: user, header: map[string]string{"X-Guest": guest, "X-Addr": address}}).drain()
			for _, path := range []string{counts, dots, "roster", "where", "recent?topic=site"} {
				get(path, user, guest, address)
			}
		}
		for i := range 200 {
			page("", fmt.Sprint("g", i), "192.0.2.1:1")
			time.Sleep(50 * time.Millisecond)
		}
		for range 16 {
			page("alice", "", "192.0.2.1:1")
			time.Sleep(50 * time.Millisecond)
		}
		for second := range 60 {
			for i := range 200 {
				if i%60 == second { // each page once a minute
					get(counts, "", fmt.Sprint("g", i), "192.0.2.1:1")
					get("where", "", fmt.Sprint("g", i), "192.0.2.1:1")
				}
			}
			for range 5 { // a crawler
				get(fmt.Sprint("roster?limit=100&another=", second), "", "", "192.0.2.3:1")
				get(fmt.Sprint("where?another=", second), "", "", "192.0.2.3:1")
			}
			time.Sleep(time.Second)
		}
		if got := s.handler.Stats().Limited; got != 0 {
			t.Errorf("got %d requests limited, want none", got)
		}
	})
}
