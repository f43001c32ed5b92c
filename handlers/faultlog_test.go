package handlers_test

import (
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
)

// A line of the log names its node, and the topic and the user that it is about.
func TestLinesSayWhatTheyAreAbout(t *testing.T) {
	for name, tc := range map[string]struct {
		setup handlers.Config
		ask   request
		want  string
	}{
		"Authorize panics": {
			setup: handlers.Config{Authorize: func(*http.Request, presence.Visitor, presence.Topic) bool { panic("no session") }},
			ask:   request{path: "roster?topic=thread:1", user: "alice"},
			want:  "may not see the topic\" node=node-1 topic=thread:1 user=alice panic=",
		},
		"Authorize hangs": {
			setup: handlers.Config{Authorize: afterFirst(func(r *http.Request) bool { <-r.Context().Done(); return true })},
			ask:   request{path: "events", user: "alice"},
			want:  "the stream ends\" node=node-1 topics=[site] patience=",
		},
	} {
		bubble(t, name, func(t *testing.T) {
			log := new(logbook)
			cfg := log.config()
			cfg.Node = "node-1"
			s := newSite(t, setup{presence: cfg, handlers: tc.setup})
			res := s.do(tc.ask)
			defer res.Body.Close()
			go io.Copy(io.Discard, res.Body) // or the stream ends because its client is slow
			time.Sleep(time.Minute)
			if log.count(tc.want) != 1 {
				t.Errorf("got the log\n%s\nwant one line with %s", log.String(), tc.want)
			}
		})
	}
}
