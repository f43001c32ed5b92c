package handlers_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
)

// Whatever a body or a message says, it is refused, or it is a signal within its bounds, whose
// data fit on one line.
func FuzzSignal(f *testing.F) {
	for _, text := range []string{
		`{"topic":"thread:1","type":"typing","for":6}`, `{"type":"signal","topic":"thread:1","signal":"typing","for":-1}`,
		`{"topic":"thread:1","type":"at","v":2,"data":{"a" : [1,` + "\n" + `2]}}`, `{"topic":"thread:1","type":"at","data":null}`,
		`{"topic":"thread:1","type":"t","for":1e309}`, `{"topic":"a/b","type":"t"}`, `{"topic":"thread:1","type":"t","data":"` + "\xff" + `"}`,
		`{"topic":"thread:1","type":"t","data":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}`, `null`, `[]`, `{"topic":"x","Type":"t","FOR":2}`,
	} {
		f.Add([]byte(text), false)
		f.Add([]byte(text), true)
	}
	f.Fuzz(func(t *testing.T, text []byte, inMessage bool) {
		topic, s, err := handlers.ParseSignal(text, inMessage)
		if err != nil {
			wantRefused(t, text, err, presence.ErrInvalidTopic)
			return
		}
		if _, invalid := presence.ParseTopic(string(topic)); invalid != nil || s.Validate() != nil || s.From != "" {
			t.Errorf("%q: got the signal %+v of topic %q, which is none", text, s, topic)
		}
		if bytes.ContainsAny(s.Data, "\r\n") || !utf8.Valid(s.Data) || len(s.Data) > 0 && !json.Valid(s.Data) {
			t.Errorf("%q: got the data %q, want JSON on one line", text, s.Data)
		}
	})
}

// Signals to made-up topics cost no memory: Authorize refuses them, and where it allows any
// topic, the visitor's rate bounds how many are looked up.
func TestSignalsToManyTopics(t *testing.T) {
	for name, authorize := range map[string]func(*http.Request, presence.Visitor, presence.Topic) bool{
		"refused": func(_ *http.Request, _ presence.Visitor, topic presence.Topic) bool { return topic == "thread:1" },
		"allowed": anyTopic,
	} {
		bubble(t, name, func(t *testing.T) {
			s := newSite(t, setup{handlers: handlers.Config{Authorize: authorize, Whispers: typingIn, MaxRate: -1}})
			s.here()
			for i := range 1000 {
				resp, body := s.fetch(sent("bob", fmt.Sprintf(`{"topic":"thread:x%d","type":"typing","for":6}`, i)))
				if resp.StatusCode != http.StatusForbidden && resp.StatusCode != http.StatusTooManyRequests {
					t.Fatalf("got %d (%s), want a refusal", resp.StatusCode, body)
				}
			}
			most := 1
			if name == "allowed" {
				most = 6
			}
			if got := s.tracker.Stats(); got.Topics > most || got.Signals.Visitors != 0 {
				t.Errorf("got %d topics in memory and %d signals, want %d and none", got.Topics, got.Signals.Visitors, most)
			}
		})
	}
}

// The rates of signals are kept for as many visitors as other rates, and forgotten when they are
// whole again.
func TestSignalRatesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTypingSite(t, setup{handlers: handlers.Config{MaxRate: -1}})
		before, _ := s.handler.Counted()
		for i := range 300 {
			s.fetch(sent(fmt.Sprint("u", i), `{"topic":"thread:1","type":"typing"}`))
		}
		time.Sleep(2 * time.Second)
		for range 20 {
			s.fetch(sent("bob", `{"topic":"thread:1","type":"typing"}`))
		}
		if got, _ := s.handler.Counted(); got-before > 20 {
			t.Errorf("got %d rates kept, want those that are not whole", got-before)
		}
	})
}

// Who is not seen in a topic says nothing there, whatever the reason, and nobody hears of it.
func TestSignalsOfTheUnseen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTypingSite(t, setup{handlers: handlers.Config{Enter: func(_ *http.Request, v presence.Visitor, _ presence.Topic) bool {
			return v.User.ID != "wally"
		}}})
		told := s.here()
		const typing = `{"topic":"thread:1","type":"typing","for":6}`
		for _, tt := range []struct{ user, query string }{
			{"eve", thread1 + "&observe=1"}, {"wally", thread1}, {"zoe", "topic=thread:2"},
		} {
			c := s.talk(request{path: "ws?" + tt.query, user: tt.user})
			c.started(1)
			time.Sleep(time.Second)
			c.say(`{"type":"signal","topic":"thread:1","signal":"typing","for":6}`)
			c.wantError("Forbidden")
			s.wantStatus(sent(tt.user, typing), http.StatusForbidden)
		}
		noError(t, s.tracker.Staff().Disconnect(t.Context(), "staff", "bob", time.Minute))
		time.Sleep(time.Second)
		s.wantStatus(sent("bob", typing), http.StatusForbidden)
		for len(told) > 0 {
			if e := <-told; e.typ == "signal" {
				t.Errorf("got %q, want no signal", e.says())
			}
		}
	})
}

// Bytes that are no UTF-8 reach nobody: a browser would end its WebSocket for them.
func TestSignalsAreUTF8(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTypingSite(t, setup{handlers: handlers.Config{Whispers: map[string]map[string]handlers.Whisper{
			"thread": {"at": {Data: func(json.RawMessage) error { return nil }}},
		}}})
		told := s.here()
		for _, data := range []string{"\"\xff\"", "\"\xed\xa0\x80\"", "{\"\xc0\xaf\":1}"} {
			s.wantStatus(sent("bob", `{"topic":"thread:1","type":"at","data":`+data+`}`), http.StatusBadRequest)
		}
		s.wantStatus(sent("bob", `{"topic":"thread:1","type":"at","data":"`+"\u2028 \\ud800 </script>"+`"}`), http.StatusNoContent)
		if e := <-told; len(e.data.Signals) != 1 || e.data.Signals[0].Type != "at" {
			t.Errorf("got %s %q, want the last signal alone", e.typ, e.says())
		}
	})
}

// A body that nests deeply is refused, or is a signal like any other.
func TestDeepSignals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTypingSite(t, setup{handlers: handlers.Config{Whispers: map[string]map[string]handlers.Whisper{
			"thread": {"at": {Data: func(json.RawMessage) error { return nil }}},
		}}})
		told := s.here()
		deep := strings.Repeat("[", 512) + strings.Repeat("]", 512)
		s.wantStatus(sent("bob", `{"topic":"thread:1","type":"at","data":`+deep+`}`), http.StatusNoContent)
		if e := <-told; len(e.data.Signals) != 1 || string(e.data.Signals[0].Data) != deep {
			t.Errorf("got %s %q, want the data as they were", e.typ, e.says())
		}
		s.wantStatus(sent("bob", `{"topic":"thread:1","type":"at","data":[`+deep+`]}`), http.StatusBadRequest)
		s.wantStatus(sent("bob", strings.Repeat("[", 4096)), http.StatusBadRequest)
		s.wantStatus(sent("bob", `{"topic":"thread:1","type":"at","x":`+deep+`}`), http.StatusNoContent)
	})
}
