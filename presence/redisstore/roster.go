package redisstore

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// maxSmallRoster is the largest roster that is read by one script; a larger one
// is read in pieces of about that size.
const maxSmallRoster = 1000

// A roster has a topic's members while they are being read.
type roster map[presence.UserID]presence.Member

// Snapshot implements [backend.Store]. A roster of up to 1,000 costs one round trip. A larger one is scanned
// in pieces, a round trip each, while it changes. Changes are read from the log along with each piece, and
// applied at the end. So no script is long, and the result is exact.
func (s *fleet) Snapshot(ctx context.Context, topic presence.Topic) (backend.Snapshot, error) {
	r, err := s.texts(ctx, s.reads, "snapshot", 3, eval{snapshotScript, s.keys(topic, "users", "head", "log"), []any{s.now(), maxSmallRoster}})
	if err != nil {
		return backend.Snapshot{}, err
	}
	online, err1 := strconv.Atoi(r[1])
	at, err2 := strconv.ParseInt(r[2], 10, 64)
	if err1 != nil || err2 != nil || online < 0 || !validDiffID(r[0]) {
		return backend.Snapshot{}, wrap("snapshot", errAnswer)
	}
	head, members, small := presence.DiffID(r[0]), make(roster, online), len(r) >= 3+2*online
	if err := members.add(r[3:]); err != nil {
		return backend.Snapshot{}, wrap("snapshot", err)
	}
	if !small {
		if head, err = s.scanRoster(ctx, topic, head, members); err != nil {
			return backend.Snapshot{}, err
		}
	}
	snap := backend.Snapshot{ID: head, Members: make([]presence.Member, 0, len(members)), At: time.UnixMilli(at)}
	for _, m := range members {
		snap.Members = append(snap.Members, m)
	}
	slices.SortFunc(snap.Members, presence.NewestFirst)
	return snap, nil
}

// add adds users, who are followed by their records.
func (r roster) add(records []string) error {
	for ; len(records) >= 2; records = records[2:] {
		m, err := decodeRecord(records[0], records[1])
		if err != nil {
			return err
		}
		r[m.ID] = m
	}
	return nil
}

func (r roster) apply(d backend.Diff) {
	for _, m := range slices.Concat(d.Joins, d.Updates) {
		r[m.ID] = m
	}
	for _, l := range d.Leaves {
		delete(r, l.ID)
	}
}

// scanRoster reads a large roster in pieces, each at another moment, and the diffs since head. It returns the head
// at which the roster then is.
func (s *fleet) scanRoster(ctx context.Context, topic presence.Topic, head presence.DiffID, members roster) (presence.DiffID, error) {
	var missed []backend.Diff
	for cursor, more := uint64(0), true; more; more = cursor != 0 {
		var scanned *redis.ScanCmd
		var logged *redis.XMessageSliceCmd
		err := s.send(ctx, s.reads, "snapshot", func(ctx context.Context, p redis.Pipeliner) {
			scanned = p.HScan(ctx, s.key(topic, "users"), cursor, "", maxSmallRoster)
			logged = s.askLog(ctx, p, topic, head) // at a later moment than the scan
		})
		if err != nil {
			return "", err
		}
		page := s.readLog(head, logged.Val())
		if page.gap {
			return "", wrap("snapshot", presence.ErrGap)
		}
		if head = page.head(head); page.more {
			rest, err := s.Log(ctx, topic, head)
			if err != nil {
				return "", err
			}
			page.diffs = append(page.diffs, rest...)
			head = page.head(head)
		}
		missed = append(missed, page.diffs...)
		var records []string
		records, cursor = scanned.Val()
		if err := members.add(records); err != nil {
			return "", wrap("snapshot", err)
		}
	}
	for _, d := range missed {
		members.apply(d)
	}
	return head, nil
}

// Inspect implements [backend.Store]. It costs a round trip for every 1,000 users of the topic, including
// those who are not returned, and one for every 1,000 leases that it returns.
func (s *fleet) Inspect(ctx context.Context, topic presence.Topic, after presence.UserID, most int) ([]backend.Inspected, error) {
	var found []inspectedRecord
	for _, name := range []string{"hidden", "users"} { // a user who moves between them meanwhile counts as in the latter
		all := scan{"HSCAN", s.key(topic, name), "", maxSmallRoster}
		err := s.scanAll(ctx, s.reads, "inspect", all, func(records []string) error {
			for ; len(records) >= 2; records = records[2:] {
				if records[0] > string(after) && len(leasesOf(records[1])) > 0 {
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
