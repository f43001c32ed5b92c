package pages_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
	"github.com/rollcall-go/rollcall/examples/forum/suites/internal/forumtab"
)

// fill types a text into an empty field.
func fill(tb *forumtab.Tab, selector, text string) {
	tb.Do("fill "+selector, chromedp.SendKeys(chromedp.CSS(selector), text))
}

// TestPeopleWithoutScript: settings, contacts and sessions are forms, and their pages are
// right as the server wrote them.
func TestPeopleWithoutScript(t *testing.T) {
	t.Parallel()
	f, b := forumtest.Start(t), forumtab.New(t)
	bob := f.User(t, "Bob")
	bob.Stream("topic=site")
	f.Ready(t)
	alice := b.Profile(f)
	alice.Scripts(false)
	alice.Open("/")
	alice.SignIn("Alice")

	alice.Click(`nav [href="/settings"]`)
	alice.Do("choose busy", chromedp.Click(chromedp.CSS(`input[name="status"][value="busy"]`)))
	fill(alice, `[name="text"]`, "in a call")
	alice.Click(`[action="/settings"] button`)
	alice.Sees(`input[name="status"][value="busy"]:checked`)
	alice.Sees(`[name="text"][value="in a call"]`)
	alice.Sees(`.status [data-status="busy"]`)

	alice.Click(`nav [href="/contacts"]`)
	fill(alice, `[name="user"]#user`, "Bob")
	alice.Click(`button[value="add"]`)
	alice.Sees(`.presence-contacts [data-person="bob"][data-status="online"]`)
	alice.Click(`.presence-contacts [href="/people/bob"]`)
	alice.Sees(`.presence-profile[data-person="bob"][data-status="online"]`)
	alice.Click(`button[value="block"]`)
	alice.Sees(`button[value="unblock"]`)
	alice.Misses(`.presence-contacts [data-person="bob"]`)

	phone := f.User(t, "Alice")
	phone.Stream("topic=site")
	alice.Click(`nav [href="/sessions"]`)
	sessions := func(n int) {
		t.Helper()
		forumtest.Await(t, fmt.Sprint(n, " sessions"), func() bool { // the page does not change by itself
			alice.Open("/sessions")
			return forumtab.Eval[int](alice, `document.querySelectorAll("[data-session]").length`) == n
		})
	}
	sessions(2)
	alice.Sees(`[data-session] .presence-current`)
	alice.Click(`[data-session]:not(:has(.presence-current)) button`)
	sessions(1)
	alice.Sees(`[data-session] .presence-current`)
	if page := phone.Get("/settings"); page.Status != 401 {
		t.Errorf("the phone whose session has ended: got %d, want 401", page.Status)
	}
}

// TestPeopleLive: with script the page of contacts and that of a user follow who comes, goes
// and hides.
func TestPeopleLive(t *testing.T) {
	t.Parallel()
	f, b := forumtest.Start(t, "-grace", "1s", "-sweep", "200ms"), forumtab.New(t)
	setup := f.User(t, "Alice")
	setup.Post("/contacts", map[string][]string{"user": {"Bob"}, "do": {"add"}})
	bob := f.User(t, "Bob")
	alice := b.Profile(f)
	alice.Open("/")
	alice.SignIn("Alice")
	alice.Open("/contacts")
	page := alice.Another()
	page.Open("/people/bob")
	for _, status := range []string{"online", "busy", "offline", "online"} {
		switch status {
		case "online":
			bob.Post("/settings", map[string][]string{"status": {"online"}, "online": {"everyone"}})
			bob.Stream("topic=site")
		case "busy":
			bob.Post("/settings", map[string][]string{"status": {"busy"}})
		case "offline":
			bob.Post("/settings", map[string][]string{"online": {"nobody"}})
		}
		alice.Sees(`.presence-contacts [data-person="bob"][data-status="` + status + `"]`)
		page.Sees(`.presence-profile[data-person="bob"][data-status="` + status + `"]`)
	}
}
