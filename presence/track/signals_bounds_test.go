package track_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// TestSignalsAreBounded: S3 and S4. Visitors' signals, bytes and waiting signals have bounds, and
// what is over them is counted.
func TestSignalsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, memstore.New(), track.Config{MaxTopics: 10})
		const crowd = 80
		for i := range crowd {
			connect(t, tracker, track.ConnectOptions{Visitor: visitor(fmt.Sprint("u", i)), Topics: []presence.Topic{thread}})
		}
		eve := hear(t, tracker, track.ConnectOptions{})
		eve.quiet()
		told := 0
		for i := range 200 { // in a second
			whisper(t, tracker, fmt.Sprint("u", i%crowd), typing(0))
			time.Sleep(5 * time.Millisecond)
			told += strings.Count(fmt.Sprint(eve.read()), "typing")
		}
		if told < 45 || told > 60 {
			t.Errorf("got %d signals of visitors in a second, want 50, and 10 at once before", told)
		}
		if got := tracker.Stats().Signals.Often; got < 140 || got > 155 {
			t.Errorf("got %d too often, want the other 140 to 150", got)
		}

		time.Sleep(2 * time.Second)
		large := json.RawMessage(`"` + strings.Repeat("x", presence.MaxSignalData-2) + `"`)
		for i := range 100 {
			noError(t, tracker.Signal(thread, presence.Signal{Type: fmt.Sprint("t", i), Data: large}))
		}
		noError(t, tracker.Signal(thread, figure(1)))
		if got := tracker.Stats().Signals.Full; got != 1 {
			t.Errorf("got %d for which there was no room, want the one after 100", got)
		}
		time.Sleep(200 * time.Millisecond)
		eve.read()
		if got := tracker.Stats().Signals.Large; got < 45 || got > 55 {
			t.Errorf("got %d of 100 signals of 1 KiB dropped, want all beyond 50 KB", got)
		}

		for i := range 20 { // topics that nobody reads
			noError(t, tracker.Signal(presence.Topic(fmt.Sprint("made:", i)), figure(1)))
		}
		if got := tracker.Stats().Signals.Full; got < 10 {
			t.Errorf("got %d for which there was no room, want those of topics beyond MaxTopics", got)
		}
		time.Sleep(3 * time.Second)
		noError(t, tracker.Signal(thread, figure(2)))
		eve.quiet()
		if got := tracker.Stats().Signals.Full; got > 12 {
			t.Errorf("got %d for which there was no room, want room again after a second", got)
		}
	})
}

// TestSignalsAreShared: S3. Fourteen visitors who each send as often as handlers allow do not silence
// somebody else who types.
func TestSignalsAreShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, memstore.New(), track.Config{})
		for i := range 14 {
			connect(t, tracker, track.ConnectOptions{Visitor: visitor(fmt.Sprint("loud", i)), Topics: []presence.Topic{thread}})
		}
		connect(t, tracker, track.ConnectOptions{Visitor: visitor("zoe"), Topics: []presence.Topic{thread}})
		eve := hear(t, tracker, track.ConnectOptions{})
		eve.quiet()
		told, sent := 0, 0
		for i := range 4000 { // in 20 seconds
			if i%3 == 0 {
				whisper(t, tracker, fmt.Sprint("loud", i/3%14), typing(0))
			}
			if i%601 == 300 {
				sent++
				whisper(t, tracker, "zoe", typing(0))
			}
			time.Sleep(5 * time.Millisecond)
			told += strings.Count(fmt.Sprint(eve.read()), "zoe")
		}
		if told != sent {
			t.Errorf("got %d of zoe's %d signals, want all", told, sent)
		}
	})
}

// TestSignalsOfGarbage: whatever comes over a topic's channel is counted or passed over, and
// nothing else.
func TestSignalsOfGarbage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		tracker := start(t, store, track.Config{})
		eve := hear(t, tracker, track.ConnectOptions{Visitor: visitor("eve")})
		eve.quiet()
		garbage := []string{
			"", "!", "!1", "!2{}", "!1[]", "!1{", `!1{"signals":1}`, `!1{"signals":[{"type":"A"}]}`,
			`!1{"signals":[{"type":"t","for":31}]}`, `!1{"signals":[{"type":"t","for":1e400}]}`, `!1{"signals":[{"type":"t","v":-1}]}`,
			`!1{"signals":[{"type":"t","data":"` + strings.Repeat("x", presence.MaxSignalData) + `"}]}`,
			"!1{\"signals\":[{\"type\":\"t\",\"data\":\"\xff\"}]}", "!1{\"signals\":[" + strings.Repeat(`{"type":"t"},`, 200) + `{"type":"t"}]}`,
			strings.Repeat("!", 1<<20),
		}
		sent := uint64(0)
		for _, data := range garbage {
			if store.Send(t.Context(), backend.Broadcast{Topic: thread, Data: []byte(data)}) == nil {
				sent++
			}
		}
		eve.want()
		known := `!1{"new":[],"signals":[{"type":"t","v":2,"from":"eve","for":1.5,"data":{"a": "</script>` + `"},"new":{}}]}`
		_ = store.Send(t.Context(), backend.Broadcast{Topic: thread, Data: []byte(known)})
		eve.want(`signal t eve 1.5 {"a":"</script>"}`)
		if got := tracker.Stats().Signals.Invalid; got != sent || sent < 10 {
			t.Errorf("got %d invalid, want each of the %d that the store took", got, sent)
		}
	})
}

// TestSignalsOfMarkup: data of characters that HTML escapes are as long on their way as they were,
// and hold up no other signal.
func TestSignalsOfMarkup(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, memstore.New(), track.Config{})
		eve := hear(t, tracker, track.ConnectOptions{Topics: []presence.Topic{"thread:2"}})
		markup := hear(t, tracker, track.ConnectOptions{})
		eve.quiet()
		markup.quiet()
		longest := json.RawMessage(`"` + strings.Repeat("<", presence.MaxSignalData-2) + `"`)
		for _, err := range []error{tracker.Signal(thread, presence.Signal{Type: "t", Data: longest}), tracker.Signal("thread:2", figure(1))} {
			noError(t, err)
		}
		markup.want("signal t  0 " + string(longest))
		eve.want(`signal replies  0 {"n":1}`)
	})
}

// TestSignalBounds: what a signal may say.
func TestSignalBounds(t *testing.T) {
	t.Parallel()
	ok := func(s presence.Signal) bool { return s.Validate() == nil }
	long := json.RawMessage(`"` + strings.Repeat("x", presence.MaxSignalData-2) + `"`)
	for name, tt := range map[string]struct {
		signal presence.Signal
		want   bool
	}{
		"all":              {presence.Signal{Type: "a.b_c-9", V: 3, For: 30 * time.Second, Data: json.RawMessage(`{}`)}, true},
		"ends":             {presence.Signal{Type: "t", For: -time.Hour}, true},
		"longest type":     {presence.Signal{Type: strings.Repeat("t", 32)}, true},
		"longest data":     {presence.Signal{Type: "t", Data: long}, true},
		"no type":          {presence.Signal{}, false},
		"long type":        {presence.Signal{Type: strings.Repeat("t", 33)}, false},
		"upper case":       {presence.Signal{Type: "T"}, false},
		"version":          {presence.Signal{Type: "t", V: -1}, false},
		"stands too long":  {presence.Signal{Type: "t", For: 30*time.Second + 1}, false},
		"stands too short": {presence.Signal{Type: "t", For: time.Second - 1}, false},
		"no JSON":          {presence.Signal{Type: "t", Data: json.RawMessage(`{`)}, false},
		"no UTF-8":         {presence.Signal{Type: "t", Data: json.RawMessage("\"\xff\"")}, false},
		"long data":        {presence.Signal{Type: "t", Data: append(long, ' ')}, false},
	} {
		if got := ok(tt.signal); got != tt.want {
			t.Errorf("%s: got valid %t, want %t", name, got, tt.want)
		}
	}
}

// TestSignalsToManyTypists: as many stand as a page could show, and the others are told all the
// same.
func TestSignalsToManyTypists(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, memstore.New(), track.Config{})
		const crowd = 120
		for i := range crowd {
			connect(t, tracker, track.ConnectOptions{Visitor: visitor(fmt.Sprint("u", i)), Topics: []presence.Topic{thread}})
		}
		eve := hear(t, tracker, track.ConnectOptions{Limit: 1000})
		eve.quiet()
		for i := range crowd {
			whisper(t, tracker, fmt.Sprint("u", i), typing(30*time.Second))
			time.Sleep(20 * time.Millisecond)
		}
		time.Sleep(200 * time.Millisecond)
		if got := strings.Count(fmt.Sprint(eve.read()), "typing"); got != crowd {
			t.Errorf("got %d typists told, want %d", got, crowd)
		}
		if got := len(tracker.Standing(thread)); got != 100 {
			t.Errorf("got %d that stand, want 100", got)
		}
		if got := tracker.Stats().Signals.Crowded; got != crowd-100 {
			t.Errorf("got %d crowded, want %d", got, crowd-100)
		}
	})
}

// The data of a signal stay on one line for every reader: JSON allows the line breaks of Unicode in a string.
func TestSignalsOnOneLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, memstore.New(), track.Config{})
		eve := hear(t, tracker, track.ConnectOptions{})
		eve.quiet()
		noError(t, tracker.Signal(thread, presence.Signal{Type: "t", Data: json.RawMessage("{\"a\u2028\": \"\u2029<\"}")}))
		eve.want(`signal t  0 {"a\u2028":"\u2029<"}`)
	})
}
