package handlers_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/rollcall-go/rollcall/handlers"
)

// typingIn is the Whispers of a site whose threads take typing.
var typingIn = map[string]map[string]handlers.Whisper{"thread": {"typing": {}}}

// newTypingSite returns a site whose threads take typing.
func newTypingSite(t *testing.T, o setup) *site {
	t.Helper()
	o.handlers.Authorize = anyTopic
	if o.handlers.Whispers == nil {
		o.handlers.Whispers = typingIn
	}
	return newSite(t, o)
}

// sent returns the request by which a user sends a signal.
func sent(user, body string) request {
	return request{method: http.MethodPost, path: "signal", user: user, body: body}
}

// types sends that a user is typing in thread:1, for some seconds.
func (s *site) types(user string, seconds int) {
	s.t.Helper()
	s.wantStatus(sent(user, fmt.Sprintf(`{"topic":"thread:1","type":"typing","for":%d}`, seconds)), http.StatusNoContent)
}

// String returns a signal in short: "bob typing 6".
func (w said) String() string {
	text := fmt.Sprintf("%s %s %.0f", w.From, w.Type, w.For) // the rest of a time is rounded up to a tenth
	if w.V != 1 || w.From != "" && w.Name != strings.ToUpper(w.From) {
		text += fmt.Sprintf(" (v%d of %q)", w.V, w.Name)
	}
	if w.Data != nil {
		text += " " + string(w.Data)
	}
	return strings.TrimSpace(text)
}

// says returns the signals of an event in short.
func (e event) says() string {
	all := make([]string, len(e.data.Signals))
	for i, s := range e.data.Signals {
		all[i] = s.String()
	}
	return strings.Join(all, ", ")
}

// wantSignals fails unless the next event that is no heartbeat has these signals. An answer to
// a poll may repeat what stands.
func (l *listener) wantSignals(want string) event {
	l.t.Helper()
	e := l.want("signal")
	if got := e.says(); got != want {
		l.t.Fatalf("got the signals %q, want %q", got, want)
	}
	if _, poll := l.source.(*pollSource); !poll && e.id != "" {
		l.t.Errorf("got the signals %q with the id %q, want none: nobody resumes there", want, e.id)
	}
	return e
}
