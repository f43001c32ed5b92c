package templates_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/templates"
)

// A site whose templates know users by other ids than identify returns has grey dots alone.
func TestUnknownIDs(t *testing.T) {
	dots := func(from, to int) string {
		var b strings.Builder
		for i := range to - from {
			fmt.Fprintf(&b, `{{onlineDot %d}}`, from+i)
		}
		return b.String()
	}
	for name, c := range map[string]struct {
		seen bool
		view string
		want int
	}{
		"a hundred unknown users":       {true, dots(0, 100), 1},
		"many more":                     {true, dots(0, 300), 1},
		"fewer":                         {true, dots(0, 99), 0},
		"one of them is online":         {true, dots(0, 50) + `{{onlineDot "alice"}}` + dots(50, 300), 0},
		"nobody is online, at any rate": {false, dots(0, 300), 0},
	} {
		bubble(t, templates.Config{}, func(s *site) {
			if c.seen {
				s.see(presence.Site, presence.User{ID: "alice"})
			}
			s.page(c.view, guest)
			got := s.tracker.Staff().Diagnose()
			if len(got) != c.want || c.want > 0 && (got[0].Finding != presence.UnknownIDs || got[0].Times != 1) {
				t.Errorf("%s: got %v, want %d findings", name, got, c.want)
			}
		})
	}
}
