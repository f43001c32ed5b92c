package track_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/deliver"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// coreOnly hides every optional feature of a store.
type coreOnly struct{ backend.Core }

var siteSecret = []byte("sixteen bytes of the site's own")

// Two nodes run on a store of the twelve methods alone: one join and one leave, an outage in
// between, and a topic that is never kept in part.
func TestStoreOfTheCoreAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := presencetest.NewFaults(coreOnly{memstore.New()})
		a := start(t, faults, track.Config{Node: "a", Secret: siteSecret, MaxRoster: 2})
		b := start(t, faults, track.Config{Node: "b", Secret: siteSecret, MaxRoster: 2})
		w := watch(t, a)
		time.Sleep(8 * time.Second) // the nodes trust the store

		alice := connect(t, b, track.ConnectOptions{Visitor: visitor("alice")})
		time.Sleep(time.Second)
		w.want("diff +alice -")
		faults.Break(presencetest.Fault{Err: errors.New("out")})
		time.Sleep(time.Minute)
		faults.Heal()
		time.Sleep(time.Minute)
		w.want() // nobody left
		alice.Close()
		time.Sleep(11 * time.Second)
		w.want("diff + -alice")
		view, err := a.View(t.Context(), presence.Site)
		noError(t, err)
		if page, _, err := view.Page("", "", 10); err != nil || len(page) != 0 {
			t.Errorf("a page: got %v, %v", page, err)
		}
	})
}

// What a store cannot do is an error that names it.
func TestVerbsOfMissingFeatures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, backend.Extend(coreOnly{memstore.New()}), track.Config{Secret: siteSecret})
		ctx, alice := t.Context(), presence.UserID("alice")
		none := func(context.Context, deliver.Event) error { return nil }
		for name, tt := range map[string]struct {
			call func() error
			want string
		}{
			"SetStatus": {func() error { return tracker.SetStatus(ctx, alice, presence.Away) }, "StatusStore"},
			"Signal":    {func() error { return tracker.Signal(presence.Site, presence.Signal{Type: "x"}) }, "BroadcastStore"},
			"Whisper": {func() error {
				return tracker.Whisper(ctx, visitor("alice"), presence.Site, presence.Signal{Type: "x"})
			}, "BroadcastStore"},
			"Deliver": {func() error {
				return tracker.Deliver(ctx, "c", []presence.Topic{presence.Site}, deliver.Options{}, none)
			}, "ConsumerStore"},
			"Export": {func() error { _, err := tracker.Export(ctx, alice); return err }, "ErasureStore"},
			"Erase":  {func() error { return tracker.Erase(ctx, alice) }, "ErasureStore"},
			"Topics": {func() error { _, err := tracker.Staff().Topics(ctx, "", "", 10); return err }, "StaffStore"},
			"Inspect": {func() error {
				_, err := tracker.Staff().Inspect(ctx, presence.Site, "", 10)
				return err
			}, "StaffStore"},
			"Recent": {func() error {
				_, err := tracker.Recent(ctx, presence.Site, backend.RecentQuery{Limit: 1})
				return err
			}, "RecentStore"},
		} {
			if err := tt.call(); !errors.Is(err, errors.ErrUnsupported) || errors.Is(err, presence.ErrStoreOut) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: got %v, want %v that names %s", name, err, errors.ErrUnsupported, tt.want)
			}
		}
		time.Sleep(8 * time.Second)
		if at, err := tracker.Attended(ctx, alice); at || err != nil {
			t.Errorf("Attended: got %v, %v, want false and no error", at, err)
		}
	})
}

// A site that configures what its store cannot do does not start, and reads which field asks for
// which feature.
func TestConfigOfMissingFeatures(t *testing.T) {
	kind := func(k presence.Kind) track.Config {
		return track.Config{Secret: siteSecret, Kinds: map[string]presence.Kind{"thread": k}}
	}
	for _, tt := range []struct {
		cfg  track.Config
		want []string // a field and its feature
	}{
		{track.Config{}, []string{"Secret", "SecretStore"}},
		{track.Config{Secret: siteSecret, NodeTTL: time.Second}, []string{"NodeTTL", "NodeStore"}},
		{kind(presence.Kind{Peak: true}), []string{`Kinds["thread"].Peak`, "ExtrasStore"}},
		{kind(presence.Kind{Bots: true}), []string{`Kinds["thread"].Bots`, "ExtrasStore"}},
		{kind(presence.Kind{Recent: 10}), []string{`Kinds["thread"].Recent`, "RecentStore"}},
	} {
		_, err := track.New(coreOnly{memstore.New()}, tt.cfg)
		if !errors.Is(err, presence.ErrInvalidConfig) || slices.ContainsFunc(tt.want, func(word string) bool { return !strings.Contains(err.Error(), word) }) {
			t.Errorf("got %v, want %v that names %q", err, presence.ErrInvalidConfig, tt.want)
		}
		synctest.Test(t, func(t *testing.T) { start(t, memstore.New(), tt.cfg) })
	}
}
