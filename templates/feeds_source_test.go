package templates_test

import (
	"context"
	"testing"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
	"github.com/rollcall-go/rollcall/presence/feed/feedtest"
	"github.com/rollcall-go/rollcall/templates"
)

// A page that shows an inbox where the widgets have no Keeper, and the tracker has one, is a finding.
// On a site without feeds it shows nothing, as documented.
func TestNoKeeper(t *testing.T) {
	for _, withFeeds := range []bool{false, true} {
		bubble(t, templates.Config{}, func(s *site) {
			if withFeeds {
				keeper, err := feed.New(feedtest.NewMemory(), s.tracker, feed.Config{})
				noError(t, err)
				defer func() { _ = keeper.Close(context.Background()) }()
			}
			s.page(`{{bell}}{{notifications}}`, presence.User{ID: "alice"})
			got := s.tracker.Staff().Diagnose()
			if withFeeds && (len(got) != 1 || got[0].Finding != presence.NoKeeper) || !withFeeds && got != nil {
				t.Errorf("with feeds %v: got %v, want a missing Keeper only then", withFeeds, got)
			}
		})
	}
}
