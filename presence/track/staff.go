package track

import (
	"cmp"
	"context"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/internal/wire"
)

// Staff has the verbs of a site's staff: see [Tracker.Staff]. Its methods may be called concurrently.
type Staff struct {
	cfg      *Config
	store    backend.Store
	acts     *acts
	signOuts *signOuts
	records  *records
	found    *findings
}

// topics is [Staff.Topics].
func (s *Staff) topics(ctx context.Context, tenant string, after presence.Topic, most int) ([]presence.Topic, error) {
	topics, err := topicsIn(ctx, s.store, tenant, after, most)
	return topics, storeOut(err)
}

// maxTopicReads bounds how often topicsIn asks the store.
const maxTopicReads = 100

// topicsIn returns up to most topics of a tenant, after a given one. The store orders topics by their bytes.
// So a tenant's topics are adjacent, and those of the empty tenant are between those of others.
func topicsIn(ctx context.Context, store backend.Store, tenant string, after presence.Topic, most int) (all []presence.Topic, err error) {
	if tenant != "" {
		after = max(after, presence.Topic(tenant+wire.TopicSeparator))
	}
	for range maxTopicReads {
		page, err := store.Topics(ctx, after, min(placesAtOnce, most))
		if err != nil {
			return nil, err
		}
		for _, topic := range page {
			mine := topic.Tenant() == tenant
			if !mine && tenant != "" {
				return all, nil // past the last one of the tenant
			}
			if mine && !topic.Reserved() && len(all) < most {
				all = append(all, topic)
			}
		}
		if len(page) == 0 || len(all) == most {
			break
		}
		if after = page[len(page)-1]; tenant == "" && after.Tenant() != "" {
			after = presence.Topic(after.Tenant() + wire.TopicSeparator + "\xff") // to skip all topics of that tenant
		}
	}
	return all, nil
}

// inspect is [Staff.Inspect].
func (s *Staff) inspect(ctx context.Context, topic presence.Topic, after presence.UserID, most int) ([]backend.Inspected, error) {
	users, err := s.store.Inspect(ctx, topic, after, most)
	return users, storeOut(err)
}

// disconnect is [Staff.Disconnect].
func (s *Staff) disconnect(ctx context.Context, by, user presence.UserID, bar time.Duration) error {
	if err := (presence.User{ID: user}).ValidateInside(); err != nil {
		return err
	}
	told := s.acts.act(ctx, presence.Act{By: by, Did: presence.ActDisconnect, User: user, Bar: min(max(bar, 0), MaxBar)})
	return cmp.Or(s.signOuts.signOut(ctx, user), told) // an act that the store did not accept is published later, and must be done now too
}

// cut is [Staff.DisconnectConnection].
func (s *Staff) cut(ctx context.Context, by, user presence.UserID, connection presence.Holder) error {
	if err := (presence.User{ID: user}).ValidateInside(); err != nil {
		return err
	}
	return s.acts.act(ctx, presence.Act{By: by, Did: presence.ActCut, User: user, Connection: connection})
}

// resetPeak is [Staff.ResetPeak].
func (s *Staff) resetPeak(ctx context.Context, by presence.UserID, topic presence.Topic) error {
	if !s.cfg.Kind(topic).Peak {
		return nil
	}
	if err := s.records.reset(ctx, topic); err != nil {
		return err
	}
	return s.acts.act(ctx, presence.Act{By: by, Did: presence.ActResetPeak, Topic: topic})
}
