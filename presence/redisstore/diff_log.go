package redisstore

import (
	"context"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

const maxLogPage = 100 // diffs a round trip

// Log implements [backend.Store]. It costs a round trip for every 100 diffs.
func (s *fleet) Log(ctx context.Context, topic presence.Topic, after presence.DiffID) ([]backend.Diff, error) {
	if after != "" && !streamID(after) {
		return nil, presence.ErrGap
	}
	var diffs []backend.Diff
	for more := true; more; {
		var found *redis.XMessageSliceCmd
		err := s.send(ctx, s.reads, "log", func(ctx context.Context, p redis.Pipeliner) { found = s.askLog(ctx, p, topic, after) })
		if err != nil {
			return nil, err
		}
		page := s.readLog(after, found.Val())
		if page.gap {
			s.index.forget(topic) // a server that lost the log may have lost the index too
			return nil, presence.ErrGap
		}
		diffs = append(diffs, page.diffs...)
		after, more = page.head(after), page.more
	}
	return diffs, nil
}

// A logPage is a piece of a log.
type logPage struct {
	diffs []backend.Diff
	more  bool // there may be more after it
	gap   bool // the log does not hold the diff that was asked for
}

// head is the latest version that the page leads to.
func (l logPage) head(from presence.DiffID) presence.DiffID {
	if n := len(l.diffs); n > 0 {
		return l.diffs[n-1].ID
	}
	return from
}

// askLog requests the diffs from one on, or all diffs if that is Origin or empty. The answer includes that diff,
// which shows that the log still has it.
func (s *fleet) askLog(ctx context.Context, p redis.Pipeliner, topic presence.Topic, after presence.DiffID) *redis.XMessageSliceCmd {
	start := string(after)
	if after == "" || after == backend.Origin {
		start = "-"
	}
	return p.XRangeN(ctx, s.key(topic, "log"), start, "+", maxLogPage+1)
}

// readLog reads the answer to askLog.
func (s *fleet) readLog(after presence.DiffID, entries []redis.XMessage) logPage {
	diffs, torn := s.decodeLog(entries)
	page := logPage{diffs: diffs, more: len(entries) > maxLogPage}
	switch {
	case after == "":
	case len(entries) == 0:
		page.gap = after != backend.Origin
	case entries[0].ID == string(after):
		page.gap = torn && len(entries) > 1
		page.diffs = diffs[min(1, len(diffs)):]
	default: // the log may have been cut right after it
		page.gap = torn || diffs[0].Prev != after
	}
	return page
}

// decodeLog decodes diffs. It counts and drops a diff that it cannot decode, such as one that a newer version
// wrote, and drops all before it. The log then reaches back no further.
func (s *fleet) decodeLog(entries []redis.XMessage) (diffs []backend.Diff, torn bool) {
	diffs = make([]backend.Diff, 0, len(entries))
	for _, e := range entries {
		text, _ := e.Values["d"].(string)
		version, _ := e.Values["v"].(string)
		d, err := decodeDiff(e.ID, text)
		if err != nil || version != strconv.Itoa(messageVersion) {
			s.invalid.Add(1)
			diffs, torn = diffs[:0], true
			continue
		}
		diffs = append(diffs, d)
	}
	return diffs, torn
}

// streamID reports whether an id can be an id of a Redis stream.
func streamID(id presence.DiffID) bool {
	if id == backend.Origin {
		return true
	}
	ms, n, ok := strings.Cut(string(id), "-")
	_, err := strconv.ParseUint(ms, 10, 64)
	_, err2 := strconv.ParseUint(n, 10, 64)
	return ok && err == nil && err2 == nil
}
