package presence

import (
	"context"
	"encoding/base64"
	"errors"
	"slices"
	"strconv"
	"strings"
)

// storePage begins the name of a page that comes from the store.
const storePage = "~"

// maxStorePages is how many pages of the store RosterPage reads at most for one of its own.
const maxStorePages = 10

// RosterPage is [View.PageOf] for a view of any size. Of a topic that this node keeps in part the
// newest users come from memory and all others from the store, in the store's own order, one
// round trip a page. A page may hold fewer users than limit, or nobody, and still name a next
// one. A user who stays is on one page, and on Redis rarely on two. It returns [ErrStoreOut] if
// the store does not answer until ctx ends.
func (t *Tracker) RosterPage(ctx context.Context, view *View, group, after string, limit int) (page []Member, next string, err error) {
	behind, inStore := strings.CutPrefix(after, storePage)
	if !inStore {
		page, next, err = view.PageOf(group, after, limit)
		if err != nil || next != "" || view.asked == nil || !view.Names {
			return page, next, err
		}
		oldest, there := view.roster.bySince.Max()
		if !there {
			return page, "", nil
		}
		behind = pageName(oldest.Member)
		if last, err := parsePage(after, view.Topic.Tenant()); after != "" && err == nil && NewestFirst(last.Member, oldest.Member) > 0 {
			behind = after // of a view that had more users
		}
		if len(page) > 0 {
			return page, storePage + behind, nil
		}
	}
	if !view.Names {
		return nil, "", nil
	}
	return t.storePage(ctx, view.Topic, group, behind, limit)
}

// storePage reads a page of the store: of users who are older than the one at which the pages
// from memory ended.
func (t *Tracker) storePage(ctx context.Context, topic Topic, group, after string, limit int) (page []Member, next string, err error) {
	newest, from, _ := strings.Cut(after, storePage)
	pivot, err := parsePage(newest, topic.Tenant())
	if err != nil {
		return nil, "", err
	}
	q := RosterQuery{After: from, Limit: min(max(limit, 1), maxRosterQuery)}
	for range maxStorePages {
		got, err := t.store.Roster(ctx, topic, q)
		if err != nil {
			if errors.Is(err, ErrInvalidPage) {
				return nil, "", errPage
			}
			return nil, "", storeOut(err)
		}
		page = slices.DeleteFunc(got.Members, func(m Member) bool {
			return NewestFirst(m, pivot.Member) <= 0 || group != "" && m.Group != group
		})
		if q.After = got.Next; len(page) > 0 || q.After == "" {
			break
		}
	}
	slices.SortFunc(page, NewestFirst)
	if q.After != "" {
		next = storePage + newest + storePage + q.After
	}
	return page, next, nil
}

// pageName names the page behind a user.
func pageName(last Member) string {
	return strconv.FormatInt(last.Since.UnixNano(), 36) + "." + base64.RawURLEncoding.EncodeToString([]byte(last.ID.Local()))
}
