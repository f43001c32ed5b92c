package feed

import (
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A version is "<epoch>-<revision>". The epoch is a hash of the feed's name and of when the feed began. So a
// cursor of another user's inbox, or of a database that was deleted, names no version of this feed. A feed
// that has not begun has the same version in every database, which names the beginning of the later feed.

func versionOf(n Name, h Head) presence.DiffID {
	return presence.DiffID(epochOf(n, h) + "-" + strconv.FormatInt(h.Rev, 36))
}

func epochOf(n Name, h Head) string {
	hash := fnv.New64a()
	hash.Write([]byte(n))
	if !h.Born.IsZero() {
		hash.Write(strconv.AppendInt([]byte{0}, h.Born.UnixMilli(), 36))
	}
	return strconv.FormatUint(hash.Sum64(), 36)
}

// revisionIn returns the revision in a version of the feed whose head is h. It returns false if the feed
// cannot have had the version.
func revisionIn(n Name, h Head, version presence.DiffID) (int64, bool) {
	epoch, rev, ok := strings.Cut(string(version), "-")
	if version == versionOf(n, Head{}) {
		return 0, true
	}
	if !ok || epoch != epochOf(n, h) {
		return 0, false
	}
	r, err := strconv.ParseInt(rev, 36, 64)
	return r, err == nil && r >= 0 && r <= h.Rev
}

func cursorOf(n Name, h Head, known bool) presence.Cursor {
	if !known {
		return presence.NewCursor(n.Topic(), track.NoVersion)
	}
	return presence.NewCursor(n.Topic(), versionOf(n, h))
}
