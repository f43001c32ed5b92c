package track

import (
	"context"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// maxBrowser bounds Visitor.Browser, in bytes. A longer one counts as unknown.
const maxBrowser = 64

// knownBrowser returns a copy of a browser's id, or "" for one that is too long.
func knownBrowser(id string) string {
	if len(id) > maxBrowser {
		return ""
	}
	return strings.Clone(id)
}

// signOff is [Tracker.SignOff].
func (s *signOuts) signOff(ctx context.Context, user presence.UserID, browser string) error {
	if browser == "" || len(browser) > maxBrowser || user == "" {
		return s.signOut(ctx, user)
	}
	user, browser = presence.UserID(strings.Clone(string(user))), strings.Clone(browser)
	at := time.Now()
	return s.tell(ctx, at, signedOut{signOutNotice(user, ofBrowser, browser), placed{siteOf(user), cell{member: user, off: at}}})
}

// endBrowser ends the user's connections here that the browser, or an unknown one, opened before a moment. Page views
// before that no longer count.
//
// Connections of other browsers stay, and take the place of all page views (rule 3). Otherwise a view from the
// browser that signed off could hold the user after the last connection has closed.
func (s *signOuts) endBrowser(user presence.UserID, browser string, at time.Time) (all []placed) {
	tag := tagOf(browser)
	s.users.records.endBrowser(user, tag, at)
	s.users.records.endViews(user, at)
	for topic := range s.endWhere(user, at, func(h *holder) bool { return h.browser() == tag || h.browser() == "" }) {
		if topic != backend.DevicesTopic {
			all = append(all, placed{topic, cell{member: user, off: at}})
		}
	}
	s.users.removeViews(user, at)
	return all
}
