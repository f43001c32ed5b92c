package sqlstore

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/base32"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence/feed"
)

// mostMailed is how many items a digest has. Further ones are counted.
const mostMailed = 100

// digests has the digests of users.
type digests struct {
	*feedRows
	agenda agenda
}

// Due implements [feed.Store]. While nothing is due it is one query, or none if the data is as it was. Else it is a transaction
// of at most four statements.
func (f *digests) Due(ctx context.Context, most int, claim time.Duration) (all []feed.Digest, err error) {
	defer wrap(&err, "digests")
	for len(all) < most {
		version := f.db.DataVersion()
		if f.agenda.rests(version) {
			return all, nil
		}
		var now int64
		var first sql.NullInt64
		if err := f.db.pool.QueryRowContext(ctx, f.db.texts["digest_first"]).Scan(&now, &first); err != nil {
			return all, err
		}
		first.Int64 -= now
		if !f.agenda.note(version, first) {
			return all, nil
		}
		looked, some, err := f.claim(ctx, now, most-len(all), claim)
		if err != nil {
			return all, err
		}
		all = append(all, some...)
		if looked == 0 {
			return all, nil // others have claimed them
		}
	}
	return all, nil
}

// A claimant is a feed whose digest is due.
type claimant struct {
	tenant    string
	name      feed.Name // local
	born, pos int64
	mailing   int64 // the newest place in its digest; 0: up to pos
	waited    int64 // milliseconds
	claims    int64
	items     []feed.Item
	total     int64
}

// claim claims digests. looked is how many feeds it read, some of which have nothing to mail.
func (f *digests) claim(ctx context.Context, now int64, most int, claim time.Duration) (looked int, due []feed.Digest, err error) {
	offset, err := f.db.clock.read(ctx)
	if err != nil {
		return 0, nil, err
	}
	until := now + claim.Milliseconds()
	err = f.db.transact(ctx, func(q querier) error {
		due = nil
		all, err := f.claimants(ctx, q, now, most)
		if looked = len(all); err != nil || looked == 0 {
			return err
		}
		if err := f.digestItems(ctx, q, all, offset, func(c *claimant) int64 { return c.upTo() }); err != nil {
			return err
		}
		// A claimed digest of which nothing is left is over. There may be a new one.
		if err := f.digestItems(ctx, q, all, offset, func(c *claimant) int64 {
			if len(c.items) > 0 || c.mailing == 0 {
				return 0
			}
			c.mailing = 0
			return c.pos
		}); err != nil {
			return err
		}
		heads := make([][4]any, len(all))
		for i, c := range all {
			if heads[i] = [4]any{c.tenant, c.name, nil, 0}; len(c.items) > 0 {
				heads[i] = [4]any{c.tenant, c.name, until, c.upTo()}
				due = append(due, f.digest(c))
			}
		}
		return f.db.exec(ctx, q, "digest_claim", asJSON(heads))
	})
	return looked, due, err
}

func (c *claimant) upTo() int64 {
	if c.mailing > 0 {
		return c.mailing
	}
	return c.pos
}

// claimants locks feeds whose digest is due. Tenants take turns.
func (f *digests) claimants(ctx context.Context, q querier, now int64, most int) (all []*claimant, err error) {
	err = f.db.queryIn(ctx, q, "digest_due", func(rows *sql.Rows) error {
		c := &claimant{}
		all = append(all, c)
		return rows.Scan(&c.tenant, &c.name, &c.born, &c.pos, &c.mailing, &c.waited, &c.claims)
	}, now, most)
	return all, err
}

// digestItems reads the items of digests, each up to a place; 0: none.
func (f *digests) digestItems(ctx context.Context, q querier, all []*claimant, offset time.Duration, upTo func(*claimant) int64) error {
	var of []*claimant
	var asked [][3]any
	for _, c := range all {
		if place := upTo(c); place > 0 {
			of = append(of, c)
			asked = append(asked, [3]any{c.tenant, c.name, place})
		}
	}
	if len(asked) == 0 {
		return nil
	}
	return f.db.queryIn(ctx, q, "digest_items", func(rows *sql.Rows) error {
		var nth int
		var total int64
		var i nullItem
		if err := rows.Scan(append([]any{&nth, &total}, i.columns()...)...); err != nil {
			return err
		}
		c := of[nth-1]
		c.items, c.total = append(c.items, i.item(offset)), total
		return nil
	}, asJSON(asked), mostMailed)
}

// digest returns a claimed digest.
func (f *digests) digest(c *claimant) feed.Digest {
	return feed.Digest{
		Tenant: c.tenant, User: c.name.Owner(), Items: c.items, More: int(c.total) - len(c.items), Waited: milliseconds(c.waited),
		Key: f.digestKey(c), Claim: strconv.FormatInt(c.claims+1, 10),
	}
}

// digestKey returns the globally unique name of a digest. No later digest of the feed has the same newest
// place, because everything up to there was mailed.
func (f *digests) digestKey(c *claimant) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d\x00%d", c.tenant, c.name, c.born, c.upTo()))
	return strings.ToLower(base32.HexEncoding.EncodeToString(sum[:15]))
}

// Settle implements [feed.Store]. It is a no-op for a claim that has ended or was settled. A digest without a
// Key was not sent at all, so the next one may have newer items.
func (f *digests) Settle(ctx context.Context, d feed.Digest, sent bool, later time.Duration) (err error) {
	defer wrap(&err, "digest")
	name := feed.Inbox(d.User).In(d.Tenant)
	if err := name.Validate(); err != nil {
		return err
	}
	s := f.db
	return f.change(ctx, name, func(q querier, h *lockedHead, now int64) error {
		if d.Claim != strconv.FormatInt(h.claims, 10) {
			return nil
		}
		if !sent {
			keeps := h.mailing
			if d.Key == "" {
				keeps = 0
			}
			return s.exec(ctx, q, "digest_settled", h.tenant, string(h.name), now+later.Milliseconds(), keeps, later.Milliseconds(), 0)
		}
		ids := make([]string, len(d.Items))
		for i, item := range d.Items {
			ids[i] = item.ID
		}
		if err := s.exec(ctx, q, "digest_sent", h.tenant, string(h.name), h.mailing, asJSON(ids)); err != nil {
			return err
		}
		return s.exec(ctx, q, "digest_settled", h.tenant, string(h.name), now+later.Milliseconds(), 0, 0, 1)
	})
}
