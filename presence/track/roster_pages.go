package track

import (
	"context"
	"encoding/base64"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// storePage is the prefix of a page's name if the page comes from the store.
const storePage = "~"

// maxStorePages is how many pages of the store RosterPage reads for one page at most.
const maxStorePages = 10

// rosterPages returns pages of rosters.
type rosterPages struct{ store backend.Store }

// page is [Tracker.RosterPage].
func (r *rosterPages) page(ctx context.Context, view *View, group, after string, limit int) (page []presence.Member, next string, err error) {
	behind, inStore := strings.CutPrefix(after, storePage)
	switch {
	case inStore && !view.Names:
		return nil, "", nil
	case inStore:
		return r.storePage(ctx, view.Topic, group, behind, limit)
	case view.asked == nil || !view.Names:
		return view.pageSince(time.Time{}, group, after, limit)
	case after == "" && view.doubtful:
		return view.firstPage(group, limit)
	}
	page, next, err = view.pageSince(view.since, group, after, limit)
	if err != nil || next != "" {
		return page, next, err
	}
	pivot := presence.Member{Since: view.since}
	behind = pageName(pivot)
	if last, err := parsePage(after, view.Topic.Tenant()); after != "" && err == nil && presence.NewestFirst(last.Member, pivot) > 0 {
		behind = after // after is from a view that knew all of more users
	}
	if len(page) >= limit {
		return page, storePage + behind, nil
	}
	more, next, err := r.storePage(ctx, view.Topic, group, behind, limit-len(page))
	switch {
	case err == nil:
		return append(page, more...), next, nil
	case after == "":
		return view.firstPage(group, limit)
	case len(page) > 0:
		return page, storePage + behind, nil
	}
	return nil, "", err
}

// firstPage returns a page of the users whom this node knows. All later pages come from the store.
func (v *View) firstPage(group string, limit int) (page []presence.Member, next string, err error) {
	page, _, err = v.pageSince(time.Time{}, group, "", limit)
	return page, storePage + pageName(presence.Member{Since: nobodySince}), err
}

// storePage reads a page of the store. It contains only users who are older than the end of the pages from
// memory, since those contained all newer ones.
func (r *rosterPages) storePage(ctx context.Context, topic presence.Topic, group, after string, limit int) (page []presence.Member, next string, err error) {
	newest, from, _ := strings.Cut(after, storePage)
	pivot, err := parsePage(newest, topic.Tenant())
	if err != nil {
		return nil, "", err
	}
	q := backend.RosterQuery{After: from, Limit: min(max(limit, 1), maxRosterQuery)}
	for range maxStorePages {
		got, err := r.store.Roster(ctx, topic, q)
		if err != nil {
			if errors.Is(err, presence.ErrInvalidPage) {
				return nil, "", errPage
			}
			return nil, "", storeOut(err)
		}
		page = slices.DeleteFunc(got.Members, func(m presence.Member) bool {
			return presence.NewestFirst(m, pivot.Member) <= 0 || group != "" && m.Group != group
		})
		if q.After = got.Next; len(page) > 0 || q.After == "" {
			break
		}
	}
	slices.SortFunc(page, presence.NewestFirst)
	if q.After != "" {
		next = storePage + newest + storePage + q.After
	}
	return page, next, nil
}

// pageName returns the name of the page that begins after a user.
func pageName(last presence.Member) string {
	return strconv.FormatInt(last.Since.UnixNano(), 36) + "." + base64.RawURLEncoding.EncodeToString([]byte(last.ID.Local()))
}

// maxRosterQuery is the most users on one page of a store's roster.
const maxRosterQuery = 1_000
