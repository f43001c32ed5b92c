package feedtest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
)

// The players. All times of a game are whole minutes and half a minute, so no two of them are equal, however
// long the game takes.
var (
	gameUsers = []presence.UserID{"alice", "bob", "carol", "o'neil"}
	gameRooms = []feed.Name{"thread:1", "thread:2"}
	gameFeeds = []feed.Name{"inbox:alice", "inbox:bob", "inbox:carol", "inbox:o'neil", "inbox:nobody", "thread:1", "thread:2"}

	// The users and rooms of another tenant have the same names (rule T3).
	gameTenants = []string{"", "", "", "acme"}
	abouts      = []string{"", "thread:1", "thread:1", "thread:2"}
	types       = []string{"", "reply", "vote"}
)

// step is the unit of time of a game. All times that may run out are odd halves of it, so that a machine that
// is busy for minutes does not change the result.
const step = 10 * time.Minute

// of returns a random element.
func of[T any](g *game, all []T) T { return all[g.rand.IntN(len(all))] }

// steps returns a random time.
func (g *game) steps(from, to int) time.Duration {
	return time.Duration(from+g.rand.IntN(to-from+1))*step + step/2
}

// message returns a random message, which has an ID: often a new one.
func (g *game) message() feed.Message {
	g.n++
	m := feed.Message{Tenant: of(g, gameTenants), ID: fmt.Sprintf("m%d", g.n), Text: fmt.Sprintf("text %d", g.n), Type: of(g, types), From: of(g, append(gameUsers, "")),
		About: of(g, abouts), Group: of(g, []string{"", "g", "g", "h"}), Mail: g.rand.IntN(2) == 0, Must: g.rand.IntN(8) == 0}
	if g.rand.IntN(4) == 0 {
		m.ID = fmt.Sprintf("m%d", 1+g.rand.IntN(g.n))
	}
	if g.rand.IntN(4) == 0 {
		m.Name, m.URL, m.Data, m.V = strings.ToUpper(string(m.From)), "/"+m.ID, json.RawMessage(fmt.Sprintf(`{"n":%d}`, g.n)), 2
	}
	if g.rand.IntN(5) == 0 {
		m.Feed = of(g, gameRooms)
		return m
	}
	for range 1 + g.rand.IntN(3) {
		m.To = append(m.To, of(g, gameUsers))
	}
	if g.rand.IntN(30) == 0 {
		m.To = append(m.To, manyUsers(60)...)
	}
	return m
}

func (g *game) send() error {
	ms := make([]feed.Message, 1+g.rand.IntN(3))
	for i := range ms {
		ms[i] = g.message()
	}
	g.note("send %.400s", fmt.Sprintf("%+v", ms))
	return g.both(func(s feed.Store) error { return s.Send(g.ctx, ms...) })
}

func (g *game) insert() error {
	m := g.message()
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if g.rand.IntN(6) == 0 {
		text = text[:g.rand.IntN(len(text))]
	}
	id := fmt.Sprintf("row-%05d", g.n)
	g.note("insert %s %s %.300s", m.Tenant, id, text)
	if err := g.site.Insert(m.Tenant, id, string(text)); err != nil {
		return err
	}
	return g.oracle.InsertFor(m.Tenant, id, string(text))
}

func (g *game) relay() error {
	g.note("relay")
	var all []feed.Relayed
	o := feed.RelayOptions{MailAfter: 2*step + step/2, Most: 1_000}
	err := g.both(func(s feed.Store) error {
		r, err := drain(g.ctx, s, o)
		all = append(all, r)
		return err
	})
	if err != nil || g.faulty {
		return err
	}
	got, want := all[0], all[1]
	if got.Moved != want.Moved || fmt.Sprint(got.Dropped) != fmt.Sprint(want.Dropped) {
		return fmt.Errorf("relay: got %d items and dropped %v, want %d and %v (rules F1, F4, F5)", got.Moved, got.Dropped, want.Moved, want.Dropped)
	}
	return g.hints(got.Changed, want.Changed)
}

// hints compares which feeds have changed, and what the latest revisions of the store are.
func (g *game) hints(got, want []feed.Hint) error {
	latest := make(map[feed.Name]int64)
	for _, hint := range got {
		latest[hint.Name] = max(latest[hint.Name], hint.Rev)
	}
	for _, hint := range want {
		if latest[hint.Name] == 0 {
			return fmt.Errorf("relay: there is no hint of %s", hint.Name)
		}
	}
	for n, rev := range latest {
		heads, err := g.site.Heads(g.ctx, n)
		if err != nil {
			return err
		}
		if heads[0].Rev != rev || !slices.ContainsFunc(want, func(h feed.Hint) bool { return h.Name == n }) {
			return fmt.Errorf("relay: got a hint of revision %d of %s, which has %d", rev, n, heads[0].Rev)
		}
	}
	return nil
}

func (g *game) mark() error {
	n := of(g, gameFeeds[:5]).In(of(g, gameTenants))
	m := feed.Mark{As: feed.State(g.rand.IntN(3))}
	top := g.revs[n][1] + 2 // there are about as many places as revisions
	place := func() int64 { return 1 + g.rand.Int64N(top) }
	switch g.rand.IntN(5) {
	case 0:
		m = feed.Mark{Seen: true, UpTo: place() * g.rand.Int64N(2)}
	case 1:
		m.About, m.UpTo = of(g, abouts[1:]), place()*g.rand.Int64N(2)
	case 2:
		m.UpTo = 1 + place()/2
	default:
		for range 1 + g.rand.IntN(4) {
			m.Pos = append(m.Pos, place())
		}
	}
	g.note("mark %q %+v", n, m)
	var heads []feed.Head
	err := g.both(func(s feed.Store) error {
		h, err := s.Mark(g.ctx, n, m)
		if err == nil {
			heads = append(heads, h)
		}
		return err
	})
	if err != nil {
		return err
	}
	if got, want := heads[0], heads[1]; got.Pos != want.Pos || got.Unread != want.Unread || got.Unseen != want.Unseen {
		return fmt.Errorf("mark: got head %+v, want %+v (rule F7)", got, want)
	}
	return nil
}

func (g *game) mute() error {
	user := of(g, gameUsers).In(of(g, gameTenants))
	m := feed.Mute{Scope: of(g, []string{"*", "type:reply", "type:message", "about:thread:1", "about:thread:2"}), How: feed.How(g.rand.IntN(3))}
	if g.rand.IntN(2) == 0 {
		m.How = feed.MuteNothing
	}
	if g.rand.IntN(3) == 0 {
		m.Until = time.Now().Add(g.steps(0, 5))
	}
	g.note("mute %q %+v", user, m)
	if err := g.both(func(s feed.Store) error { return s.Mute(g.ctx, user, m) }); err != nil {
		return err
	}
	got, err := g.site.Mutes(g.ctx, user)
	if err != nil {
		return err
	}
	want, err := g.oracle.Mutes(g.ctx, user)
	if err != nil {
		return err
	}
	same := slices.EqualFunc(got, want, func(a, b feed.Mute) bool {
		return a.Scope == b.Scope && a.How == b.How && a.Until.IsZero() == b.Until.IsZero() && a.Until.Sub(b.Until).Abs() < coarse
	})
	if !same {
		return fmt.Errorf("mutes of %s: got %+v, want %+v (rule F5)", user, got, want)
	}
	return nil
}

// edit edits or removes a post.
func (g *game) edit() error {
	room, id := of(g, gameRooms).In(of(g, gameTenants)), fmt.Sprintf("m%d", 1+g.rand.IntN(g.n+1))
	if all, err := readAll(g.ctx, g.oracle, room, 0); err == nil && len(all.items) > 0 && g.rand.IntN(4) > 0 {
		id = of(g, all.items).ID
	}
	if g.rand.IntN(3) == 0 {
		g.note("remove %q %s", room, id)
		return g.both(func(s feed.Store) error { _, err := s.Remove(g.ctx, room, id); return err })
	}
	g.n++
	m := feed.Message{Text: fmt.Sprintf("edited %d", g.n), Type: of(g, types), URL: of(g, []string{"", "/edited"})}
	g.note("edit %q %s %+v", room, id, m)
	return g.both(func(s feed.Store) error { _, err := s.Edit(g.ctx, room, id, m); return err })
}

func (g *game) advance(d time.Duration) error {
	g.note("advance %v", d)
	g.oracle.Advance(d)
	return g.site.Advance(d)
}

// due claims all digests that are due.
func (g *game) due() error {
	g.note("due")
	var all [][]feed.Digest
	err := g.both(func(s feed.Store) error {
		due, err := s.Due(g.ctx, 1_000, step+step/2)
		if err == nil {
			slices.SortFunc(due, func(a, b feed.Digest) int {
				return strings.Compare(string(a.User.In(a.Tenant)), string(b.User.In(b.Tenant)))
			})
			all = append(all, due)
		}
		return err
	})
	if err != nil {
		return err
	}
	got, want := all[0], all[1]
	if len(got) != len(want) {
		return fmt.Errorf("due: got %d digests, want %d (rule F11): %.400s, %.400s", len(got), len(want), fmt.Sprint(got), fmt.Sprint(want))
	}
	for i, d := range got {
		w := want[i]
		if d.Tenant != w.Tenant || d.User != w.User || d.More != w.More || (d.Waited-w.Waited).Abs() > time.Second {
			return fmt.Errorf("due: got digest %+v, want %+v (rule F11)", d, w)
		}
		if err := sameItems(d.Items, w.Items, false); err != nil {
			return fmt.Errorf("the digest for %s: %w (rule F11)", d.User, err)
		}
		user := string(w.User.In(w.Tenant))
		key := user + w.Key
		if had, ok := g.keys[key]; ok && had != d.Key {
			return fmt.Errorf("the digest for %s: got Key %s, want %s as before (rule F11)", d.User, d.Key, had)
		}
		for other, had := range g.keys {
			if had == d.Key && other != key && strings.HasPrefix(other, user) {
				return fmt.Errorf("two digests for %s have the Key %s (rule F11)", d.User, d.Key)
			}
		}
		g.keys[key] = d.Key
		g.digests = append(g.digests, [2]feed.Digest{d, w})
	}
	return nil
}

// settle settles a claimed digest, perhaps too late.
func (g *game) settle() error {
	if len(g.digests) == 0 {
		return nil
	}
	i := g.rand.IntN(len(g.digests))
	pair := g.digests[i]
	g.digests = slices.Delete(g.digests, i, i+1)
	sent, later := g.rand.IntN(2) == 0, g.steps(0, 4)*time.Duration(g.rand.IntN(2))
	if !sent && g.rand.IntN(2) == 0 {
		delete(g.keys, string(pair[1].User.In(pair[1].Tenant))+pair[1].Key) // nobody got it, so the next one may have another Key
		pair[0].Key, pair[1].Key = "", ""
	}
	g.note("settle %.300s %v %v", fmt.Sprintf("%+v", pair[0]), sent, later)
	calls := 0
	return g.both(func(s feed.Store) error {
		if s == feed.Store(g.oracle) {
			calls = 1
		}
		return s.Settle(g.ctx, pair[calls], sent, later)
	})
}

// trim removes all that is too old or too many.
func (g *game) trim() error {
	o := feed.TrimOptions{Most: 3 + g.rand.IntN(20), Keep: g.keep, Archived: g.archived, Rows: 1_000}
	g.note("trim %+v", o)
	return g.both(func(s feed.Store) error {
		for range 100 {
			n, err := s.Trim(g.ctx, o)
			if err != nil || n == 0 {
				return err
			}
		}
		return fmt.Errorf("a trim without end")
	})
}
