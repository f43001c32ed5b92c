package redisstore

import (
	"cmp"
	"context"
	"crypto/rand"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// AddErasure implements [backend.Store].
func (s *fleet) AddErasure(ctx context.Context, user presence.UserID, hold time.Duration) (backend.Erasure, error) {
	if err := s.ready(ctx, s.writes); err != nil {
		return backend.Erasure{}, err
	}
	id := rand.Text()
	_, err := s.runOne(ctx, s.writes, "add an erasure", eval{erasurePutScript, s.erasureKeys(), []any{s.now(), string(user), id, hold.Milliseconds()}})
	return backend.Erasure{User: user, ID: id}, err
}

// ClaimErasures implements [backend.Store].
func (s *fleet) ClaimErasures(ctx context.Context, most int, hold time.Duration) ([]backend.Erasure, error) {
	r, err := s.texts(ctx, s.writes, "claim erasures", 0, eval{erasureClaimScript, s.erasureKeys(), []any{s.now(), most, hold.Milliseconds()}})
	if err != nil {
		return nil, err
	}
	var claimed []backend.Erasure
	for ; len(r) >= 3; r = r[3:] {
		claimed = append(claimed, backend.Erasure{User: presence.UserID(r[0]), Ago: millisOf(r[1]), ID: r[2]})
	}
	return claimed, nil
}

// EndErasure implements [backend.Store].
func (s *fleet) EndErasure(ctx context.Context, e backend.Erasure) error {
	_, err := s.runOne(ctx, s.writes, "end an erasure", eval{erasureEndScript, s.erasureKeys(), []any{string(e.User), e.ID}})
	return err
}

const (
	maxErase = 50   // topics a round trip
	maxScan  = 1000 // members or notices a round trip, about
)

// EraseUser implements [backend.Store]. It costs a round trip for every 50 topics of the tenant.
// It also reads the topic of devices, which has one member for each device, and the log of notices.
func (s *fleet) EraseUser(ctx context.Context, e backend.Erasure) error {
	if err := s.ready(ctx, s.writes); err != nil {
		return err
	}
	failed := s.eraseTopics(ctx, e)
	err := s.send(ctx, s.writes, "erase", func(ctx context.Context, p redis.Pipeliner) {
		p.HDel(ctx, s.statusKeys()[0], string(e.User))
		p.ZRem(ctx, s.statusKeys()[1], string(e.User))
	})
	return cmp.Or(failed, err, s.eraseNotices(ctx, e), s.eraseEntries(ctx, e))
}

func (s *fleet) eraseTopics(ctx context.Context, e backend.Erasure) (failed error) {
	topics, err := s.topicsAbout(ctx, e)
	if err != nil {
		return err
	}
	for some := range slices.Chunk(topics, maxErase) {
		evals := make([]eval, len(some))
		for i, t := range some {
			evals[i] = s.topicEval(eraseScript, t.topic, with([]any{e.Ago.Milliseconds()}, t.ids...)...)
		}
		answers, err := s.runEach(ctx, "erase", evals...)
		failed = cmp.Or(failed, err)
		for _, a := range answers {
			failed = cmp.Or(failed, wrap("erase", verdict(a.Err())))
		}
	}
	return failed
}

// A topicAbout is a topic that may keep something of a user, and the ids that the user has there.
type topicAbout struct {
	topic presence.Topic
	ids   []string
}

// topicsAbout returns the topics of the fleet that may keep something of a user.
func (s *fleet) topicsAbout(ctx context.Context, e backend.Erasure) (all []topicAbout, err error) {
	known := make(map[presence.Topic]bool)
	add := func(name string) {
		topic := presence.Topic(name)
		if !known[topic] && e.Concerns(topic) {
			known[topic] = true
			all = append(all, topicAbout{topic, []string{string(e.User)}})
		}
	}
	err = s.scanMembers(ctx, "SSCAN", s.indexKey("seen"), "*", add)
	for _, list := range []string{"topics", "due"} {
		if err == nil {
			err = s.scanMembers(ctx, "ZSCAN", s.indexKey(list), "*", add)
		}
	}
	for i := range all {
		if t := &all[i]; err == nil && t.topic == backend.DevicesTopic {
			t.ids, err = s.devicesIn(ctx, t.topic, e)
		}
	}
	return slices.DeleteFunc(all, func(t topicAbout) bool { return len(t.ids) == 0 }), err
}

// devicesIn returns the ids of a user's devices that a topic knows.
func (s *fleet) devicesIn(ctx context.Context, topic presence.Topic, e backend.Erasure) ([]string, error) {
	found := make(map[string]bool)
	for name, command := range map[string]string{"users": "HSCAN", "hidden": "HSCAN", "seen": "ZSCAN", "lately": "ZSCAN", "current": "SSCAN", "old": "SSCAN", "memory": "HSCAN", "memory:old": "HSCAN"} {
		err := s.scanMembers(ctx, command, s.key(topic, name), escapeGlob(string(e.User))+"*", func(id string) {
			if e.Names(presence.UserID(id)) {
				found[id] = true
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return slices.Collect(maps.Keys(found)), nil
}

// escapeGlob returns a text as a pattern that only the text matches.
func escapeGlob(text string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`).Replace(text)
}

// scanMembers calls fn for each member of a key that matches a pattern, perhaps more than once. It reads
// about 1,000 members a round trip.
func (s *fleet) scanMembers(ctx context.Context, command, key, pattern string, fn func(member string)) error {
	return s.scanAll(ctx, s.reads, "scan", scan{command, key, pattern, maxScan}, func(members []string) error {
		for i, member := range members {
			if command == "SSCAN" || i%2 == 0 {
				fn(member)
			}
		}
		return nil
	})
}

// noticesAbout calls fn for each notice in the log that is about a user.
func (s *fleet) noticesAbout(ctx context.Context, e backend.Erasure, fn func(id string, n backend.Notice)) error {
	for after := "-"; ; {
		entries, err := call(ctx, s.reads, "read notices", func(ctx context.Context) ([]redis.XMessage, error) {
			return s.one().XRangeN(ctx, s.noticeLog()[0], after, "+", maxScan).Result()
		})
		if err != nil || len(entries) == 0 {
			return err
		}
		for _, entry := range entries {
			text, _ := entry.Values["n"].(string)
			if n, err := decodeNotice(text); err == nil && e.NamesNotice(n) {
				fn(entry.ID, n)
			}
		}
		after = "(" + entries[len(entries)-1].ID
	}
}

// eraseNotices replaces the notices about a user.
func (s *fleet) eraseNotices(ctx context.Context, e backend.Erasure) error {
	args := []any{encodeNotice(backend.Notice{Kind: "void", Lasting: true})}
	if err := s.noticesAbout(ctx, e, func(id string, _ backend.Notice) { args = append(args, id) }); err != nil || len(args) == 1 {
		return err
	}
	_, err := s.runOne(ctx, s.writes, "erase notices", eval{noticeEraseScript, s.noticeLog()[:1], args})
	return err
}

// entriesAbout calls fn for each consumer with the entries of its record that are about a user.
func (s *fleet) entriesAbout(ctx context.Context, e backend.Erasure, fn func(consumer string, entries map[string]string) error) error {
	var names []string
	if err := s.scanMembers(ctx, "SSCAN", s.consumersKey(), "*", func(name string) { names = append(names, name) }); err != nil {
		return err
	}
	for _, name := range names {
		entries, err := s.ReadConsumer(ctx, name)
		if err != nil {
			return err
		}
		maps.DeleteFunc(entries, func(key, value string) bool { return !e.NamesEntry(key, value) })
		if err := fn(name, entries); err != nil {
			return err
		}
	}
	return nil
}

// eraseEntries removes the entries about a user from the records of all consumers, whoever holds them.
func (s *fleet) eraseEntries(ctx context.Context, e backend.Erasure) error {
	return s.entriesAbout(ctx, e, func(consumer string, entries map[string]string) error {
		gone := slices.Collect(maps.Keys(entries))
		if len(gone) == 0 {
			return nil
		}
		return s.send(ctx, s.writes, "erase", func(ctx context.Context, p redis.Pipeliner) { p.HDel(ctx, s.consumerKey(consumer), gone...) })
	})
}
