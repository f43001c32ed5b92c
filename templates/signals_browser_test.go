package templates_test

import (
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

const (
	typists = `document.querySelector(".presence-typists").textContent`
	others  = `document.querySelector(".presence-editors").dataset.editors`
	editing = `[...document.querySelectorAll("[data-editor]")].map((li) => li.innerText.replace(/\s+/g, " ").replace(/\d+:\d\d\s[AP]M/, "TIME").trim()).join("; ")`
)

// typed types until the page says so: it does once it knows that others see its visitor.
func (s *signalSite) typed(b *browser, text string) {
	s.Helper()
	before := s.posted.Load()
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector("textarea").focus()`))
	waitFor(s.T, func() bool {
		b.do(chromedp.KeyEvent(text))
		for range 10 {
			if s.posted.Load() > before {
				return true
			}
			time.Sleep(20 * time.Millisecond)
		}
		return false
	})
}

// inRoster waits until others see a user in a topic: nobody else is heard.
func (s *signalSite) inRoster(topic presence.Topic, ids ...presence.UserID) {
	s.Helper()
	waitFor(s.T, func() bool {
		v, err := s.tracker.View(s.Context(), topic)
		for _, id := range ids {
			if err != nil {
				return false
			}
			if _, there := v.Member(id); !there {
				return false
			}
		}
		return err == nil
	})
}

// Who types is named to the others at once, and to nobody else; nothing moves; and it ends when
// the visitor leaves the field.
func TestBrowserTyping(t *testing.T) {
	t.Parallel()
	s := newSignalSite(t, track.Config{})
	alice, bob := s.visitor("alice"), s.visitor("bob")
	s.open(alice, "/thread")
	s.open(bob, "/thread")
	s.inRoster("thread:1", "alice", "bob")
	const below = `document.querySelector("#below").getBoundingClientRect().top`
	at, err := chromedp.Run(alice.ctx, chromedp.Evaluate[float64](below))
	noError(t, err)
	s.typed(bob, "h")
	alice.until(typists, "Bob is typing…")
	alice.until(`document.querySelector(".presence-typing .presence-said").textContent !== "" || "said before"`, "true")
	if now, err := chromedp.Run(alice.ctx, chromedp.Evaluate[float64](below)); err != nil || now != at {
		t.Errorf("got the form at %v, want it at %v as before: %v", now, at, err)
	}
	bob.until(typists, "")
	s.typed(alice, "x")
	bob.until(typists, "Alice is typing…")
	bob.do(chromedp.Evaluate[chromedp.Void](`document.activeElement.blur()`))
	alice.until(typists, "")
	if n := s.posted.Load(); n > 6 {
		t.Errorf("got %d signals, want one for the beginning of each, and one for an end", n)
	}
}

// S5: who leaves while typing is gone from the line, by a word or by the leave.
func TestBrowserTypingEndsWithThePage(t *testing.T) {
	t.Parallel()
	s := newSignalSite(t, track.Config{})
	alice, bob := s.visitor("alice"), s.visitor("bob")
	s.open(alice, "/thread")
	s.open(bob, "/thread")
	s.inRoster("thread:1", "alice", "bob")
	alice.do(chromedp.Evaluate[chromedp.Void](`Date.now = ((now) => () => now)(Date.now())`)) // to her, no signal ends by itself
	s.typed(bob, "h")
	alice.until(typists, "Bob is typing…")
	s.open(bob, "/away")
	alice.until(typists, "")
}

// Who else edits is there at once, the first first; who goes is off the list after the grace.
func TestBrowserEditors(t *testing.T) {
	t.Parallel()
	s := newSignalSite(t, track.Config{})
	alice, bob := s.visitor("alice"), s.visitor("bob")
	s.open(alice, "/edit")
	alice.until(others, "0")
	alice.until(`document.querySelector(".presence-nobody").hidden`, "false")
	s.open(bob, "/edit")
	alice.until(editing, "Bob is editing this, since TIME")
	bob.until(editing, "Alice is editing this, since TIME")
	bob.until(`document.querySelector("[data-editor=alice]").hasAttribute("data-owner")`, "true")
	alice.until(`document.querySelector("[data-owner]") === null`, "true") // that is Alice

	// A newer version.
	s.save("Carol")
	const newer = `(([box]) => box.hidden ? "" : box.querySelector(".presence-newer").textContent)(document.querySelector(".presence-saved").children)`
	alice.until(newer, "Carol saved a newer version. Yours is older.")
	bob.until(newer, "Carol saved a newer version. Yours is older.")
	s.open(alice, "/edit")
	alice.until(others, "1")
	alice.until(newer, "") // hers is the newer one

	s.open(bob, "/away")
	alice.until(others, "0")
	alice.until(editing, "")
}

// Whose connection is lost does not know who else edits, and never reads that nobody does.
func TestBrowserEditorsWithoutAConnection(t *testing.T) {
	t.Parallel()
	s := newSignalSite(t, track.Config{})
	alice := s.visitor("alice")
	s.open(alice, "/edit")
	alice.until(others, "0")
	alice.do(chromedp.Evaluate[chromedp.Void](`window.seen = []; new MutationObserver(() => seen.push(` + others + ` + ":" + document.querySelector(".presence-nobody").hidden)).observe(document.querySelector(".presence-editors"), { attributes: true, subtree: true })`))
	alice.offline(true)
	alice.until(`document.querySelector(".presence-editors").innerText.trim()`, "It is not known right now who else is editing this.")
	alice.until(`seen.includes("unknown:true") && !seen.includes("unknown:false")`, "true")
	alice.offline(false)
	alice.until(others, "0")
}

// A page that its own visitor has sent does not say that the visitor was faster.
func TestBrowserOwnSave(t *testing.T) {
	t.Parallel()
	s := newSignalSite(t, track.Config{})
	alice := s.visitor("alice")
	s.open(alice, "/edit")
	alice.until(others, "0")
	alice.do(chromedp.Evaluate[chromedp.Void](`addEventListener("presence:saved", () => { sessionStorage.told = 1 })`),
		chromedp.Evaluate[chromedp.Void](`document.querySelector("button").click()`))
	alice.until(`document.title`, "Thread")
	alice.until(`sessionStorage.told`, "undefined")
	if got := s.revision.Load(); got != 2 {
		t.Errorf("got revision %d, want 2: the page was sent", got)
	}
}
