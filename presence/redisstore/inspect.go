package redisstore

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// Inspect implements [backend.Store]. It costs a round trip for every 1,000 users of the topic, including
// those who are not returned, and one for every 1,000 leases that it returns.
func (s *fleet) Inspect(ctx context.Context, topic presence.Topic, after presence.UserID, most int) ([]backend.Inspected, error) {
	var found []inspectedRecord
	for _, name := range []string{"hidden", "users"} { // a user who moves between them meanwhile counts as in the latter
		all := scan{"HSCAN", s.key(topic, name), "", maxSmallRoster}
		err := s.scanAll(ctx, s.reads, "inspect", all, func(records []string) error {
			for ; len(records) >= 2; records = records[2:] {
				if records[0] > string(after) {
					found = append(found, inspectedRecord{records[0], records[1], name == "hidden"})
				}
			}
			if len(found) > 2*most+maxSmallRoster {
				found = firstRecords(found, most)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return s.inspect(ctx, topic, firstRecords(found, most))
}

// An inspectedRecord is a user of a topic.
type inspectedRecord struct {
	id, record string
	hidden     bool
}

// firstRecords returns the first users by ID, at most most, in order. If a user is there twice, the later
// record counts.
func firstRecords(records []inspectedRecord, most int) []inspectedRecord {
	slices.Reverse(records)
	slices.SortStableFunc(records, func(a, b inspectedRecord) int { return strings.Compare(a.id, b.id) })
	records = slices.CompactFunc(records, func(a, b inspectedRecord) bool { return a.id == b.id })
	return records[:min(len(records), max(most, 0))]
}

// inspect reads the leases of some users.
func (s *fleet) inspect(ctx context.Context, topic presence.Topic, records []inspectedRecord) ([]backend.Inspected, error) {
	var members []any
	for _, r := range records {
		for _, l := range leasesOf(r.record) {
			members = append(members, r.id+unit+string(l.Holder))
		}
	}
	left := make([]string, 0, len(members))
	for part := range slices.Chunk(members, maxSmallRoster) {
		some, err := s.texts(ctx, s.reads, "inspect", len(part), eval{inspectScript, s.keys(topic, "leases"), append([]any{s.now()}, part...)})
		if err != nil {
			return nil, err
		}
		left = append(left, some[:len(part)]...)
	}
	users := make([]backend.Inspected, 0, len(records))
	for _, r := range records {
		m, bad := decodeRecord(r.id, r.record)
		if r.hidden {
			m.Since, m.Active = time.Time{}, time.Time{}
		}
		u := backend.Inspected{Member: m}
		for _, l := range leasesOf(r.record) {
			if ms, err := strconv.ParseInt(left[0], 10, 64); err == nil { // the lease has not ended meanwhile
				l.Left = time.Duration(ms) * time.Millisecond
				u.Leases = append(u.Leases, l)
			}
			left = left[1:]
		}
		if bad != nil {
			s.invalid.Add(1)
			continue
		}
		users = append(users, u)
	}
	return users, nil
}
