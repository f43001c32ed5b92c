package handlers_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/rollcall-go/rollcall/handlers"
)

// A stream and a poll take what is long in the body of a POST: topics, too.
func TestPostedTopics(t *testing.T) {
	onSite(t, setup{handlers: handlers.Config{Authorize: anyTopic}}, func(t *testing.T, s *site) {
		form := url.Values{"topic": {"site", "thread:1"}, "also": {"bob"}}
		_, body := s.fetch(request{method: "POST", path: "poll?wait=1&window=5", user: "alice", body: form.Encode(), header: map[string]string{"Content-Type": "application/x-www-form-urlencoded"}})
		for _, topic := range form["topic"] {
			if !strings.Contains(body, `"topic":"`+topic+`"`) {
				t.Errorf("got %s, want a state of %s", body, topic)
			}
		}
	})
}
