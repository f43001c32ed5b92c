package track_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/internal/need"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
)

// A game is two nodes, people who come and go, and viewers who follow them.
type game struct {
	t       *testing.T
	rand    *rand.Rand
	nodes   [2]crowd
	persons map[string]*gamePerson
	names   []string
	viewers []*gameViewer
}

type gamePerson struct {
	devices  map[string]bool
	settings presence.Settings
	since    time.Time
}

type gameViewer struct {
	*page
	node int
	list []string
}

func newGame(t *testing.T, seed uint64, persons, viewers int) *game {
	store, d := memstore.New(), presencetest.NewMemoryDirectory()
	g := &game{
		t: t, rand: rand.New(rand.NewPCG(seed, 1)), persons: map[string]*gamePerson{},
		nodes: [2]crowd{startCrowd(t, store, d), startCrowd(t, store, d)},
	}
	for i := range persons {
		name := fmt.Sprint("p", i)
		g.names = append(g.names, name)
		g.persons[name] = &gamePerson{devices: map[string]bool{}}
	}
	for i := range viewers {
		v := &gameViewer{node: i % 2, list: g.someList()}
		v.page = g.nodes[v.node].watch(fmt.Sprint("v", i), v.list...)
		g.viewers = append(g.viewers, v)
	}
	return g
}

func (g *game) someList() []string {
	list := slices.Clone(g.names)
	g.rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list[:g.rand.IntN(len(list)+1)]
}

func (g *game) node() crowd { return g.nodes[g.rand.IntN(2)] }

// step makes something happen.
func (g *game) step() {
	name := g.names[g.rand.IntN(len(g.names))]
	p := g.persons[name]
	switch g.rand.IntN(10) {
	case 0, 1, 2, 3:
		g.toggle(name, fmt.Sprint("d", g.rand.IntN(2)))
	case 4, 5:
		audiences := []presence.Audience{presence.Everyone, presence.Everyone, presence.Contacts, presence.Nobody}
		statuses := []presence.Status{"", presence.Busy, presence.Away, presence.Invisible}
		p.settings.Online, p.settings.Seen = audiences[g.rand.IntN(4)], audiences[g.rand.IntN(4)]
		p.settings.Status, p.settings.Text = statuses[g.rand.IntN(4)], []string{"", "<b>", "-"}[g.rand.IntN(3)]
		g.choose(name)
	case 6, 7:
		v := g.rand.IntN(len(g.viewers))
		viewer, d := presence.UserID(fmt.Sprint("v", v)), g.nodes[0].directory
		if g.rand.IntN(2) == 0 {
			d.Befriend(presence.UserID(name), viewer)
		} else {
			d.Unfriend(presence.UserID(name), viewer)
		}
		d.Block(presence.UserID(name), viewer, g.rand.IntN(4) == 0)
		if all, err := d.Settings(g.t.Context(), presence.UserID(name)); err == nil && all[0].Except != p.settings.Except {
			p.settings.Except = all[0].Except
			g.choose(name)
		}
		for _, n := range g.nodes {
			n.HearRelations(presence.UserID(name))
		}
	case 8:
		v := g.viewers[g.rand.IntN(len(g.viewers))]
		v.list = g.someList()
		if err := v.conn.Watch(ids(v.list...)); err != nil {
			g.t.Error(err)
		}
	case 9:
		g.viewers[g.rand.IntN(len(g.viewers))].read()
	}
}

func (g *game) toggle(name, on string) {
	p := g.persons[name]
	if p.devices[on] {
		delete(p.devices, on)
		g.node().DeviceOff(presence.UserID(name), presence.DeviceID(on))
		return
	}
	p.devices[on] = true
	kind := []string{presence.Desktop, presence.Mobile}[g.rand.IntN(2)]
	g.node().DeviceOn(user(name), device(on, kind), p.settings, p.since)
}

func (g *game) choose(name string) {
	p := g.persons[name]
	p.since = time.Now().UTC()
	n := g.node()
	for on := range p.devices {
		n.Choose(presence.UserID(name), presence.DeviceID(on), p.settings, p.since)
	}
}

// check compares what each page has made of its diffs with a fresh state, and with People.
func (g *game) check(what string) {
	g.t.Helper()
	time.Sleep(400 * time.Millisecond)
	synctest.Wait()
	for i, v := range g.viewers {
		v.read()
		fresh := g.nodes[1-v.node].watch(fmt.Sprint("v", i), v.list...)
		fresh.read()
		if got, want := v.roster["people"], fresh.roster["people"]; !sameSight(got, want) {
			g.t.Errorf("%s: v%d has %v, want the fresh state %v", what, i, got, want)
		}
		if got, want := v.conn.Cursor(), fresh.conn.Cursor(); got != want {
			g.t.Errorf("%s: v%d has the cursor %s, want that of the fresh state, %s", what, i, got, want)
		}
		people, err := g.nodes[v.node].People().Find(g.t.Context(), presence.UserID(fmt.Sprint("v", i)), ids(v.list...)...)
		if err != nil {
			g.t.Fatal(err)
		}
		online := map[string]string{}
		for _, p := range people {
			if p.Online {
				online[string(p.ID)] = asEvent(g.t, p)
			}
		}
		if got := v.roster["people"]; !sameSight(got, online) {
			g.t.Errorf("%s: v%d has %v, want what People says, %v", what, i, got, online)
		}
		fresh.conn.Close()
	}
}

var sinceOf = regexp.MustCompile(`since:\S+`)

// sameSight reports whether a page has the people whom it is to have. A person whom the viewer
// gained sight of came later for this page than for one that is opened now (rule P6).
func sameSight(got, want map[string]string) bool {
	same := func(g, w string) bool {
		return sinceOf.ReplaceAllString(g, "") == sinceOf.ReplaceAllString(w, "") && sinceOf.FindString(g) >= sinceOf.FindString(w)
	}
	return maps.EqualFunc(got, want, same)
}

// asEvent is a person as a page has it from an event.
func asEvent(t *testing.T, p presence.Person) string {
	t.Helper()
	said := map[string]any{"name": p.Name, "status": p.Status, "since": p.Since.Format("2006-01-02T15:04:05.000Z07:00"), "on": p.On}
	if p.Text != "" {
		said["text"] = p.Text
	}
	b, err := json.Marshal(said)
	noError(t, err)
	var u map[string]any
	noError(t, json.Unmarshal(b, &u))
	return fmt.Sprint(u)
}

// Whatever happens, the diffs applied to the first state are what a fresh state and People
// say, on both nodes (P1 to P6).
func TestPeopleGame(t *testing.T) {
	seeds := uint64(5)
	if need.AskedFor() {
		seeds = 20
	}
	for seed := range seeds {
		synctest.Test(t, func(t *testing.T) {
			g := newGame(t, seed, 8, 4)
			for round := range 40 {
				for range g.rand.IntN(6) + 1 {
					g.step()
					if g.rand.IntN(3) == 0 {
						time.Sleep(time.Duration(g.rand.IntN(200)) * time.Millisecond)
					}
				}
				g.check(fmt.Sprintf("seed %d, round %d", seed, round))
				if t.Failed() {
					return
				}
			}
			for _, v := range g.viewers {
				v.conn.Close()
			}
			for _, n := range g.nodes {
				if persons, lists, edges := n.Watching(); persons+lists+edges != 0 {
					t.Errorf("seed %d: got %d persons, %d lists and %d edges after the last list, want none", seed, persons, lists, edges)
				}
			}
		})
	}
}

// P2: two worlds differ in a person only whom the viewer may not see. All that the viewer
// gets is the same, byte for byte.
func TestPeopleP2TwoWorlds(t *testing.T) {
	world := func(seed uint64, hider bool) (said []string) {
		synctest.Test(t, func(t *testing.T) {
			g := newGame(t, seed, 6, 2)
			d := g.nodes[0].directory
			d.Block("hider", "v0", true)
			d.Befriend("hider", "v1")
			list := append([]string{"hider"}, g.names...)
			conn := connect(t, g.nodes[0].Tracker, peopleOptions("v0", list...))
			hide := rand.New(rand.NewPCG(seed, 2))
			there, tick := false, time.Now().Truncate(time.Second) // opening takes a few milliseconds more or less
			for range 60 {
				if hider {
					s := []presence.Settings{forNobody, invisible, forFriends, blocking}[hide.IntN(4)]
					switch {
					case !there:
						g.nodes[hide.IntN(2)].DeviceOn(user("hider"), device("d", presence.Mobile), s, time.Now())
					case hide.IntN(2) == 0:
						g.nodes[0].Choose("hider", "d", s, time.Now())
						there = false
					default:
						g.nodes[hide.IntN(2)].DeviceOff("hider", "d")
					}
					there = !there
				}
				// The others act on time in both worlds, in no batch with the hider.
				tick = tick.Add(time.Second)
				time.Sleep(time.Until(tick.Add(-600 * time.Millisecond)))
				synctest.Wait()
				g.step()
				time.Sleep(time.Until(tick))
				synctest.Wait()
				said = append(said, data(conn)...)
				for _, e := range conn.Heartbeats(nil) {
					said = append(said, string(e.Data))
				}
				fresh := connect(t, g.nodes[1].Tracker, peopleOptions("v0", list...))
				said = append(said, data(fresh)...)
				fresh.Close()
				people, err := g.nodes[1].People().Find(t.Context(), "v0", ids(list...)...)
				noError(t, err)
				said = append(said, fmt.Sprintf("%+v", people))
			}
		})
		return said
	}
	for seed := range uint64(4) {
		with, without := world(seed, true), world(seed, false)
		for i := range min(len(with), len(without)) {
			if with[i] != without[i] {
				t.Fatalf("seed %d: with a hidden person got %s, want what it is without, %s", seed, with[i], without[i])
			}
		}
		if len(with) != len(without) || len(with) < 100 {
			t.Errorf("seed %d: got %d lines with a hidden person, want %d", seed, len(with), len(without))
		}
	}
}
