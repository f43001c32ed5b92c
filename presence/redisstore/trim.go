package redisstore

import (
	"context"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// maxTrim is how many users one script forgets, and also all scripts of a round trip together.
const maxTrim = 1000

// Trim implements [backend.Store]. It costs one round trip for the chosen statuses,
// three for every few hundred topics, and more where thousands of users are forgotten.
func (s *upkeep) Trim(ctx context.Context, keep time.Duration, most int) (forgotten int, err error) {
	if forgotten, err = s.trimStatuses(ctx, keep, most); err != nil {
		return forgotten, err
	}
	err = s.scanAll(ctx, s.writes, "trim", scan{"SSCAN", s.indexKey("seen"), "", maxClaimed}, func(topics []string) error {
		n, err := s.trimSeen(ctx, topics, keep, most)
		forgotten += n
		return err
	})
	return forgotten, err
}

// trimSeen forgets users who were last seen long ago, until each of the topics is within the bounds. Topics
// that remember no user are removed from the index.
func (s *upkeep) trimSeen(ctx context.Context, topics []string, keep time.Duration, most int) (forgotten int, err error) {
	var empty []any
	for len(topics) > 0 {
		evals, share := make([]eval, len(topics)), max(maxTrim/len(topics), 10)
		for i, t := range topics {
			evals[i] = eval{seenTrimScript, s.keys(presence.Topic(t), "seen", "lately", "names"), []any{s.now(), keep.Milliseconds(), most, share}}
		}
		answers, err := s.runEach(ctx, "trim", evals...)
		if err != nil {
			return forgotten, err
		}
		var again []string
		for i, t := range topics {
			r, err := answers[i].Int64Slice()
			if err != nil || len(r) < 3 {
				continue // the next Trim repeats it
			}
			dropped, more, left := r[0], r[1] == 1, r[2]
			forgotten += int(dropped)
			switch {
			case more:
				again = append(again, t)
			case left == 0:
				empty = append(empty, t)
			}
		}
		topics = again
	}
	for part := range slices.Chunk(empty, maxNotes) {
		keys := s.indexKeys("seen", "due")
		if _, err := s.runOne(ctx, s.writes, "trim", eval{indexForgetScript, keys, part}); err != nil {
			return forgotten, err
		}
	}
	return forgotten, nil
}
