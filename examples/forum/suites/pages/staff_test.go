package pages_test

import (
	"cmp"
	"os"
	"path/filepath"
	"testing"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
	"github.com/rollcall-go/rollcall/examples/forum/suites/internal/forumtab"
)

// TestStaff looks at the page of staff, and disconnects a user on it: the page follows,
// with script and by keyboard, and the other user's page says that it is not live.
func TestStaff(t *testing.T) {
	t.Parallel()
	axe := axeScript(t)
	f, b := forumtest.Start(t, "-staff", "zoe"), forumtab.New(t)
	dir := cmp.Or(os.Getenv("SCREENSHOTS"), t.TempDir())
	eve := b.Profile(f)
	eve.Open("/")
	eve.SignIn("Eve")
	eve.IsLive()
	ghost := f.User(t, "Ghost")
	ghost.Stream("topic=site&topic=thread:1")
	ghost.Do("PUT", "/presence/status", "application/json", `{"status":"invisible"}`)
	zoe := b.Profile(f)
	zoe.Open("/")
	zoe.SignIn("Zoe")
	zoe.Open("/staff")
	zoe.ComesAbout(`document.getElementById("live").textContent`, "This page is live.")
	zoe.Sees(`[data-user="ghost"].invisible`)
	bob := f.User(t, "Bob")
	bob.Stream("topic=site")
	zoe.Sees(`[data-user="bob"]`) // nobody loads the page again
	for _, look := range []struct {
		name, scheme  string
		width, height int64
	}{{"light", "light", 1280, 860}, {"dark", "dark", 1280, 860}, {"phone", "light", 390, 844}} {
		emulate(t, zoe, look.scheme, look.width, look.height)
		zoe.Open("/staff")
		zoe.Sees(`[data-user="eve"]`)
		fits(t, zoe, "staff, "+look.name, look.width)
		hasNoFault(t, zoe, axe, "staff, "+look.name)
		picture(t, zoe, filepath.Join(dir, "staff-"+look.name+".png"))
	}
	eve.Breaks() // her page tries again, and is refused
	zoe.Click(`#out-eve`)
	zoe.Sees(`.done`)
	zoe.Misses(`[data-user="eve"]`)
	eve.ComesAbout(`document.querySelector("whos-online").dataset.live === "on" ? "live" : "not live"`, "not live")
	picture(t, zoe, filepath.Join(dir, "staff-done.png"))
	if got := forumtab.Eval[string](zoe, `document.querySelector(".acts").textContent`); got == "" {
		t.Error("the page does not tell what was done")
	}
}
