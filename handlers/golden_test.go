package handlers_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gobwas/ws"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// E3, E1: a page of version 1 gets these bytes. A field that is renamed, or moves, breaks pages that are open now. New fields may
// come: UPDATE_GOLDEN=1 writes the files anew, and the difference must show new fields only.
func TestGolden(t *testing.T) {
	for name, follow := range map[string]func(f *feedSite) string{
		"events": followSSE, "ws": followSocket, "poll": followPolls,
	} {
		bubble(t, name, func(t *testing.T) {
			f := newFeedSite(t, setup{
				presence: track.Config{Directory: presencetest.NewMemoryDirectory(), Grace: -1, Node: "n1", Kinds: map[string]presence.Kind{"hall": {CountOnly: true}}},
				handlers: handlers.Config{App: "4.13.0", Authorize: anyTopic},
			})
			f.relay(feed.Message{ID: "m0", To: []presence.UserID{"alice"}, From: "dora", Type: "reply", Text: "{actors} replied", URL: "/threads/1"})
			wantGolden(t, name, follow(f))
		})
	}
}

const goldenQuery = "v=1&topic=site&topic=hall:1&topic=inbox&topic=feed:thread:1&topic=people&person=bob"

// goldenSteps lead to each event that there is, one after the other.
func (f *feedSite) goldenSteps(then func()) {
	signal := func(s presence.Signal) func() {
		return func() {
			if err := f.tracker.Signal("site", s); err != nil {
				f.t.Error(err)
			}
		}
	}
	stream := func(topic, user string) (open, end func()) {
		var l *listener
		return func() {
			l = f.listen(request{path: "events?topic=" + topic, user: user, header: map[string]string{"X-Device": "b1"}}).started(1)
			l.drain()
		}, func() { l.close() }
	}
	eveComes, eveGoes := stream("site", "eve")
	bobComes, bobGoes := stream("thread:9", "bob")
	for _, step := range []func(){
		func() {
			f.tracker.Seen("site", presence.User{ID: "carol", Name: "Carol <3", Avatar: "/carol.png", URL: "/u/carol", Data: []byte(`{"team":"red"}`)}, presence.Device{})
		},
		func() { f.tracker.Seen("hall:1", presence.User{ID: "carol", Name: "Carol"}, presence.Device{}) },
		func() {
			f.relay(feed.Message{ID: "m1", To: []presence.UserID{"alice"}, From: "bob", Type: "reply", V: 2, About: "thread:1", Text: "{actors} replied", URL: "/threads/1#p2", Data: []byte(`{"post":2}`)})
		},
		func() {
			f.relay(feed.Message{ID: "m2", Feed: "thread:1", From: "dora", Type: "post", Text: "Hello."})
		},
		eveComes, bobComes,
		signal(presence.Signal{Type: "replies", V: 3, Data: []byte(`{"n":17}`)}),
		eveGoes, bobGoes,
	} {
		step()
		time.Sleep(2 * time.Second)
		then()
	}
}

// A goldenLog is what a client has received.
type goldenLog struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *goldenLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *goldenLog) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func followSSE(f *feedSite) string {
	l := new(goldenLog)
	resp := f.do(request{path: "events?" + goldenQuery, user: "alice"})
	f.t.Cleanup(func() { resp.Body.Close() })
	go io.Copy(l, resp.Body)
	time.Sleep(2 * time.Second)
	f.goldenSteps(func() {})
	time.Sleep(20 * time.Second)
	return heartbeatsLast(l.text(), "\n\n")
}

func followSocket(f *feedSite) string {
	l := new(goldenLog)
	c := f.talk(request{path: "ws?beat=1&" + goldenQuery, user: "alice"})
	go func() {
		for {
			op, text, err := c.socket.frame()
			if err != nil {
				return
			}
			if op == ws.OpText {
				fmt.Fprintf(l, "%s\n", text)
			}
		}
	}()
	time.Sleep(2 * time.Second)
	f.goldenSteps(func() {})
	for _, message := range []string{`{"type":"what"}`, `{"type":"subscribe","topic":"thread:2"}`} {
		c.say(message)
		time.Sleep(2 * time.Second)
	}
	time.Sleep(20 * time.Second)
	return heartbeatsLast(l.text(), "\n")
}

func followPolls(f *feedSite) string {
	cursor := regexp.MustCompile(`^{"cursor":"([^"]*)"`)
	var all strings.Builder
	at := ""
	poll := func() {
		body := f.wantStatus(request{path: from("poll?wait=1&observe=1&"+goldenQuery, at), user: "alice"}, http.StatusOK)
		at = cursor.FindStringSubmatch(body)[1]
		all.WriteString(body + "\n")
	}
	poll()
	f.goldenSteps(poll)
	return all.String()
}

// heartbeatsLast moves one heartbeat of each topic to the end, without its figures: when they
// come is no part of a version.
func heartbeatsLast(text, end string) string {
	var others strings.Builder
	beats := map[string]bool{}
	for event := range strings.SplitAfterSeq(text, end) {
		if !strings.Contains(event, "heartbeat\"") && !strings.HasPrefix(event, "event: heartbeat") || strings.Contains(event, "welcome") {
			others.WriteString(event)
			continue
		}
		event = goldenCursor.ReplaceAllString(event, "${1}C")
		beats[goldenFigure.ReplaceAllString(event, ":N")] = true
	}
	return others.String() + strings.Join(slices.Sorted(maps.Keys(beats)), "")
}

// Parts of events that differ each time.
var (
	goldenToken  = regexp.MustCompile(`"connection":"[^"]*"`)
	goldenDetail = regexp.MustCompile(`"detail":"[^"]*"`)
	goldenFigure = regexp.MustCompile(`:\d+`)
	goldenRetry  = regexp.MustCompile(`(?m)^retry: \d+$`)
	goldenCursor = regexp.MustCompile(`(?m)("cursor":"|"prev":"|^id: |^\{"event":"[a-z]+","id":")([^"\n]*)`)
)

// wantGolden compares text with a file. Tokens, and what cursors name, are left out.
func wantGolden(t *testing.T, name, text string) {
	t.Helper()
	text = goldenToken.ReplaceAllString(text, `"connection":"TOKEN"`)
	text = goldenDetail.ReplaceAllString(text, `"detail":"DETAIL"`)
	text = goldenRetry.ReplaceAllString(text, "retry: N")
	names := map[string]string{}
	text = goldenCursor.ReplaceAllStringFunc(text, func(found string) string {
		parts := goldenCursor.FindStringSubmatch(found)
		if parts[2] == "" {
			return found
		}
		if names[parts[2]] == "" {
			names[parts[2]] = fmt.Sprint("C", len(names)+1)
		}
		return parts[1] + names[parts[2]]
	})
	path := filepath.Join("testdata", "golden", name+".txt")
	if os.Getenv("UPDATE_GOLDEN") != "" {
		noError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		noError(t, os.WriteFile(path, []byte(text), 0o644))
		return
	}
	want, err := os.ReadFile(path)
	noError(t, err)
	wanted := bufio.NewScanner(bytes.NewReader(want))
	for line := range strings.Lines(text) {
		wanted.Scan()
		if got := strings.TrimSuffix(line, "\n"); got != wanted.Text() {
			t.Fatalf("got  %s\nwant %s", got, wanted.Text())
		}
	}
	if wanted.Scan() {
		t.Errorf("got nothing more, want %s", wanted.Text())
	}
}
