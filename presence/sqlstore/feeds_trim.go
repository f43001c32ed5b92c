package sqlstore

import (
	"context"
	"database/sql"
	"sync"

	"github.com/rollcall-go/rollcall/presence/feed"
)

// trimmedAtOnce is how many feeds one transaction looks at.
const trimmedAtOnce = 50

// lookAgain is the time in milliseconds after which each feed with rows is checked again, since the site may
// have shortened what is kept.
const lookAgain = 24 * 60 * 60 * 1000

// A trimmer removes what is too old or too many.
type trimmer struct {
	*feedRows

	mu    sync.Mutex
	last  feed.TrimOptions
	after place // the last feed that Trim checked
}

// Trim implements [feed.Store]. A transaction has at most 50 feeds of one tenant. It goes through all feeds
// once, beginning where the last call of this Feeds ended: so a tenant with much to remove does not delay
// others for ever. If there is nothing to remove, it only reads the heads of all tenants.
func (f *trimmer) Trim(ctx context.Context, o feed.TrimOptions) (removed int, err error) {
	defer wrap(&err, "trim")
	all := f.newTrim(o)
	f.mu.Lock()
	began := f.after
	f.mu.Unlock()
	at, wrapped := began, false
	for err == nil && removed < o.Rows {
		var n int
		var next place
		var more bool
		n, next, more, err = f.trimSome(ctx, o, all, at, o.Rows-removed)
		removed += n
		switch {
		case err != nil:
		case more && !(wrapped && next.after(began)):
			at = next
			continue
		case !more && !wrapped && began != (place{}):
			at, wrapped = place{}, true
			continue
		default:
			at = place{} // it has checked all feeds
		}
		break
	}
	f.mu.Lock()
	f.after = at
	f.mu.Unlock()
	return removed, err
}

// newTrim reports whether options differ from the last ones. Then the stored times of the next checks are
// useless.
func (f *trimmer) newTrim(o feed.TrimOptions) bool {
	o.Rows = 0
	f.mu.Lock()
	defer f.mu.Unlock()
	differ := f.last != (feed.TrimOptions{}) && f.last != o
	f.last = o
	return differ
}

// trimSome trims some feeds of the first tenant that has any after a place. It returns the place of the last
// one.
func (f *trimmer) trimSome(ctx context.Context, o feed.TrimOptions, all bool, after place, rows int) (removed int, last place, more bool, err error) {
	s := f.db
	err = s.transact(ctx, func(q querier) error {
		var now int64
		if err := q.QueryRowContext(ctx, s.texts["now"]).Scan(&now); err != nil {
			return err
		}
		due := now
		if all {
			due = allPlaces
		}
		var names []string
		err := s.queryIn(ctx, q, "trim_due", func(rows *sql.Rows) error {
			err := rows.Scan(&last.tenant, &last.feed)
			names = append(names, last.feed)
			return err
		}, due, o.Most, after.tenant, after.feed, trimmedAtOnce)
		if more = len(names) > 0; err != nil || !more {
			return err
		}
		t := &trim{o: o, now: now, rows: rows, feeds: make(map[string]*trimmed, len(names))}
		for _, name := range names {
			t.feeds[name] = &trimmed{items: make(map[string]bool)}
		}
		err = s.queryIn(ctx, q, "trim_items", func(rows *sql.Rows) error {
			var name string
			var i trimItem
			err := rows.Scan(&name, &i.pos, &i.id, &i.at, &i.state)
			t.feeds[name].all = append(t.feeds[name].all, i)
			return err
		}, last.tenant, asJSON(names))
		if err != nil {
			return err
		}
		t.chooseItems(names)
		err = s.queryIn(ctx, q, "trim_ids", func(rows *sql.Rows) error {
			var name, id string
			var at int64
			err := rows.Scan(&name, &id, &at)
			t.chooseID(name, id, at)
			return err
		}, last.tenant, asJSON(names), rows+1)
		if err != nil {
			return err
		}
		removed = len(t.places) + len(t.ids)
		return f.trimRows(ctx, q, last.tenant, names, t)
	})
	return removed, last, more, err
}

// trimRows writes what trim has chosen.
func (f *trimmer) trimRows(ctx context.Context, q querier, tenant string, names []string, t *trim) error {
	s := f.db
	if len(t.places) > 0 {
		if err := s.exec(ctx, q, "relay_moved", tenant, asJSON(t.places)); err != nil {
			return err
		}
	}
	if len(t.ids) > 0 {
		if err := s.exec(ctx, q, "relay_forget", tenant, asJSON(t.ids)); err != nil {
			return err
		}
	}
	heads := make([][3]any, len(names))
	for i, name := range names {
		d := t.feeds[name]
		fewer := 0
		if d.fewer {
			fewer = 1
		}
		heads[i] = [3]any{name, fewer, nil}
		if d.next > 0 {
			heads[i][2] = min(d.next, t.now+lookAgain)
		}
	}
	return s.exec(ctx, q, "trim_heads", tenant, asJSON(heads))
}

// A trim chooses rows to remove (rule F12).
type trim struct {
	o      feed.TrimOptions
	now    int64
	rows   int // the most rows to remove
	feeds  map[string]*trimmed
	places [][]any // of items to remove: feed and place
	ids    [][]any // to remove: feed and id
}

// A trimmed is one feed.
type trimmed struct {
	all   []trimItem      // the oldest first
	items map[string]bool // ids of items that are kept
	fewer bool            // items are removed
	next  int64           // when to check it again; 0: no row is left
}

type trimItem struct {
	pos, at int64
	id      string
	state   feed.State
}

// chooseItems chooses items to remove: first those that are too old, and then, if there are too many, the
// oldest that are not unread.
func (t *trim) chooseItems(names []string) {
	for _, name := range names {
		d := t.feeds[name]
		over := len(d.all) - t.o.Most
		for _, i := range d.all {
			if t.ends(i) < t.now {
				over--
			}
		}
		for _, i := range d.all {
			goes := t.ends(i) < t.now
			if !goes && over > 0 && i.state != feed.Unread {
				goes = true
				over--
			}
			if goes && len(t.places) < t.rows {
				t.places = append(t.places, []any{name, i.pos})
				d.fewer = true
				continue
			}
			d.items[i.id] = true
			d.lookAt(t.ends(i) + 1)
		}
		d.all = nil
	}
}

// ends returns the last moment at which an item is kept.
func (t *trim) ends(i trimItem) int64 {
	ends := i.at + t.o.Keep.Milliseconds()
	if i.state >= feed.Archived {
		ends = min(ends, i.at+t.o.Archived.Milliseconds())
	}
	return ends
}

// chooseID chooses an id to remove if it is too old and its item is gone.
func (t *trim) chooseID(name, id string, at int64) {
	d := t.feeds[name]
	ends := at + t.o.Keep.Milliseconds()
	switch {
	case d.items[id]: // it is removed with its item
	case ends < t.now && len(t.places)+len(t.ids) < t.rows:
		t.ids = append(t.ids, []any{name, id})
	default:
		d.lookAt(ends + 1)
	}
}

func (d *trimmed) lookAt(at int64) {
	if d.next == 0 || at < d.next {
		d.next = at
	}
}
