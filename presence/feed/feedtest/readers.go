package feedtest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence/feed"
)

// A snapshot is the content of a feed's list at one revision.
type snapshot struct {
	head  feed.Head
	items []feed.Item // the newest first
}

// readers are readers of each feed that stopped at different revisions.
type readers struct {
	store feed.Store
	had   map[feed.Name][]snapshot
}

// mostHad is how many earlier snapshots of a feed are kept.
const mostHad = 12

func newReaders(store feed.Store) *readers {
	return &readers{store: store, had: make(map[feed.Name][]snapshot)}
}

func (r *readers) names() []feed.Name { return slices.Sorted(maps.Keys(r.had)) }

// look reads a feed in pages. It returns an error if the pages or the head are inconsistent, or if the
// changes since an earlier snapshot do not lead to what it read. The feed must not change meanwhile.
func (r *readers) look(ctx context.Context, n feed.Name) (snapshot, error) {
	now, err := readAll(ctx, r.store, n, 0)
	if err != nil {
		return now, err
	}
	if err := now.check(); err != nil {
		return now, err
	}
	heads, err := r.store.Heads(ctx, n)
	if err != nil || len(heads) != 1 {
		return now, fmt.Errorf("heads: got %d and %v, want one", len(heads), err)
	}
	if !sameHead(heads[0], now.head) {
		return now, fmt.Errorf("the head is %+v, and a page has %+v (rule F8)", heads[0], now.head)
	}
	had := r.had[n]
	if len(had) > 0 {
		if err := now.follows(had[len(had)-1]); err != nil {
			return now, err
		}
	}
	since := make([]feed.Since, len(had))
	for i, s := range had {
		since[i] = feed.Since{Name: n, Rev: s.head.Rev, Born: s.head.Born}
	}
	changes, err := r.store.Changes(ctx, since...)
	if err != nil || len(changes) != len(since) {
		return now, fmt.Errorf("changes since %d revisions: got %d and %v", len(since), len(changes), err)
	}
	for i, c := range changes {
		if err := lead(c, had[i], now); err != nil {
			return now, fmt.Errorf("changes since revision %d: %w", had[i].head.Rev, err)
		}
	}
	if len(had) == 0 || had[len(had)-1].head.Rev != now.head.Rev {
		if len(had) == mostHad {
			had = slices.Delete(had, 1, 2)
		}
		r.had[n] = append(had, now)
	}
	return now, nil
}

// readAll reads all that is on the list of a feed, in pages.
func readAll(ctx context.Context, s feed.Store, n feed.Name, size int) (all snapshot, err error) {
	if size == 0 {
		size = 100
	}
	before := int64(0)
	for page := 0; ; page++ {
		head, items, more, err := s.Page(ctx, n, before, size)
		if err != nil {
			return all, fmt.Errorf("page: %w", err)
		}
		if len(items) > size {
			return all, fmt.Errorf("a page of at most %d has %d items", size, len(items))
		}
		all.head = head
		all.items = append(all.items, items...)
		if !more {
			return all, nil
		}
		if len(items) == 0 || page > 1_000 {
			return all, errors.New("a page without end: there are more items, and none came")
		}
		before = items[len(items)-1].Pos
	}
}

// check returns an error if a snapshot is inconsistent.
func (s snapshot) check() error {
	unread, ids := 0, make(map[string]bool)
	for i, item := range s.items {
		switch {
		case !item.State.Listed():
			return fmt.Errorf("item %q of a page is %s", item.ID, item.State)
		case i > 0 && item.Pos >= s.items[i-1].Pos:
			return fmt.Errorf("item %q at place %d stands below place %d", item.ID, item.Pos, s.items[i-1].Pos)
		case ids[item.ID]:
			return fmt.Errorf("item %q is there twice (rules F1, F4)", item.ID)
		case item.Rev > s.head.Rev || item.Pos > s.head.Pos || item.Rev < 1 || item.Pos < 1:
			return fmt.Errorf("item %q has revision %d and place %d, and the head has %d and %d (rule F2)", item.ID, item.Rev, item.Pos, s.head.Rev, s.head.Pos)
		case item.Count < 1 || item.V < 1 || item.Type == "" || item.At.IsZero():
			return fmt.Errorf("item %q lacks something: %+v", item.ID, item)
		}
		ids[item.ID] = true
		if item.State == feed.Unread {
			unread++
		}
	}
	h := s.head
	switch {
	case h.Unread != unread:
		return fmt.Errorf("the head says %d unread, and %d items are (rule F3)", h.Unread, unread)
	case h.Unseen < 0 || h.Unseen > h.Unread:
		return fmt.Errorf("the head says %d unseen of %d unread (rule F3)", h.Unseen, h.Unread)
	case h.Floor > h.Rev || (h.Rev == 0) != h.Born.IsZero():
		return fmt.Errorf("the head %+v makes no sense", h)
	}
	return nil
}

// follows returns an error if s cannot come after an earlier snapshot.
func (s snapshot) follows(before snapshot) error {
	switch {
	case s.head.Rev < before.head.Rev || s.head.Pos < before.head.Pos || s.head.Floor < before.head.Floor:
		return fmt.Errorf("the head went back from %+v to %+v (rule F2)", before.head, s.head)
	case before.head.Rev > 0 && !s.head.Born.Equal(before.head.Born):
		return fmt.Errorf("the feed was born again: %v, before %v", s.head.Born, before.head.Born)
	case s.head.Rev == before.head.Rev:
		if err := s.same(before); err != nil {
			return fmt.Errorf("revision %d was read twice, and shows two things (rules F2, F8): %w", s.head.Rev, err)
		}
	}
	return nil
}

// lead checks a change that a reader got: applied to the snapshot from, it must give the snapshot
// to (rule F2). A gap is accepted where rule F8 allows one.
func lead(c feed.Change, from, to snapshot) error {
	if !sameHead(c.Head, to.head) {
		return fmt.Errorf("they have the head %+v, and a page has %+v (rule F8)", c.Head, to.head)
	}
	must := from.head.Rev < to.head.Floor
	switch {
	case c.Gap && len(c.Items) > 0:
		return errors.New("a gap has items")
	case must && !c.Gap:
		return fmt.Errorf("rows were deleted at revision %d, and there is no gap (rule F8)", to.head.Floor)
	case c.Gap && !must && to.head.Rev-from.head.Rev <= feed.MaxBehind && to.head.Pos <= feed.MaxBehind:
		return errors.New("there is a gap without a reason")
	case c.Gap:
		return nil
	case len(c.Items) > feed.MaxBehind:
		return fmt.Errorf("there are %d, and at most %d are sent (rule F8)", len(c.Items), feed.MaxBehind)
	}
	applied := make(map[string]feed.Item)
	for _, item := range from.items {
		applied[item.ID] = item
	}
	for i, item := range c.Items {
		if item.Rev <= from.head.Rev {
			return fmt.Errorf("item %q has not changed since: its revision is %d (rule F8)", item.ID, item.Rev)
		}
		if i > 0 && item.Pos >= c.Items[i-1].Pos {
			return fmt.Errorf("item %q at place %d stands below place %d", item.ID, item.Pos, c.Items[i-1].Pos)
		}
		applied[item.ID] = item
		if !item.State.Listed() {
			delete(applied, item.ID)
		}
	}
	items := slices.SortedFunc(maps.Values(applied), func(a, b feed.Item) int { return cmp.Compare(b.Pos, a.Pos) })
	if err := sameItems(items, to.items, true); err != nil {
		return fmt.Errorf("applied to what a reader had, they give something else than a page read afresh (rule F2): %w", err)
	}
	return nil
}

// same returns an error that says how two snapshots of one revision differ.
func (s snapshot) same(o snapshot) error {
	if !sameHead(s.head, o.head) {
		return fmt.Errorf("got head %+v, want %+v", s.head, o.head)
	}
	return sameItems(s.items, o.items, true)
}

func sameHead(a, b feed.Head) bool {
	born := a.Born.Equal(b.Born)
	a.Born, b.Born = time.Time{}, time.Time{}
	return born && a == b
}

// sameItems returns an error that says how items differ from the wanted ones. It compares times coarsely.
// revs is false if the two stores number revisions differently.
func sameItems(got, want []feed.Item, revs bool) error {
	if len(got) != len(want) {
		return fmt.Errorf("got %d items %.40q, want %d %.40q", len(got), texts(got), len(want), texts(want))
	}
	for i := range got {
		if what := differ(got[i], want[i], revs); what != "" {
			return fmt.Errorf("item %d: %s differs: got %+v, want %+v", i, what, got[i], want[i])
		}
	}
	return nil
}

// coarse is the greatest difference of two times that count as equal.
const coarse = 5 * time.Second

// differ returns the difference between two items, or "".
func differ(a, b feed.Item, revs bool) string {
	switch {
	case a.Pos != b.Pos:
		return "the place"
	case revs && a.Rev != b.Rev:
		return "the revision"
	case a.ID != b.ID:
		return "the ID"
	case a.Type != b.Type || a.V != b.V:
		return "type or V"
	case !slices.Equal(a.Actors, b.Actors) || a.Others != b.Others:
		return "who did it"
	case a.Count != b.Count:
		return "the count"
	case a.About != b.About || a.Group != b.Group:
		return "about or group"
	case a.Text != b.Text || a.URL != b.URL:
		return "text or URL"
	case !sameJSON(a.Data, b.Data):
		return "the data"
	case a.State != b.State:
		return "the state"
	case !revs && a.Mail != b.Mail: // a digest changes Mail without a new revision
		return "mail"
	case !revs && a.At.Sub(b.At).Abs() > coarse:
		return "the time"
	case !revs && !sameTime(a.SeenAt, b.SeenAt): // a mark changes SeenAt without a new revision
		return "when it was seen"
	case a.ReadAt.IsZero() != b.ReadAt.IsZero() || !revs && !sameTime(a.ReadAt, b.ReadAt):
		return "when it was read"
	}
	return ""
}

// sameTime reports whether two times are about equal. A zero time equals only a zero time.
func sameTime(a, b time.Time) bool {
	return a.IsZero() == b.IsZero() && a.Sub(b).Abs() <= coarse
}

func sameJSON(a, b json.RawMessage) bool {
	var x, y any
	if len(a) == 0 || len(b) == 0 || json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return bytes.Equal(a, b)
	}
	one, _ := json.Marshal(x)
	two, _ := json.Marshal(y)
	return bytes.Equal(one, two)
}
