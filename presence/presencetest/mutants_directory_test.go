package presencetest_test

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/internal/need"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/presencetest"
)

// A directoryMutant is a directory with a planted bug, and the case that must catch it: its
// rule, and the beginning of its name.
type directoryMutant struct {
	plant  func(presencetest.DirectorySite) presencetest.DirectorySite
	caught string
}

// plantedDirectory calls the directory below, except where a function is set.
type plantedDirectory struct {
	presence.Directory
	context     func(context.Context) context.Context
	settings    func([]presence.UserID, []presence.Settings) []presence.Settings
	setSettings func(presence.UserID, presence.Settings) error
	contacts    func(user presence.UserID, most int) ([]presence.UserID, error)
	relations   func([]presence.Pair, []presence.Relation) []presence.Relation
	saw         func(map[presence.UserID]time.Time) error
	lastSeen    func([]presence.Seen) []presence.Seen
	id          func(presence.UserID) presence.UserID
}

func (p *plantedDirectory) begin(ctx context.Context) context.Context {
	if p.context != nil {
		return p.context(ctx)
	}
	return ctx
}

func (p *plantedDirectory) user(id presence.UserID) presence.UserID {
	if p.id != nil {
		return p.id(id)
	}
	return id
}

func (p *plantedDirectory) users(ids []presence.UserID) []presence.UserID {
	ids = slices.Clone(ids)
	for i := range ids {
		ids[i] = p.user(ids[i])
	}
	return ids
}

func (p *plantedDirectory) Settings(ctx context.Context, users ...presence.UserID) ([]presence.Settings, error) {
	all, err := p.Directory.Settings(p.begin(ctx), p.users(users)...)
	if p.settings != nil && err == nil {
		all = p.settings(users, all)
	}
	return all, err
}

func (p *plantedDirectory) SetSettings(ctx context.Context, user presence.UserID, s presence.Settings) error {
	if p.setSettings != nil {
		return p.setSettings(user, s)
	}
	return p.Directory.SetSettings(p.begin(ctx), p.user(user), s)
}

func (p *plantedDirectory) Contacts(ctx context.Context, user presence.UserID, most int) ([]presence.UserID, error) {
	if p.contacts != nil {
		return p.contacts(user, most)
	}
	return p.Directory.Contacts(p.begin(ctx), p.user(user), most)
}

func (p *plantedDirectory) Relations(ctx context.Context, pairs ...presence.Pair) ([]presence.Relation, error) {
	theirs := slices.Clone(pairs)
	for i, pair := range theirs {
		theirs[i] = presence.Pair{User: p.user(pair.User), Viewer: p.user(pair.Viewer)}
	}
	all, err := p.Directory.Relations(p.begin(ctx), theirs...)
	if p.relations != nil && err == nil {
		all = p.relations(pairs, all)
	}
	return all, err
}

func (p *plantedDirectory) Saw(ctx context.Context, at map[presence.UserID]time.Time) error {
	if p.saw != nil {
		return p.saw(at)
	}
	theirs := make(map[presence.UserID]time.Time)
	for user, seen := range at {
		theirs[p.user(user)] = seen
	}
	return p.Directory.Saw(p.begin(ctx), theirs)
}

func (p *plantedDirectory) LastSeen(ctx context.Context, users ...presence.UserID) ([]presence.Seen, error) {
	all, err := p.Directory.LastSeen(p.begin(ctx), p.users(users)...)
	if p.lastSeen != nil && err == nil {
		all = p.lastSeen(all)
	}
	return all, err
}

// plant makes a mutant of a function that changes a site's directory.
func plant(bug func(*plantedDirectory, *presencetest.DirectorySite)) func(presencetest.DirectorySite) presencetest.DirectorySite {
	return func(site presencetest.DirectorySite) presencetest.DirectorySite {
		p := &plantedDirectory{Directory: site.Directory}
		site.Directory = p
		bug(p, &site)
		return site
	}
}

// asks calls a directory without a context of its own.
var asks = context.Background()

// sets changes settings on their way in.
func sets(change func(was presence.Settings, s *presence.Settings)) func(presencetest.DirectorySite) presencetest.DirectorySite {
	return plant(func(p *plantedDirectory, _ *presencetest.DirectorySite) {
		p.setSettings = func(user presence.UserID, s presence.Settings) error {
			was, err := p.Directory.Settings(asks, user)
			if err != nil {
				return err
			}
			if err := s.Validate(); err != nil {
				return err
			}
			change(was[0], &s)
			return p.Directory.SetSettings(asks, user, s)
		}
	})
}

// ids changes ids on their way in, those of the site's functions too.
func ids(change func(string) string) func(presencetest.DirectorySite) presencetest.DirectorySite {
	return plant(func(p *plantedDirectory, site *presencetest.DirectorySite) {
		p.id = func(id presence.UserID) presence.UserID { return presence.UserID(change(string(id))) }
		befriend, block := site.Befriend, site.Block
		site.Befriend = func(user, other presence.UserID) error { return befriend(p.id(user), p.id(other)) }
		site.Block = func(user, other presence.UserID, on bool) error { return block(p.id(user), p.id(other), on) }
	})
}

func directoryMutants() map[string]directoryMutant {
	type planted = plantedDirectory
	type site = presencetest.DirectorySite
	return map[string]directoryMutant{
		"Until is lost":              {sets(func(_ presence.Settings, s *presence.Settings) { s.Until = time.Time{} }), "rule D1/what was set"},
		"who sees last seen is lost": {sets(func(_ presence.Settings, s *presence.Settings) { s.Seen = "" }), "rule D1/what was set"},
		"defaults are filled in":     {sets(func(_ presence.Settings, s *presence.Settings) { *s = s.At(time.Now()) }), "rule D1/what was set"},
		"empty fields keep what was": {sets(func(was presence.Settings, s *presence.Settings) {
			if s.Text == "" {
				s.Text = was.Text
			}
		}), "rule D1/all is replaced"},
		"1970 is never": {sets(func(_ presence.Settings, s *presence.Settings) {
			if s.Until.UnixMilli() == 0 {
				s.Until = time.Time{}
			}
		}), "rule D1/a time long past"},
		"text is cut": {sets(func(_ presence.Settings, s *presence.Settings) { s.Text = s.Text[:min(len(s.Text), 64)] }), "rule D1/the longest text"},
		"the unknown are online": {plant(func(p *planted, _ *site) {
			p.settings = func(_ []presence.UserID, all []presence.Settings) []presence.Settings {
				for i := range all {
					if all[i] == (presence.Settings{}) {
						all[i].Status = presence.Online
					}
				}
				return all
			}
		}), "rule D1/what was never set"},
		"answers come in the order of ids": {plant(func(p *planted, _ *site) {
			p.settings = func(users []presence.UserID, all []presence.Settings) []presence.Settings {
				sorted := slices.Sorted(slices.Values(users))
				answers := make([]presence.Settings, len(all))
				for i, user := range users {
					answers[slices.Index(sorted, user)] = all[i]
				}
				return answers
			}
		}), "rule D1/answers are in order"},
		"Except is as it was set": {plant(func(p *planted, _ *site) {
			set := make(map[presence.UserID]bool)
			p.setSettings = func(user presence.UserID, s presence.Settings) error {
				if err := p.Directory.SetSettings(asks, user, s); err != nil {
					return err
				}
				set[user] = s.Except
				return nil
			}
			p.settings = func(users []presence.UserID, all []presence.Settings) []presence.Settings {
				for i, user := range users {
					all[i].Except = set[user]
				}
				return all
			}
		}), "rule D1/Except"},
		"the end of one block ends Except": {plant(func(p *planted, s *site) {
			free := make(map[presence.UserID]bool)
			block := s.Block
			s.Block = func(user, other presence.UserID, on bool) error {
				free[user] = !on
				return block(user, other, on)
			}
			p.settings = func(users []presence.UserID, all []presence.Settings) []presence.Settings {
				for i, user := range users {
					all[i].Except = all[i].Except && !free[user]
				}
				return all
			}
		}), "rule D1/Except"},
		"nothing is validated": {plant(func(p *planted, _ *site) {
			p.setSettings = func(user presence.UserID, s presence.Settings) error {
				if s.Validate() != nil {
					s = presence.Settings{}
				}
				return p.Directory.SetSettings(asks, user, s)
			}
		}), "rule D2/settings that are not valid"},
		"settings forget when the user was seen": {plant(func(p *planted, _ *site) {
			forgotten := false
			p.setSettings = func(user presence.UserID, s presence.Settings) error {
				forgotten = true
				return p.Directory.SetSettings(asks, user, s)
			}
			p.lastSeen = func(all []presence.Seen) []presence.Seen {
				for i := range all {
					if forgotten {
						all[i].At = time.Time{}
					}
				}
				return all
			}
		}), "rule D2/the rest stays"},
		"settings end blocks": {plant(func(p *planted, s *site) {
			p.setSettings = func(user presence.UserID, settings presence.Settings) error {
				_ = s.Block(user, "carol", false)
				return p.Directory.SetSettings(asks, user, settings)
			}
		}), "rule D2/the rest stays"},
		"an ended context is overlooked": {plant(func(p *planted, _ *site) {
			p.context = context.WithoutCancel
		}), "rule D2/an ended context"},
		"contacts come by name": {plant(func(p *planted, _ *site) {
			p.contacts = func(user presence.UserID, most int) ([]presence.UserID, error) {
				all, err := p.Directory.Contacts(asks, user, 1_000)
				slices.Sort(all)
				return all[:min(most, len(all))], err
			}
		}), "rule D3/contacts are in order"},
		"a contact too many": {plant(func(p *planted, _ *site) {
			p.contacts = func(user presence.UserID, most int) ([]presence.UserID, error) {
				return p.Directory.Contacts(asks, user, most+1)
			}
		}), "rule D3/no more"},
		"the blocked count, and are then left out": {plant(func(p *planted, s *site) {
			listed := make(map[presence.UserID][]presence.UserID)
			befriend := s.Befriend
			s.Befriend = func(user, other presence.UserID) error {
				listed[user] = append(listed[user], other)
				return befriend(user, other)
			}
			p.contacts = func(user presence.UserID, most int) ([]presence.UserID, error) {
				all, err := p.Directory.Contacts(asks, user, 1_000)
				first := listed[user][:min(most, len(listed[user]))]
				return slices.DeleteFunc(all, func(id presence.UserID) bool { return !slices.Contains(first, id) }), err
			}
		}), "rule D3/nobody who is blocked"},
		"a contact is one both ways": {plant(func(_ *planted, s *site) {
			befriend := s.Befriend
			s.Befriend = func(user, other presence.UserID) error {
				_ = befriend(other, user)
				return befriend(user, other)
			}
		}), "rule D4/the list of the user alone"},
		"a contact is never blocked": {plant(func(p *planted, s *site) {
			friends := make(map[presence.Pair]bool)
			befriend := s.Befriend
			s.Befriend = func(user, other presence.UserID) error {
				friends[presence.Pair{User: user, Viewer: other}] = true
				return befriend(user, other)
			}
			p.relations = func(pairs []presence.Pair, all []presence.Relation) []presence.Relation {
				for i, pair := range pairs {
					if all[i] == presence.Blocked && friends[pair] {
						all[i] = presence.Contact
					}
				}
				return all
			}
		}), "rule D4/Blocked wins"},
		"who is removed is unblocked": {plant(func(_ *planted, s *site) {
			unfriend := s.Unfriend
			s.Unfriend = func(user, other presence.UserID) error {
				_ = s.Block(user, other, false)
				return unfriend(user, other)
			}
		}), "rule D4/removing a contact"},
		"who is unblocked is removed": {plant(func(_ *planted, s *site) {
			block := s.Block
			s.Block = func(user, other presence.UserID, on bool) error {
				if !on {
					_ = s.Unfriend(user, other)
				}
				return block(user, other, on)
			}
		}), "rule D4/ending a block"},
		"relations of 500 pairs only": {plant(func(p *planted, _ *site) {
			p.relations = func(_ []presence.Pair, all []presence.Relation) []presence.Relation {
				for i := 500; i < len(all); i++ {
					all[i] = presence.Stranger
				}
				return all
			}
		}), "rule D4/answers are in order"},
		"the last moment written stays": {plant(func(p *planted, _ *site) {
			p.saw = func(at map[presence.UserID]time.Time) error {
				for user, seen := range at {
					was, _ := p.Directory.LastSeen(asks, user)
					if seen.Before(was[0].At) {
						return p.Directory.Saw(asks, map[presence.UserID]time.Time{user: was[0].At.Add(time.Hour)})
					}
				}
				return p.Directory.Saw(asks, at)
			}
		}), "rule D5/the later"},
		"who is seen has no settings": {plant(func(p *planted, _ *site) {
			p.saw = func(at map[presence.UserID]time.Time) error {
				for user := range at {
					_ = p.Directory.SetSettings(asks, user, presence.Settings{})
				}
				return p.Directory.Saw(asks, at)
			}
		}), "rule D5/no settings"},
		"a hundred users at once": {plant(func(p *planted, _ *site) {
			p.saw = func(at map[presence.UserID]time.Time) error {
				some := maps.Clone(at)
				for user := range some {
					if len(some) <= 100 {
						break
					}
					delete(some, user)
				}
				return p.Directory.Saw(asks, some)
			}
		}), "rule D5/500 users"},
		"last seen without settings": {plant(func(p *planted, _ *site) {
			p.lastSeen = func(all []presence.Seen) []presence.Seen {
				for i := range all {
					all[i].Settings = presence.Settings{}
				}
				return all
			}
		}), "rule D6/the moment and the settings"},
		"last seen of the neighbour": {plant(func(p *planted, _ *site) {
			p.lastSeen = func(all []presence.Seen) []presence.Seen {
				if len(all) > 900 {
					all[17], all[18] = all[18], all[17]
				}
				return all
			}
		}), "rule D6/a thousand"},
		"times move a little": {plant(func(p *planted, _ *site) {
			var calls atomic.Int64
			p.lastSeen = func(all []presence.Seen) []presence.Seen {
				for i := range all {
					all[i].At = all[i].At.Add(time.Duration(calls.Add(1)) * time.Millisecond)
				}
				return all
			}
		}), "rule D6/the answer is the same"},
		"case means nothing":               {ids(strings.ToLower), "rule D7/ids are compared"},
		"spaces are trimmed":               {ids(strings.TrimSpace), "rule D7/so are those of contacts"},
		"accents mean nothing":             {ids(func(s string) string { return strings.ReplaceAll(s, "ö", "o") }), "rule D7/ids are compared"},
		"ids are cut":                      {ids(func(s string) string { return s[:min(len(s), 127)] }), "rule D7/ids are compared"},
		"quotes are taken away":            {ids(func(s string) string { return strings.ReplaceAll(s, "''", "'") }), "rule D7/ids are compared"},
		"one tenant for all":               {ids(func(s string) string { return string(presence.UserID(s).Local()) }), "rule D8/tenants share"},
		"tenants that begin alike are one": {ids(func(s string) string { return strings.ReplaceAll(s, "acme-2\x1d", "acme\x1d") }), "rule D8/tenants share"},
		"a call is of its first user's tenant": {plant(func(p *planted, _ *site) {
			p.relations = func(pairs []presence.Pair, all []presence.Relation) []presence.Relation {
				for i := range all {
					if pairs[i].User.Tenant() != pairs[0].User.Tenant() {
						all[i] = presence.Stranger
					}
				}
				return all
			}
		}), "rule D8/one call"},
		"a contact is of the user's own tenant": {plant(func(_ *planted, s *site) {
			befriend := s.Befriend
			s.Befriend = func(user, other presence.UserID) error { return befriend(user, other.Local().In(user.Tenant())) }
		}), "rule D8/nothing is said"},
	}
}

var failedDirectory = regexp.MustCompile(`(?m)^\s*--- FAIL: TestMemoryDirectory/(\S+/\S+)`)

// Each bug of a directory fails in a process of its own, in the case that is meant for it.
func TestDirectoryMutants(t *testing.T) {
	need.Slow(t, "a process for each mutant")
	for name, m := range directoryMutants() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := strings.ReplaceAll(m.caught, " ", "_")
			out, fails := child(t, name, "^TestMemoryDirectory$")
			if !fails {
				t.Fatalf("the kit passes, want a failure of %q", m.caught)
			}
			var cases []string
			for _, match := range failedDirectory.FindAllStringSubmatch(out, -1) {
				cases = append(cases, match[1])
			}
			if !slices.ContainsFunc(cases, func(name string) bool { return strings.HasPrefix(name, want) }) {
				t.Fatalf("got failures %q, want one of %q; the output ends\n%s", cases, m.caught, out[max(0, len(out)-3000):])
			}
			t.Logf("caught by %s", strings.Join(cases, ", "))
		})
	}
}
