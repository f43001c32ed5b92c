package feed_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/rollcall-go/rollcall/presence/feed"
)

// What passes Validate can be kept by every database: no call ends with an error of the
// database because of what somebody sends.
func TestMessagesThatNoDatabaseKeeps(t *testing.T) {
	for what, change := range map[string]func(*feed.Message){
		"a version of more than 31 bits":  func(m *feed.Message) { m.V = math.MaxInt32; m.V++ },
		"data with bytes of no character": func(m *feed.Message) { m.Data = []byte("\"\xff\"") },
		"an address with such bytes":      func(m *feed.Message) { m.URL = "/\xff" },
	} {
		m := feed.Message{Feed: "thread:1", Text: "text"}
		change(&m)
		if err := m.Validate(); !errors.Is(err, feed.ErrInvalidMessage) {
			t.Errorf("%s: got %v, want ErrInvalidMessage", what, err)
		}
	}
	for _, row := range []string{"", "line\nend", "numéro-1", strings.Repeat("i", 129)} {
		m := feed.Message{Feed: "thread:1", Text: "text"}.WithDefaults(row)
		if err := m.Validate(); err != nil || m.ID == "" || m.ID != (feed.Message{}).WithDefaults(row).ID {
			t.Errorf("the row %.20q: got the id %q and error %v", row, m.ID, err)
		}
	}
}
