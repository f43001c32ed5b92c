package redisstore

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// ExportUser implements [backend.Store]. It reads what EraseUser erases, and costs as much.
func (s *fleet) ExportUser(ctx context.Context, user presence.UserID) ([]backend.Kept, error) {
	if err := s.ready(ctx, s.reads); err != nil {
		return nil, err
	}
	e, kept := backend.Erasure{User: user}, backend.StoreKept{}
	topics, err := s.topicsAbout(ctx, e)
	if err != nil {
		return nil, err
	}
	for some := range slices.Chunk(topics, maxErase) {
		if kept.Topics, err = s.exportTopics(ctx, kept.Topics, some); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(kept.Topics, backend.TopicKept.Compare)
	statuses, err := s.Statuses(ctx, user)
	if err != nil {
		return nil, err
	}
	kept.Chosen = statuses[0]
	err = s.noticesAbout(ctx, e, func(id string, n backend.Notice) {
		at, _ := streamTime(id)
		kept.Notices = append(kept.Notices, backend.NoticeKept{Kind: n.Kind, At: at})
	})
	if err == nil {
		err = s.entriesAbout(ctx, e, func(consumer string, entries map[string]string) error {
			for key, value := range entries {
				kept.Entries = append(kept.Entries, backend.EntryKept{Consumer: consumer, Key: key, Value: value})
			}
			return nil
		})
	}
	slices.SortFunc(kept.Entries, backend.EntryKept.Compare)
	return kept.Parts(), err
}

// An askedKept is a request for what one topic keeps under one id.
type askedKept struct {
	topic        presence.Topic
	id           string
	users        [2]*redis.SliceCmd // users and hidden
	seen, lately *redis.FloatSliceCmd
	name         *redis.SliceCmd
	views        [2]*redis.BoolCmd // current and old
}

func (s *fleet) exportTopics(ctx context.Context, all []backend.TopicKept, topics []topicAbout) ([]backend.TopicKept, error) {
	var asked []askedKept
	err := s.send(ctx, s.reads, "export", func(ctx context.Context, p redis.Pipeliner) {
		for _, t := range topics {
			for _, id := range t.ids {
				key := func(name string) string { return s.key(t.topic, name) }
				asked = append(asked, askedKept{
					topic: t.topic, id: id,
					users:  [2]*redis.SliceCmd{p.HMGet(ctx, key("users"), id), p.HMGet(ctx, key("hidden"), id)},
					seen:   p.ZMScore(ctx, key("seen"), id),
					lately: p.ZMScore(ctx, key("lately"), id),
					name:   p.HMGet(ctx, key("names"), id),
					views:  [2]*redis.BoolCmd{p.SIsMember(ctx, key("current"), id), p.SIsMember(ctx, key("old"), id)},
				})
			}
		}
	})
	if err != nil {
		return nil, err
	}
	for _, a := range asked {
		if k, any := a.kept(); any {
			all = append(all, k)
		}
	}
	return all, nil
}

// kept returns what the topic keeps, and whether that is anything.
func (a askedKept) kept() (backend.TopicKept, bool) {
	k := backend.TopicKept{Topic: a.topic, Viewed: a.views[0].Val() || a.views[1].Val()}
	k.Member.ID = presence.UserID(a.id)
	for i, found := range a.users {
		record := first(found)
		holders, _ := holdersOf(record)
		if m, err := decodeRecord(a.id, record); len(holders) > 0 && err == nil {
			if i == 1 { // hidden
				m.Since = time.Time{}
			}
			k.Member, k.Leases = m, holders
		}
	}
	if at := a.seen.Val(); len(at) == 1 {
		k.LastSeen = moment(int64(at[0]))
	}
	if at := a.lately.Val(); len(at) == 1 && at[0] < 0 {
		k.Active, k.Known = time.UnixMilli(int64(-at[0])), k.Member.User
		var p storedFields
		if text := first(a.name); text != "" && json.Unmarshal([]byte(text), &p) == nil {
			k.Known = p.user(a.id)
		}
	}
	return k, k.Viewed || !k.LastSeen.IsZero() || len(k.Leases) > 0 || !k.Active.IsZero()
}

// first returns the first text of an answer, "" if there is none.
func first(answer *redis.SliceCmd) string {
	if len(answer.Val()) == 0 {
		return ""
	}
	text, _ := answer.Val()[0].(string)
	return text
}
