package handlers_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
)

// A converter is a Config.Down that remembers what it was asked.
type converter struct {
	mu    sync.Mutex
	asked []string
	does  func(data string) (string, bool)
}

func (c *converter) down(typ string, from, to int, data json.RawMessage) (json.RawMessage, bool) {
	c.mu.Lock()
	c.asked = append(c.asked, fmt.Sprintf("%s %d to %d: %s", typ, from, to, data))
	c.mu.Unlock()
	converted, ok := c.does(string(data))
	return json.RawMessage(converted), ok
}

func (c *converter) times() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.asked)
}

// lines returns what a stream of Server-Sent Events has sent within a second, line by line.
func (s *site) lines(query, user string, then func()) []string {
	l := new(goldenLog)
	resp := s.do(request{path: "events?" + query, user: user})
	defer resp.Body.Close()
	go func() {
		b := make([]byte, 1<<10)
		for n, err := resp.Body.Read(b); err == nil; n, err = resp.Body.Read(b) {
			l.Write(b[:n])
		}
	}()
	time.Sleep(time.Second)
	then()
	time.Sleep(time.Second)
	return strings.Split(l.text(), "\n")
}

// wantLine fails unless a line contains a text.
func wantLine(t *testing.T, lines []string, want string) {
	t.Helper()
	for _, line := range lines {
		if strings.Contains(line, want) {
			return
		}
	}
	t.Errorf("got\n%s\nwant a line with\n%s", strings.Join(lines, "\n"), want)
}

// What a page gets of an item and a signal of version 2 that knows version 1, by what
// Config.Down makes of the data. E5: text and url are there whatever happens.
func TestTypes(t *testing.T) {
	const head, tail = `"about":"thread:1","text":"dora replied","url":"/threads/1",`, `"state":"unread"`
	for name, tt := range map[string]struct {
		types string
		down  func(data string) (string, bool) // nil: there is no Config.Down
		item  string                           // from v on, without the common fields
		words string                           // of the signal, from v on
		asked int
	}{
		"not said":        {"", nil, `"v":2|` + head + `"data":{"post":2},` + tail, `"v":2,"data":{"n":1}}`, 0},
		"another type":    {"other:1", nil, `"v":2|` + head + `"data":{"post":2},` + tail, `"v":2,"data":{"n":1}}`, 0},
		"known":           {"reply:2,other:1", nil, `"v":2|` + head + `"data":{"post":2},` + tail, `"v":2,"data":{"n":1}}`, 0},
		"no Down":         {"reply:1", nil, `"v":2|` + head + tail + `,"refresh":true`, `"v":2,"refresh":true}`, 0},
		"converted":       {"reply:1", func(d string) (string, bool) { return strings.ToUpper(d), true }, `"v":1|` + head + tail + `,"data":{"POST":2}`, `"v":1,"data":{"N":1}}`, 2},
		"to nothing":      {"reply:1", func(string) (string, bool) { return "", true }, `"v":1|` + head + tail, `"v":1}`, 2},
		"with breaks":     {"reply:1", func(string) (string, bool) { return "{\n\"a\":\r\n1}", true }, `"v":1|` + head + tail + `,"data":{"a":1}`, `"v":1,"data":{"a":1}}`, 2},
		"cannot":          {"reply:1", func(string) (string, bool) { return "{}", false }, `"v":2|` + head + tail + `,"refresh":true`, `"v":2,"refresh":true}`, 2},
		"panics":          {"reply:1", func(string) (string, bool) { panic("no") }, `"v":2|` + head + tail + `,"refresh":true`, `"v":2,"refresh":true}`, 2},
		"no JSON":         {"reply:1", func(string) (string, bool) { return "{", true }, `"v":2|` + head + tail + `,"refresh":true`, `"v":2,"refresh":true}`, 2},
		"no UTF-8":        {"reply:1", func(string) (string, bool) { return "\"\xff\"", true }, `"v":2|` + head + tail + `,"refresh":true`, `"v":2,"refresh":true}`, 2},
		"too large":       {"reply:1", func(string) (string, bool) { return `"` + strings.Repeat("x", 16<<10) + `"`, true }, `"v":2|` + head + tail + `,"refresh":true`, `"v":2,"refresh":true}`, 2},
		"slow":            {"reply:1", func(string) (string, bool) { time.Sleep(6 * time.Millisecond); return "{}", true }, `"v":2|` + head + tail + `,"refresh":true`, `"v":2,"refresh":true}`, 2},
		"just in time":    {"reply:1", func(string) (string, bool) { time.Sleep(4 * time.Millisecond); return "{}", true }, `"v":1|` + head + tail + `,"data":{}`, `"v":1,"data":{}}`, 2},
		"hangs for hours": {"reply:1", func(string) (string, bool) { time.Sleep(9 * time.Hour); return "{}", true }, `"v":2|` + head + tail + `,"refresh":true`, `"v":2,"refresh":true}`, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &converter{does: tt.down}
				cfg := handlers.Config{Authorize: anyTopic}
				if tt.down != nil {
					cfg.Down = c.down
				}
				f := newFeedSite(t, setup{handlers: cfg})
				f.relay(feed.Message{ID: "m1", To: []presence.UserID{"alice"}, From: "dora", Type: "reply", V: 2, About: "thread:1", Text: "{actors} replied", URL: "/threads/1", Data: []byte(`{"post":2}`)})
				query := "topic=inbox"
				if tt.types != "" {
					query += "&types=" + tt.types
				}
				v, rest, _ := strings.Cut(tt.item, "|")
				wanted := []string{`"type":"reply",` + v + `,`, `,"n":1,` + rest + `}]`}
				got := f.lines(query, "alice", func() {})
				_, poll := f.fetch(request{path: "poll?wait=1&" + query, user: "alice"})
				_, page := f.fetch(request{path: "feed?" + query, user: "alice"})
				for _, want := range wanted {
					wantLine(t, got, want)
					wantLine(t, []string{poll}, want)
					wantLine(t, []string{page}, want)
				}
				query = strings.Replace(query, "inbox", "site", 1)
				got = f.lines(query, "", func() {
					time.Sleep(2 * time.Second) // after the rest of a slow Down
					if err := f.tracker.Signal("site", presence.Signal{Type: "reply", V: 2, Data: []byte(`{"n":1}`)}); err != nil {
						t.Error(err)
					}
				})
				wantLine(t, got, `"signals":[{"type":"reply",`+tt.words+`]`)
				if got := c.times(); got != tt.asked {
					t.Errorf("asked %d times, want %d: %q", got, tt.asked, c.asked)
				}
				if tt.asked > 0 && (c.asked[0] != `reply 2 to 1: {"post":2}` || c.asked[1] != `reply 2 to 1: {"n":1}`) {
					t.Errorf("asked %q", c.asked)
				}
				if name == "hangs for hours" {
					time.Sleep(9 * time.Hour)
				}
			})
		})
	}
}

// A page that gets nothing but converted signals still gets its heartbeats.
func TestConvertedSignalsAreSilent(t *testing.T) {
	onSite(t, setup{}, func(t *testing.T, s *site) {
		l := s.follow(overSSE, "topic=site&types=note:1", "").started(1)
		until, beats := time.Now().Add(50*time.Second), 0
		go func() {
			for n := 0; time.Now().Before(until); n++ {
				if err := s.tracker.Signal("site", presence.Signal{Type: "note", V: 2, Data: fmt.Append(nil, n)}); err != nil {
					t.Error(err)
				}
				time.Sleep(5 * time.Second)
			}
		}()
		for time.Now().Before(until) {
			if e, _ := l.next(); e.typ == "heartbeat" {
				beats++
			}
		}
		if beats < 3 {
			t.Errorf("got %d heartbeats within 50 s, want one in 15 s", beats)
		}
	})
}

// Down is asked once for an event and a version, whatever the transports, and however many pages
// read it. Pages with other sets of types share the answer.
func TestDownOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &converter{does: func(d string) (string, bool) { return d, true }}
		s := newSite(t, setup{handlers: handlers.Config{Down: c.down}})
		var told []<-chan event
		for _, tr := range streams {
			for _, types := range []string{"note:1", "other:3,note:1", "note:2"} {
				for range 3 {
					told = append(told, s.follow(tr, "topic=site&types="+types, "").started(1).feed())
				}
			}
		}
		if err := s.tracker.Signal("site", presence.Signal{Type: "note", V: 3, Data: []byte("7")}); err != nil {
			t.Error(err)
		}
		for _, events := range told {
			if e := <-events; e.typ != "signal" {
				t.Errorf("got %+v, want a signal", e)
			}
		}
		if got := c.times(); got != 2 {
			t.Errorf("asked %d times, want once a version: %q", got, c.asked)
		}
	})
}

// A Down that hangs delays a stream once a second at most, and each failure is logged once a
// minute.
func TestDownHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := new(logbook)
		c := &converter{does: func(string) (string, bool) { time.Sleep(time.Hour); return "", true }}
		s := newSite(t, setup{presence: log.config(), handlers: handlers.Config{Down: c.down}})
		told := s.follow(overSSE, "topic=site&types=note:1", "").started(1).feed()
		began := time.Now()
		for n := range 8 {
			if err := s.tracker.Signal("site", presence.Signal{Type: "note", V: 2, Data: fmt.Append(nil, n)}); err != nil {
				t.Error(err)
			}
			<-told
		}
		if took := time.Since(began); took > 8*60*time.Millisecond {
			t.Errorf("eight signals took %v", took)
		}
		if asked, logged := c.times(), log.count("Config.Down took too long"); asked != 1 || logged != 1 {
			t.Errorf("asked %d times, logged %d times; want once each", asked, logged)
		}
		time.Sleep(time.Hour)
	})
}

// The items of an event are converted side by side, so it waits as long as for one.
func TestDownOfManyItems(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &converter{does: func(d string) (string, bool) { time.Sleep(4 * time.Millisecond); return d, true }}
		f := newFeedSite(t, setup{handlers: handlers.Config{Down: c.down}})
		for i := range 50 {
			f.relay(feed.Message{To: []presence.UserID{"alice"}, From: "dora", Type: "reply", V: 2, Text: "hello", Data: fmt.Append(nil, i)})
		}
		began := time.Now()
		_, page := f.fetch(request{path: "feed?topic=inbox&limit=50&types=reply:1", user: "alice"})
		if took := time.Since(began); took > 15*time.Millisecond {
			t.Errorf("the answer took %v", took)
		}
		if n, asked := strings.Count(page, `"type":"reply","v":1,`), c.times(); n != 50 || asked != 50 {
			t.Errorf("got %d items converted and %d questions, want 50: %s", n, asked, page)
		}
	})
}

// A list of types that cannot be read is refused.
func TestTypesRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeedSite(t, setup{handlers: unlimited()})
		var sixteen []string
		for i := range 16 {
			sixteen = append(sixteen, fmt.Sprintf("t%d:1", i))
		}
		many := strings.Join(sixteen, ",")
		long := strings.Repeat("x", 32) + ":"
		for types, want := range map[string]int{
			"": 200, "reply:1": 200, "a.b_c-9:2147483647": 200, many: 200, long + "1": 200, "a:1&types=b:1": 200,
			many + ",t16:1": 400, "x" + long + "1": 400, "a:0001" + strings.Repeat("0", 260): 400, "reply": 400, "reply:": 400, "reply:0": 400,
			"reply:-1": 400, "reply:x": 400, "reply:1,": 400, ",": 400, ":1": 400, "Reply:1": 400, "a:1,a:2": 400, "a:1&types=a:1": 400, "a:2147483648": 400,
		} {
			for _, path := range []string{"poll?wait=1&topic=site", "feed?topic=inbox"} {
				if resp, body := f.fetch(request{path: path + "&types=" + types, user: "alice"}); resp.StatusCode != want {
					t.Errorf("%s: types %q: got %d %s, want %d", path, types, resp.StatusCode, body, want)
				}
			}
		}
	})
}

// More sets than are kept work too.
func TestManySets(t *testing.T) {
	onSite(t, setup{handlers: handlers.Config{MaxRate: -1}}, func(t *testing.T, s *site) {
		var told []<-chan event
		for i := range 40 {
			told = append(told, s.follow(overSSE, fmt.Sprintf("topic=site&types=t%d:1", i), "").started(1).feed())
		}
		if got := s.handler.KeptTypeSets(); got != 16 {
			t.Errorf("got %d sets kept, want 16", got)
		}
		s.see("site", "bob")
		for i, events := range told {
			if e := <-events; keys(e.data.Joins) != "bob" {
				t.Errorf("stream %d: got %+v, want bob's join", i, e)
			}
		}
	})
}
