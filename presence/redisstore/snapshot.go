package redisstore

import (
	"context"
	"slices"
	"strconv"
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
		var asked askedLog
		err := s.send(ctx, s.reads, "snapshot", func(ctx context.Context, p redis.Pipeliner) {
			scanned = p.HScan(ctx, s.key(topic, "users"), cursor, "", maxSmallRoster)
			asked = s.askLog(ctx, p, topic, head) // at a later moment than the scan
		})
		if err != nil {
			return "", err
		}
		page := asked.page(&s.invalid)
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
