package templates_test

import (
	"testing"

	"github.com/rollcall-go/rollcall/templates"
)

// The first element of its kind is lost in an attribute, and the page has no other kind: the
// next one names the visitor.
func TestPageNamesItsVisitorBehindAnAttribute(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		has(t, s.page(`<p title="{{lastSeen "bob"}}">{{lastSeen "alice"}}`, user("me")), ` me="me"`)
	})
}
