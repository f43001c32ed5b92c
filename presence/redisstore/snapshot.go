package redisstore

import (
	"context"
	"fmt"
	"slices"
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

// A reader reads topics: rosters, logs and figures.
type reader struct{ *fleet }

// Snapshot implements [backend.Store]. A roster of up to 1,000 costs one round trip. A larger one is scanned
// in pieces, a round trip each, while it changes. Changes are read from the log along with each piece, and
// applied at the end. So no script is long, and the result is exact.
func (s *reader) Snapshot(ctx context.Context, topic presence.Topic) (backend.Snapshot, error) {
	if err := s.ready(ctx, s.reads); err != nil {
		return backend.Snapshot{}, err
	}
	answer, err := s.runOne(ctx, s.reads, "snapshot", eval{snapshotScript, s.keys(topic, "users", "head", "log"), []any{s.now(), maxSmallRoster}})
	if err != nil {
		return backend.Snapshot{}, err
	}
	head, online, records, at, err := readSnapshot(answer)
	if err != nil {
		return backend.Snapshot{}, wrap("snapshot", err)
	}
	members, small := make(roster, online), int64(len(records)/2) >= online
	for ; len(records) >= 2; records = records[2:] {
		if err := members.add(fmt.Sprint(records[0]), fmt.Sprint(records[1])); err != nil {
			return backend.Snapshot{}, wrap("snapshot", err)
		}
	}
	if !small {
		if head, err = s.scan(ctx, topic, head, members); err != nil {
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

// readSnapshot parses the answer of lua/snapshot.lua. at is in Unix milliseconds.
func readSnapshot(answer *redis.Cmd) (head presence.DiffID, online int64, records []any, at int64, err error) {
	r, err := answer.Slice()
	if err != nil {
		return "", 0, nil, 0, err
	}
	if len(r) < 4 {
		return "", 0, nil, 0, errAnswer
	}
	at, ok := r[3].(int64)
	if !ok {
		return "", 0, nil, 0, errAnswer
	}
	head, online, records, err = readRoster(r[0], r[1], r[2])
	return head, online, records, at, err
}

// readRoster parses a head, the users online, and their records.
func readRoster(first, second, third any) (head presence.DiffID, online int64, records []any, err error) {
	id, ok1 := first.(string)
	online, ok2 := second.(int64)
	records, ok3 := third.([]any)
	if !ok1 || !ok2 || !ok3 || online < 0 || !validDiffID(id) {
		return "", 0, nil, errAnswer
	}
	return presence.DiffID(id), online, records, nil
}

func (r roster) add(id, record string) error {
	m, err := decodeRecord(id, record)
	if err == nil {
		r[m.ID] = m
	}
	return err
}

func (r roster) apply(d backend.Diff) {
	for _, m := range slices.Concat(d.Joins, d.Updates) {
		r[m.ID] = m
	}
	for _, l := range d.Leaves {
		delete(r, l.ID)
	}
}

// scan reads a large roster in pieces, each at another moment, and the diffs since head. It returns the head
// at which the roster then is.
func (s *reader) scan(ctx context.Context, topic presence.Topic, head presence.DiffID, members roster) (presence.DiffID, error) {
	type piece struct {
		records []string
		cursor  uint64
		missed  logPage
	}
	var missed []backend.Diff
	for cursor := uint64(0); ; {
		p, err := call(ctx, s.reads, "snapshot", func(ctx context.Context) (p piece, err error) {
			var scanned *redis.ScanCmd
			var asked askedLog
			err = s.pipelined(ctx, func(pipe redis.Pipeliner) {
				scanned = pipe.HScan(ctx, s.key(topic, "users"), cursor, "", maxSmallRoster)
				asked = s.askLog(ctx, pipe, topic, head) // at a later moment than the scan
			})
			if err != nil {
				return p, err
			}
			p.records, p.cursor = scanned.Val()
			p.missed = asked.page(&s.invalid)
			return p, nil
		})
		if err == nil && p.missed.gap {
			err = wrap("snapshot", presence.ErrGap)
		}
		if err == nil && p.missed.more {
			var more []backend.Diff
			more, err = s.Log(ctx, topic, p.missed.head(head))
			p.missed.diffs = append(p.missed.diffs, more...)
		}
		for ; err == nil && len(p.records) >= 2; p.records = p.records[2:] {
			err = members.add(p.records[0], p.records[1])
		}
		if err != nil {
			return "", err
		}
		head = p.missed.head(head)
		missed = append(missed, p.missed.diffs...)
		if cursor = p.cursor; cursor == 0 {
			break
		}
	}
	for _, d := range missed {
		members.apply(d)
	}
	return head, nil
}
