package track

import (
	"context"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/internal/wire"
)

// Topics returns up to most topics of a tenant that have a user, guest or bot, or had one
// lately: those after a given topic, in the order of their bytes. A site without tenants has the
// empty one. It is for staff: it asks the store each time, and costs a few round trips. It passes
// over the topics of all other tenants, which costs more round trips for the empty tenant alone:
// it reads at most 100 pages of a thousand topics. Its error is [presence.ErrStoreOut].
func (t *Tracker) Topics(ctx context.Context, tenant string, after presence.Topic, most int) ([]presence.Topic, error) {
	topics, err := topicsIn(ctx, t.store, tenant, after, most)
	return topics, storeOut(err)
}

// maxTopicReads bounds how often topicsIn asks the store.
const maxTopicReads = 100

// topicsIn returns up to most topics of a tenant behind a given one. The store has topics in
// the order of their bytes, so those of a tenant stand together, and those of the empty tenant
// stand between them.
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
				return all, nil // behind the last of the tenant
			}
			if mine && !topic.Reserved() && len(all) < most {
				all = append(all, topic)
			}
		}
		if len(page) == 0 || len(all) == most {
			break
		}
		if after = page[len(page)-1]; tenant == "" && after.Tenant() != "" {
			after = presence.Topic(after.Tenant() + wire.TopicSeparator + "\xff") // behind all topics of that tenant
		}
	}
	return all, nil
}

// Inspect returns up to most users of a topic with their leases, also invisible users: those
// after a given user, in the order of their IDs. It is for staff: it asks the store each
// time, and costs a few round trips. Its error is [presence.ErrStoreOut].
func (t *Tracker) Inspect(ctx context.Context, topic presence.Topic, after presence.UserID, most int) ([]backend.Inspected, error) {
	users, err := t.store.Inspect(ctx, topic, after, most)
	return users, storeOut(err)
}
