package presencetest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// readRecent reads a list of recent users to its end, page by page, and checks what holds
// for each list. Next is empty in what it returns.
func readRecent(ctx context.Context, store backend.Store, topic presence.Topic, q backend.RecentQuery) (all backend.RecentPage, err error) {
	for {
		p, err := store.Recent(ctx, topic, q)
		if err != nil {
			return all, err
		}
		if len(p.Users) > q.Limit || p.Next == q.After && p.Next != "" {
			return all, fmt.Errorf("the page after %q has %d users and the next one is after %q, want %d at most and to get on", q.After, len(p.Users), p.Next, q.Limit)
		}
		all.Total = p.Total
		for _, u := range p.Users {
			if n := len(all.Users); n > 0 && !latestFirst(all.Users[n-1], u) {
				return all, fmt.Errorf("%q stands before %q, want the latest active first, equal ones by id", all.Users[n-1].ID, u.ID)
			}
			if err := checkRecent(u); err != nil {
				return all, err
			}
			all.Users = append(all.Users, u)
		}
		if q.After = p.Next; q.After == "" {
			break
		}
	}
	if len(all.Users) > all.Total {
		return all, fmt.Errorf("there are %d users of %d in all", len(all.Users), all.Total)
	}
	return all, nil
}

// checkRemembered returns an error unless a store says of each user by the id what its list of
// recent users says: in the order asked, an id as often as it is named, and nothing of others.
func checkRemembered(ctx context.Context, store backend.Store, topic presence.Topic, list []backend.RecentUser, others ...presence.UserID) error {
	ids := append([]presence.UserID{"", "nobody"}, others...)
	want := make([]backend.RecentUser, len(ids))
	for _, u := range list {
		ids, want = append(ids, u.ID, "nobody"), append(want, u, backend.RecentUser{})
	}
	for _, u := range list {
		ids, want = append(ids, u.ID), append(want, u)
	}
	var got []backend.RecentUser
	for some := range slices.Chunk(ids, 1_000) {
		page, err := store.Recent(ctx, topic, backend.RecentQuery{Users: some})
		if err != nil || len(page.Users) != len(some) || page.Total != 0 || page.Next != "" {
			return fmt.Errorf("got %d users, %d in all, next %q and error %w, want %d users alone", len(page.Users), page.Total, page.Next, err, len(some))
		}
		got = append(got, page.Users...)
	}
	for i, u := range got {
		if w := want[i]; u.ID != w.ID || !u.SameProfile(w.User) || !u.Active.Equal(w.Active) || u.Online != w.Online || u.Idle != w.Idle {
			return fmt.Errorf("number %d, %q, is %+v, want %+v as on the page (rule 9)", i+1, ids[i], u, w)
		}
	}
	return nil
}

func latestFirst(a, b backend.RecentUser) bool {
	return a.Active.After(b.Active) || a.Active.Equal(b.Active) && strings.Compare(string(a.ID), string(b.ID)) < 0
}

// checkRecent returns an error for a user whom no store may return.
func checkRecent(u backend.RecentUser) error {
	switch {
	case u.Status.Unseen():
		return fmt.Errorf("%q has status %q, want no unseen user (rule 5)", u.ID, u.Status)
	case u.Status == presence.Invisible, u.Online != (u.Status != ""):
		return fmt.Errorf("%q has status %q, online %v, want a visible status, of users online alone (rule 9)", u.ID, u.Status, u.Online)
	case u.Active.IsZero():
		return fmt.Errorf("%q was active at the zero time (rule 9)", u.ID)
	}
	return nil
}
