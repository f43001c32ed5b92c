package presence

import (
	"hash/fnv"
	"strconv"
	"strings"
)

// A Cursor is an opaque name of one version of a topic, or of one version of each of
// several topics, as [JoinCursors] makes it. It is safe in URLs, headers and attributes.
// The empty Cursor names no version.
type Cursor string

// MaxCursorLen is the length of the longest cursor that is read, in bytes. A longer one
// counts as empty.
const MaxCursorLen = 1 << 10

// A cursor is "<tag>.<diff id>"; several are joined by '~'. The tag is a short hash of
// the topic. With it the cursors of 16 topics of 128 bytes stay under MaxCursorLen, and
// a cursor of one topic is not taken for one of another.

// NewCursor returns the cursor of a version of a topic, for a [Source].
func NewCursor(topic Topic, id DiffID) Cursor { return newCursor(topic, id) }

// Version returns the version of a topic that c names, and false if it names none or cannot
// be read.
func (c Cursor) Version(topic Topic) (DiffID, bool) { return c.diffID(topic) }

func newCursor(topic Topic, id DiffID) Cursor {
	return Cursor(cursorTag(topic) + "." + string(id))
}

func cursorTag(topic Topic) string {
	h := fnv.New32a()
	h.Write([]byte(topic))
	return strconv.FormatUint(uint64(h.Sum32()), 36)
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

// diffID returns the version of a topic that c names, and false if it names
// none or cannot be read.
func (c Cursor) diffID(topic Topic) (DiffID, bool) {
	if len(c) > MaxCursorLen {
		return "", false
	}
	tag := cursorTag(topic)
	for part := range strings.SplitSeq(string(c), "~") {
		t, id, ok := strings.Cut(part, ".")
		if ok && t == tag && validDiffID(id) {
			return DiffID(id), true
		}
	}
	return "", false
}

// maxDiffIDLen is the length of the longest [DiffID], in bytes.
const maxDiffIDLen = 40

func validDiffID(id string) bool {
	if id == "" || len(id) > maxDiffIDLen {
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
