package pages_test

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
	"github.com/rollcall-go/rollcall/examples/forum/suites/internal/forumtab"
)

// TestEditing: two edit one post. The second to save gets both texts, without script too, and
// loses nothing; a thread's open page shows each text that is saved, and "edited".
func TestEditing(t *testing.T) {
	t.Parallel()
	axe := axeScript(t)
	dir := cmp.Or(os.Getenv("SCREENSHOTS"), t.TempDir())
	f, b := forumtest.Start(t), forumtab.New(t)
	reader, alice, bob := b.Profile(f), b.Profile(f), b.Profile(f)
	reader.Open("/threads/1")
	reader.IsLive()
	alice.Open("/threads/1")
	alice.SignIn("Alice")
	bob.Scripts(false)
	bob.Open("/threads/1")
	bob.SignIn("Bob")
	for _, tb := range []*forumtab.Tab{alice, bob} {
		tb.Click(`#post-3 a.edit`)
		tb.Sees(`textarea#text`)
	}

	rewrite(alice, "Nothing, says Alice.")
	alice.Click("form.reply button")
	alice.Sees("#post-3:target .edited")
	reader.ComesAbout(`document.querySelector("#post-3 .prose").innerText`, "Nothing, says Alice.")
	reader.ComesAbout(`getComputedStyle(document.querySelector("#post-3 .when"), "::after").content`, `" · edited"`)

	const mine = "Everything,\n\nsays Bob."
	rewrite(bob, mine)
	bob.Breaks() // a browser says so of each 409
	bob.Click("form.reply button")
	bob.Sees(`.problem[role=alert]`)
	if got := forumtab.Eval[string](bob, `document.querySelector("#text").value`); got != mine {
		t.Errorf("got %q in the form, want Bob’s text", got)
	}
	if got := forumtab.Eval[string](bob, `document.querySelector(".prose.now").innerText`); got != "Nothing, says Alice." {
		t.Errorf("got %q as the present text, want Alice’s", got)
	}
	for _, look := range []struct {
		name, scheme string
		width        int64
	}{{"conflict-light", "light", 1100}, {"conflict-phone", "dark", 390}} {
		emulate(t, bob, look.scheme, look.width, 844)
		fits(t, bob, look.name, look.width)
		bob.Scripts(true) // for axe
		hasNoFault(t, bob, axe, look.name)
		bob.Scripts(false)
		picture(t, bob, filepath.Join(dir, look.name+".png"))
	}
	bob.Click("form.reply button")
	bob.Sees("#post-3:target .edited")
	reader.ComesAbout(`document.querySelector("#post-3 .prose").innerText`, mine)
	if got := forumtab.Eval[int](reader, `document.querySelectorAll(".post").length`); got != 5 {
		t.Errorf("got %d posts on the reader’s page, want the 5 of the beginning", got)
	}
	if page := f.Visitor(t).Get("/threads/1").Body; strings.Count(page, ">edited<") != 1 {
		t.Errorf("want one post marked as edited\n%s", page)
	}
}

// rewrite puts a text into the form in place of what is there.
func rewrite(tb *forumtab.Tab, text string) {
	forumtab.Eval[string](tb, fmt.Sprintf(`document.querySelector("#text").value = %q`, text))
}
