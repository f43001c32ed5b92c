package templates_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/rollcall-go/rollcall/presence/track"
)

// soon is how long a page that is in view and live may not have an editor: a second, a merge
// window, and half a second for a machine that does all of this at once. Time for which the machine
// kept the test itself waiting does not count.
const soon = 1550 * time.Millisecond

// watchScript tells the test what the page shows, at each change.
const watchScript = `(() => {
  const part = document.querySelector(".presence-editors");
  const tell = (gone) => {
    const ids = [...part.querySelectorAll("[data-editor]")].map((li) => li.dataset.editor);
    window.note?.(JSON.stringify({ at: Date.now(), sees: !gone && !document.hidden && part.dataset.live === "on", n: part.dataset.editors, ids }));
  };
  new MutationObserver(() => tell()).observe(part, { attributes: true, childList: true, subtree: true });
  document.addEventListener("visibilitychange", () => tell());
  addEventListener("pagehide", () => tell(true));
  addEventListener("pageshow", () => tell());
  for (const type of ["freeze", "resume"]) document.addEventListener(type, () => tell(type === "freeze"));
  tell();
})();`

// A sight is what a page shows, from a moment on.
type sight struct {
	At   int64 // ms
	Sees bool  // the page is in view, and live
	N    string
	IDs  []string
}

// An editTab is one of a user, with a page that edits or is elsewhere.
type editTab struct {
	who   *editor
	b     *browser
	end   context.CancelFunc
	where string // "edit", "away", "frozen"; "hidden" edits too, out of view

	mu     sync.Mutex
	sights []sight
}

// edits reports whether the page holds its user among the editors.
func (tab *editTab) edits() bool {
	return !tab.who.offline && (tab.where == "edit" || tab.where == "hidden")
}

// An editor is a user, in a browser of its own.
type editor struct {
	id      string
	first   *browser // which keeps the browser, and has no page that edits
	tabs    []*editTab
	offline bool

	since time.Time // from when the user surely edits; zero: not surely
	times [][2]int64
}

// A randomEdit is a run: who edits what one page at a time shows may be wrong for soon at most.
type randomEdit struct {
	*signalSite
	rand  *rand.Rand
	users []*editor
	all   []*editTab
	steps []string
	stood stood
}

// Whatever the tabs of two or three editors do, a page that is in view and live never shows for
// longer than a second that nobody edits, or somebody too few, while somebody does; and it shows
// nobody after the last one left. EDITORS_RUNS is how many runs there are, EDITORS_SEED the
// seed of the first.
func TestBrowserWhoEdits(t *testing.T) {
	t.Parallel()
	runs, _ := strconv.Atoi(cmp.Or(os.Getenv("EDITORS_RUNS"), "6"))
	seed, err := strconv.ParseUint(os.Getenv("EDITORS_SEED"), 10, 64)
	if err != nil {
		seed = rand.Uint64N(1e9)
	}
	for i := range runs {
		t.Run(fmt.Sprint("seed=", seed+uint64(i)), func(t *testing.T) {
			t.Parallel()
			newRandomEdit(t, seed+uint64(i)).run()
		})
	}
}

func newRandomEdit(t *testing.T, seed uint64) *randomEdit {
	e := &randomEdit{signalSite: newSignalSite(t, track.Config{}), rand: rand.New(rand.NewPCG(seed, 0))}
	for _, id := range []string{"alice", "bob", "carol"}[:2+e.rand.IntN(2)] {
		e.users = append(e.users, &editor{id: id, first: e.visitor(id)})
	}
	return e
}

func (e *randomEdit) run() {
	defer func() {
		if e.Failed() {
			e.Logf("steps: %s", strings.Join(e.steps, ", "))
		}
	}()
	go e.stood.watch(e.Context())
	for range 10 {
		e.step()
		pause := time.Duration(e.rand.IntN(300)) * time.Millisecond
		if e.rand.IntN(4) == 0 {
			pause += soon // in which a page may be wrong for too long
		}
		time.Sleep(pause)
	}
	e.rest()
	e.judge()
}

// step does something that can be done.
func (e *randomEdit) step() {
	u := e.users[e.rand.IntN(len(e.users))]
	if u.offline {
		e.network(u, false)
		return
	}
	if len(u.tabs) == 0 || len(u.tabs) == 1 && e.rand.IntN(3) == 0 {
		e.newTab(u)
		return
	}
	tab := u.tabs[e.rand.IntN(len(u.tabs))]
	e.steps = append(e.steps, fmt.Sprintf("%s, tab %d of %d, %s:", u.id, slices.Index(u.tabs, tab)+1, len(u.tabs), tab.where))
	switch {
	case tab.where == "away":
		e.said("back")
		tab.b.do(chromedp.Evaluate[chromedp.Void](`setTimeout(() => history.back())`))
		e.comes(tab)
	case tab.where == "frozen":
		e.said("thaw")
		tab.lifecycle(page.SetWebLifecycleStateStateActive)
		tab.hide(false) // Chromium hides a page that it freezes, and a page out of view hears of no change after ten seconds
		e.comes(tab)
	case tab.where == "hidden":
		e.said("show")
		tab.hide(false)
		tab.where = "edit"
	default:
		switch e.rand.IntN(8) {
		case 0:
			e.said("close")
			e.goes(tab, "closed")
			tab.end()
			tab.gone()
		case 1:
			e.said("crash")
			e.goes(tab, "closed")
			ctx, cancel := context.WithTimeout(tab.b.ctx, time.Second)
			chromedp.Call(ctx, page.Crash, struct{}{}) // it does not answer
			cancel()
			tab.end()
			tab.gone()
		case 2:
			e.said("leave")
			e.goes(tab, "away")
			tab.b.do(chromedp.Navigate(e.url + "/away"))
			tab.gone()
		case 3:
			e.said("freeze")
			e.goes(tab, "frozen")
			tab.lifecycle(page.SetWebLifecycleStateStateFrozen)
			tab.gone()
		case 4:
			e.said("hide")
			tab.hide(true)
			tab.where = "hidden"
		case 5:
			e.network(u, true)
		case 6:
			e.said("load again")
			e.goes(tab, "away")
			tab.gone()
			tab.b.do(chromedp.Navigate(e.url + "/edit"))
			e.comes(tab)
		default:
			e.said("save")
			e.save(u.id)
		}
	}
}

func (e *randomEdit) said(what string) { e.steps = append(e.steps, what) }

// newTab opens a page that edits.
func (e *randomEdit) newTab(u *editor) {
	e.said(u.id + " opens")
	tab := &editTab{who: u, where: "away"}
	ctx, end := chromedp.NewContext(u.first.ctx)
	tab.b, tab.end = &browser{T: e.T, ctx: ctx}, end
	e.Cleanup(end)
	if err := chromedp.Listen(ctx, tab.hear); err != nil {
		e.Fatal(err)
	}
	if _, err := chromedp.Call(ctx, runtime.AddBinding, runtime.AddBindingParams{Name: "note"}); err != nil {
		e.Fatal(err)
	}
	u.tabs, e.all = append(u.tabs, tab), append(e.all, tab)
	tab.b.do(chromedp.Navigate(e.url + "/edit"))
	e.comes(tab)
}

func (tab *editTab) hear(event any) {
	called, ok := event.(*runtime.EventBindingCalled)
	if !ok {
		return
	}
	var s sight
	if err := json.Unmarshal([]byte(called.Payload), &s); err != nil {
		return
	}
	tab.mu.Lock()
	defer tab.mu.Unlock()
	tab.sights = append(tab.sights, s)
}

// comes waits until a page edits: its user surely does from then on.
func (e *randomEdit) comes(tab *editTab) {
	e.Helper()
	tab.where = "edit"
	if !tab.who.offline {
		tab.b.until(`document.querySelector(".presence-editors")?.dataset.live`, "on")
	}
	e.count(tab.who)
}

// goes says that a page will not edit any more.
func (e *randomEdit) goes(tab *editTab, where string) {
	tab.where = where
	if where == "closed" {
		tab.who.tabs = slices.DeleteFunc(tab.who.tabs, func(t *editTab) bool { return t == tab })
	}
	e.count(tab.who)
}

// gone notes that the page is not in view any more: its own last word may be lost.
func (tab *editTab) gone() {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	tab.sights = append(tab.sights, sight{At: time.Now().UnixMilli()})
}

// count notes from when to when a user surely edits.
func (e *randomEdit) count(u *editor) {
	is := slices.ContainsFunc(u.tabs, (*editTab).edits)
	switch {
	case is && u.since.IsZero():
		u.since = time.Now()
	case !is && !u.since.IsZero():
		u.times = append(u.times, [2]int64{u.since.UnixMilli(), time.Now().UnixMilli()})
		u.since = time.Time{}
	}
}

// network takes the network from a user's machine, as its sleep does, or gives it back.
func (e *randomEdit) network(u *editor, off bool) {
	e.said(map[bool]string{true: u.id + " is offline", false: u.id + " is online"}[off])
	if off {
		u.offline = true
		e.count(u)
	}
	for _, tab := range u.tabs {
		if tab.where != "frozen" {
			tab.b.offline(off)
		}
	}
	if off {
		return
	}
	u.offline = false
	for _, tab := range u.tabs {
		if tab.where == "edit" || tab.where == "hidden" {
			tab.b.until(`document.querySelector(".presence-editors").dataset.live`, "on")
		}
	}
	e.count(u)
}

func (tab *editTab) lifecycle(state page.SetWebLifecycleStateState) {
	tab.b.Helper()
	if _, err := chromedp.Call(tab.b.ctx, page.SetWebLifecycleState, page.SetWebLifecycleStateParams{State: state}); err != nil {
		tab.b.Error(err)
	}
}

// hide takes a page out of view, or brings it back.
func (tab *editTab) hide(is bool) {
	tab.b.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(
		`Object.defineProperty(document, "hidden", { value: %v, configurable: true }); document.dispatchEvent(new Event("visibilitychange")); undefined`, is)))
}

// rest waits until all pages agree, and then that the last one shows nobody.
func (e *randomEdit) rest() {
	for _, u := range e.users {
		if u.offline {
			e.network(u, false)
		}
	}
	var last *editTab
	for _, tab := range e.all {
		if tab.where != "edit" {
			continue
		}
		want := 0
		for _, u := range e.users {
			if u != tab.who && slices.ContainsFunc(u.tabs, (*editTab).edits) {
				want++
			}
		}
		tab.b.until(others, fmt.Sprint(want))
		last = tab
	}
	if last == nil {
		return
	}
	for _, tab := range slices.Clone(e.all) {
		if tab.who != last.who && tab.where != "closed" {
			e.goes(tab, "closed")
			tab.end()
			tab.gone()
		}
	}
	last.b.until(others, "0")
}

// judge holds what the pages showed against who was there.
func (e *randomEdit) judge() {
	now := time.Now().UnixMilli()
	for i, tab := range e.all {
		tab.mu.Lock()
		sights := append(slices.Clone(tab.sights), sight{At: now})
		tab.mu.Unlock()
		slices.SortStableFunc(sights, func(a, b sight) int { return cmp.Compare(a.At, b.At) })
		if !slices.ContainsFunc(sights, func(s sight) bool { return s.Sees }) {
			e.Errorf("tab %d, of %s: got no sight of a live page: the test is blind", i, tab.who.id)
		}
		for _, u := range e.users {
			if u == tab.who {
				continue
			}
			times := slices.Clone(u.times)
			if !u.since.IsZero() {
				times = append(times, [2]int64{u.since.UnixMilli(), now})
			}
			for _, during := range times {
				if missed := missing(sights, u.id, during, &e.stood); missed > soon {
					e.Errorf("tab %d, of %s: got a page without %s for %v, want at most %v: %+v", i, tab.who.id, u.id, missed, soon, sights)
				}
			}
		}
	}
}

// missing returns the longest time during which pages that see do not have a user, without the time
// in which the machine stood.
func missing(sights []sight, id string, during [2]int64, stood *stood) (longest time.Duration) {
	var run int64
	for i := range len(sights) - 1 {
		from, to := max(sights[i].At, during[0]), min(sights[i+1].At, during[1])
		if !sights[i].Sees || slices.Contains(sights[i].IDs, id) {
			run = 0
		} else if to > from {
			run += to - from - stood.within(from, to)
		}
		longest = max(longest, time.Duration(run)*time.Millisecond)
	}
	return longest
}

// A stood notes when a goroutine that wanted to run had to wait for the machine.
type stood struct {
	mu    sync.Mutex
	times [][2]int64 // from when it should have run to when it did, ms
}

const standing = 20 * time.Millisecond // shorter times are not noted

func (s *stood) watch(ctx context.Context) {
	for ctx.Err() == nil {
		due := time.Now().Add(standing)
		time.Sleep(standing)
		if now := time.Now(); now.Sub(due) > standing {
			s.mu.Lock()
			s.times = append(s.times, [2]int64{due.UnixMilli(), now.UnixMilli()})
			s.mu.Unlock()
		}
	}
}

// within returns for how many milliseconds the machine stood between two moments.
func (s *stood) within(from, to int64) (ms int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.times {
		ms += max(0, min(t[1], to)-max(t[0], from))
	}
	return ms
}
