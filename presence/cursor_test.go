package presence

import (
	"fmt"
	"strings"
	"testing"
)

func TestCursor(t *testing.T) {
	var all []Cursor
	topics := make([]Topic, 16)
	for i := range topics {
		topics[i] = Topic(strings.Repeat("x", MaxTopicLen-2) + fmt.Sprintf("%02d", i))
		all = append(all, NewCursor(topics[i], DiffID(fmt.Sprintf("1795253215347-390664499%d", i))))
	}
	joined := JoinCursors(all...)
	if len(joined) > MaxCursorLen {
		t.Errorf("got a cursor of %d bytes for 16 long topics, want at most %d", len(joined), MaxCursorLen)
	}
	for i, topic := range topics {
		if id, ok := joined.Version(topic); !ok || id != DiffID(fmt.Sprintf("1795253215347-390664499%d", i)) {
			t.Errorf("topic %d: got %q, %v", i, id, ok)
		}
	}
	if id, ok := joined.Version("another"); ok {
		t.Errorf("got %q for a topic that is not in it, want none", id)
	}
}

func FuzzCursor(f *testing.F) {
	for _, seed := range []string{"", "ff2ngu.0", "ff2ngu.hdvjfa62-1~15fie00.x-2", "~.~", "ff2ngu.", "ff2ngu.A", "ff2ngu.\xff", strings.Repeat("a", 2000)} {
		f.Add(seed, "site")
	}
	f.Fuzz(func(t *testing.T, s, name string) {
		id, ok := Cursor(s).Version(Topic(name))
		if !ok {
			return
		}
		if !id.Valid() || len(s) > MaxCursorLen {
			t.Errorf("got id %q of a cursor of %d bytes", id, len(s))
		}
		if back, ok := NewCursor(Topic(name), id).Version(Topic(name)); !ok || back != id {
			t.Errorf("got %q, %v back, want %q", back, ok, id)
		}
	})
}

// What a client sends as a cursor comes back only as far as a server may have made it.
func TestReadCursor(t *testing.T) {
	for sent, want := range map[string]Cursor{
		"":                                   "",
		"ff2ngu.0":                           "ff2ngu.0",
		"ff2ngu.0.w5-1x.ab~15fie00.x-2.p0":   "ff2ngu.0.w5-1x.ab~15fie00.x-2.p0",
		`ff2ngu.0.p1","total":9.a~15fie00.0`: "15fie00.0",
		"ff2ngu.0.p1\n\nevent: state\n.a":    "",
		"ff2ngu.0.p\u2028":                   "",
		"~ff2ngu.0~~":                        "ff2ngu.0",
		strings.Repeat("a", MaxCursorLen):    Cursor(strings.Repeat("a", MaxCursorLen)),
		strings.Repeat("a", MaxCursorLen+1):  "",
	} {
		if got := ReadCursor(sent); got != want {
			t.Errorf("%q: got %q, want %q", sent, got, want)
		}
	}
}
