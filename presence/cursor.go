package presence

import (
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"github.com/rollcall-go/rollcall/presence/internal/wire"
)

// A Cursor is an opaque name of one version of a topic, or of one version of each of
// several topics, as [JoinCursors] makes it. It is safe in URLs, headers and attributes.
// The empty Cursor names no version.
type Cursor string

// MaxCursorLen is the length of the longest cursor that is read, in bytes. A longer one
// counts as empty.
const MaxCursorLen = 1 << 10

// A cursor is "<tag>.<diff id>", or "<tag>.<diff id>.<words>"; several are joined by '~'. The tag is a short hash of
// the topic. With it the cursors of 16 topics of 128 bytes stay under MaxCursorLen, and
// a cursor of one topic is not taken for one of another.

// NewCursor returns the cursor of a version of a topic, for a track.LineSource.
func NewCursor(topic Topic, id DiffID) Cursor {
	return Cursor(cursorTag(topic) + "." + string(id))
}

func cursorTag(topic Topic) string {
	h := fnv.New32a()
	h.Write([]byte(topic))
	return strconv.FormatUint(uint64(h.Sum32()), 36)
}

// ReadCursor returns the cursor that a client sent, without the parts that no server made. What is left is safe to send
// back as it is.
func ReadCursor(s string) Cursor {
	if len(s) > MaxCursorLen {
		return ""
	}
	made := func(b rune) bool { return '0' <= b && b <= '9' || 'a' <= b && b <= 'z' || b == '-' || b == '.' }
	parts := strings.Split(s, "~")
	return Cursor(strings.Join(slices.DeleteFunc(parts, func(part string) bool {
		return part == "" || strings.ContainsFunc(part, func(b rune) bool { return !made(b) })
	}), "~"))
}

// JoinCursors returns one cursor for the versions of several topics. It leaves out empty
// cursors.
func JoinCursors(cursors ...Cursor) Cursor {
	parts := make([]string, 0, len(cursors))
	for _, c := range cursors {
		if c != "" {
			parts = append(parts, string(c))
		}
	}
	return Cursor(strings.Join(parts, "~"))
}

// Version returns the version of a topic that c names, and false if it names none or cannot
// be read.
func (c Cursor) Version(topic Topic) (DiffID, bool) {
	first, words, _ := strings.Cut(c.part(topic), ".")
	id := DiffID(first)
	return id, id.Valid() && (words == "" || strings.HasPrefix(words, ofPage))
}

// ofPage begins the words of a cursor that a site has rendered into a page: see track.View.PageCursor. A
// stream of the whole roster can resume from such a cursor too.
const ofPage = "p"

// Variant is Version for a cursor that [Cursor.With] made. It also returns the words.
func (c Cursor) Variant(topic Topic) (id DiffID, words []string, ok bool) {
	first, rest, ok := strings.Cut(c.part(topic), ".")
	if id = DiffID(first); !ok || !id.Valid() {
		return "", nil, false
	}
	return id, strings.Split(rest, "."), true
}

// With returns the cursor of a reader who has only a part of the roster, at one topic's version. The words
// describe the part, and contain no dot. [Cursor.Version] refuses such a cursor, because a reader who has a
// part cannot resume with the whole roster.
func (c Cursor) With(words ...string) Cursor {
	return c + Cursor("."+strings.Join(words, "."))
}

// part returns what follows the topic's tag in c; "": c does not name the topic.
func (c Cursor) part(topic Topic) string {
	if len(c) > MaxCursorLen {
		return ""
	}
	tag := cursorTag(topic)
	for part := range strings.SplitSeq(string(c), "~") {
		if t, rest, ok := strings.Cut(part, "."); ok && t == tag {
			return rest
		}
	}
	return ""
}

// Valid reports whether the id has the form that a store's ids have.
func (id DiffID) Valid() bool {
	if id == "" || len(id) > wire.MaxDiffIDLen {
		return false
	}
	for i := range len(id) {
		b := id[i]
		if !('0' <= b && b <= '9' || 'a' <= b && b <= 'z' || b == '-') {
			return false
		}
	}
	return true
}

// A DiffID names one version of a topic in one store: it is the id of the last
// diff that made it. The store chooses it from 0-9 a-z and '-', at most 40
// bytes, never the same twice, also not after it was wiped or restarted.
type DiffID string
