package redisstore_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// extras returns what is kept of the site.
func (k *keeper) extras() presence.Extras {
	k.Helper()
	e, err := k.Extras(k.Context(), presence.Site)
	if err != nil {
		k.Fatal(err)
	}
	return e[0]
}

func (k *keeper) wantsPeak(total int, at, since time.Time) {
	k.Helper()
	if got := k.extras().Peak; got.Total != total || !got.At.Equal(at) || !got.Since.Equal(since) {
		k.Errorf("got %+v, want %d at %v since %v", got, total, at, since)
	}
}

// guest returns an operation of a guest.
func guest(kind presence.OpKind, id string) presence.Op {
	return presence.Op{Kind: kind, Guest: id, For: guestPeriod}
}

func TestPeak(t *testing.T) {
	k := newKeeper(t, presence.Keep{Peak: true})
	k.does(seen("alice"), joins("bob"), joins("carol"), guest(presence.OpGuest, "g"))
	k.wantsPeak(3, keeperStart, time.Time{})
	k.passes(time.Second)
	k.does(of(presence.OpDrop, "bob"), joins("dave"))
	k.does(presence.Op{Kind: presence.OpJoin, User: presence.User{ID: "veiled", Status: presence.Invisible}, Holder: "n.1", For: time.Minute})
	k.wantsPeak(3, keeperStart, time.Time{})
	k.does(chooses("veiled", presence.Online))
	first := k.now()
	k.wantsPeak(4, first, time.Time{})

	k.keep.PeakGuests = true
	k.passes(time.Second)
	k.does(guest(presence.OpGuest, "h"))
	k.wantsPeak(6, k.now(), time.Time{})
	k.does(presence.Op{Kind: presence.OpPeak, Peak: presence.Peak{Total: 6, At: keeperStart}})
	k.wantsPeak(6, keeperStart, time.Time{})
	k.does(presence.Op{Kind: presence.OpPeak, Peak: presence.Peak{Total: 5, At: keeperStart}})
	k.wantsPeak(6, keeperStart, time.Time{})
	k.does(presence.Op{Kind: presence.OpPeak, Peak: presence.Peak{Total: 132, At: keeperStart}})
	k.wantsPeak(132, keeperStart, time.Time{})

	k.passes(time.Second)
	again := k.now()
	k.does(presence.Op{Kind: presence.OpResetPeak}, joins("erin"))
	k.wantsPeak(7, again, again)
	k.does(presence.Op{Kind: presence.OpPeak, Peak: presence.Peak{Total: 132, At: keeperStart}})
	k.wantsPeak(7, again, again)
	k.does(of(presence.OpSignOut, "alice"), of(presence.OpSignOut, "carol"), of(presence.OpSignOut, "dave"), of(presence.OpSignOut, "veiled"), of(presence.OpSignOut, "erin"))
	k.wantsPeak(7, again, again)
	k.keep = presence.Keep{}
	k.does(presence.Op{Kind: presence.OpResetPeak}, presence.Op{Kind: presence.OpPeak, Peak: presence.Peak{Total: 1000, At: again, Since: again}})
	k.wantsPeak(7, again, again)
}

func TestBots(t *testing.T) {
	k := newKeeper(t, presence.Keep{})
	bot := func(id, name string) presence.Op {
		return presence.Op{Kind: presence.OpBot, Guest: id, Bot: name, For: guestPeriod}
	}
	wants := func(want map[string]int) {
		t.Helper()
		if got := k.extras().Bots; !maps.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	turns := func() {
		t.Helper()
		k.passes(guestPeriod)
		if n, err := k.Age(t.Context(), guestPeriod); err != nil || n != 1 {
			t.Fatalf("Age: got %d, %v, want one turn", n, err)
		}
	}
	wants(nil)
	k.does(bot("1", "Googlebot"), bot("2", "Bing Bot"), bot("1", "Googlebot"), bot("3", "Googlebot"))
	wants(map[string]int{"Googlebot": 2, "Bing Bot": 1})
	turns()
	k.does(bot("3", "Googlebot"), bot("2", "bingbot"))
	wants(map[string]int{"Googlebot": 2, "bingbot": 1})
	turns()
	wants(map[string]int{"Googlebot": 1, "bingbot": 1})
	var many []presence.Op
	for i := range 2 * presence.MaxBots {
		many = append(many, bot(fmt.Sprint("many", i), "Swarm"))
	}
	k.does(many...)
	k.does(many[:10]...)
	wants(map[string]int{"Googlebot": 1, "bingbot": 1, "Swarm": presence.MaxBots - 2})
	k.does(bot("3", "Other"))
	wants(map[string]int{"Other": 1, "bingbot": 1, "Swarm": presence.MaxBots - 2})
	turns()
	turns()
	wants(nil)
	if left := k.client.Keys(t.Context(), "presence:{site}:*").Val(); len(left) > 0 {
		t.Errorf("got %q left, want nothing of a topic that had bots alone", left)
	}
	if counts, err := k.Counts(t.Context(), presence.Site); err != nil || counts[0].Guests != 0 {
		t.Errorf("got %+v, %v, want no guest", counts, err)
	}
}

// actives are the roster's, by the snapshot and by the log.
func (k *keeper) actives() map[presence.UserID]string {
	k.Helper()
	snap, err := k.Snapshot(k.Context(), presence.Site)
	if err != nil {
		k.Fatal(err)
	}
	bySnapshot := make(map[presence.UserID]string)
	byLog := make(map[presence.UserID]string)
	show := func(m presence.Member) string {
		if m.Active.IsZero() {
			return "none"
		}
		return m.Active.Sub(keeperStart).String()
	}
	for _, m := range snap.Members {
		bySnapshot[m.ID] = show(m)
	}
	diffs, err := k.Log(k.Context(), presence.Site, "")
	if err != nil {
		k.Fatal(err)
	}
	for _, d := range diffs {
		for _, m := range slices.Concat(d.Joins, d.Updates) {
			byLog[m.ID] = show(m)
		}
		for _, l := range d.Leaves {
			delete(byLog, l.ID)
		}
	}
	if !maps.Equal(bySnapshot, byLog) {
		k.Errorf("the snapshot has %v, and the log %v", bySnapshot, byLog)
	}
	return bySnapshot
}

func TestActive(t *testing.T) {
	k := newKeeper(t, presence.Keep{Active: true})
	wants := func(want string) {
		t.Helper()
		if got := fmt.Sprint(k.actives()); got != "map["+want+"]" {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	empty := presence.Op{Kind: presence.OpSeen, User: presence.User{ID: "empty"}, For: 10 * time.Minute}
	tricky := presence.Op{Kind: presence.OpSeen, User: presence.User{ID: "tricky", Name: `,"m":5}`, Data: []byte(`{"m":7}`)}, For: 10 * time.Minute}
	k.does(joins("alice"), empty, tricky)
	wants("alice:0s empty:0s tricky:0s")
	k.passes(90 * time.Second)
	k.does(joins("bob"), joins("alice"), chooses("tricky", presence.Busy), presence.Op{Kind: presence.OpUpdate, User: named("empty")})
	wants("alice:0s bob:1m0s empty:0s tricky:0s")
	k.does(seen("alice"), tricky)
	wants("alice:1m0s bob:1m0s empty:0s tricky:1m0s")
	snap, err := k.Snapshot(t.Context(), presence.Site)
	if err != nil {
		t.Fatal(err)
	}
	if m := snap.Members[slices.IndexFunc(snap.Members, func(m presence.Member) bool { return m.ID == "tricky" })]; m.Name != tricky.User.Name || string(m.Data) != `{"m":7}` || m.Status != presence.Busy {
		t.Errorf("got %+v, want the profile as it was", m)
	}
	k.does(seen("alice"))
	if d, err := k.Log(t.Context(), presence.Site, snap.ID); err != nil || len(d) != 0 {
		t.Errorf("a second view within the minute: got %v, %v, want no diff", d, err)
	}
	k.passes(time.Minute)
	k.does(chooses("bob", presence.Invisible))
	k.does(chooses("bob", presence.Online))
	wants("alice:1m0s bob:2m0s empty:0s tricky:1m0s")
	k.keep = presence.Keep{}
	k.does(seen("alice"), chooses("bob", presence.Away), joins("tricky"))
	wants("alice:none bob:none empty:0s tricky:none")
}

func TestSignOff(t *testing.T) {
	k := newKeeper(t, presence.Keep{})
	other := joins("alice")
	other.Holder = "n.2"
	k.does(joins("alice"), other, seen("alice"))
	head := func() presence.DiffID {
		counts, err := k.Counts(t.Context(), presence.Site)
		if err != nil {
			t.Fatal(err)
		}
		return counts[0].Head
	}
	was := head()
	k.does(of(presence.OpSignOff, "alice"))
	k.does(of(presence.OpSignOff, "alice"))
	if head() != was {
		t.Error("a sign-out of one browser of two was announced")
	}
	if counts, err := k.Counts(t.Context(), presence.Site); err != nil || counts[0].Total != 1 || counts[0].Recent != 1 {
		t.Errorf("got %+v, %v, want a user who is there and viewed a page", counts, err)
	}
	last := of(presence.OpSignOff, "alice")
	last.Holder = "n.2"
	k.passes(time.Second)
	k.does(last)
	if counts, err := k.Counts(t.Context(), presence.Site); err != nil || counts[0].Total != 0 || counts[0].Recent != 0 {
		t.Errorf("the last browser: got %+v, %v, want nobody", counts, err)
	}
	s, err := k.Sightings(t.Context(), presence.Site, "alice")
	if err != nil || !s[0].LastSeen.Equal(k.now()) {
		t.Errorf("got %+v, %v, want last seen now", s, err)
	}
}
