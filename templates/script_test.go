package templates_test

import (
	"encoding/json"
	"fmt"
	"html"
	"os"
	"os/exec"
	"regexp"
	"testing"

	"github.com/rollcall-go/rollcall/internal/need"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/templates"
)

// The script's own tests, of all of it that does not touch the document.
func TestScript(t *testing.T) {
	t.Parallel()
	out, err := exec.Command(need.Program(t, "node", "node"), "--test", "assets/test/").CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// The types that a site's editor reads are those that the tests use.
func TestTypes(t *testing.T) {
	t.Parallel()
	need.Program(t, "node", "node")
	out, err := exec.Command(need.Package(t, ".bin/tsc"), "--noEmit", "--strict", "--target", "es2022", "--module", "nodenext", "assets/test/types.ts").CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// The server shows people as the script does: assets/test/person.test.js reads
// the same file.
func TestPeople(t *testing.T) {
	file, err := os.ReadFile("testdata/people.json")
	noError(t, err)
	var people struct {
		Initials map[string]string
		Hues     map[string]int
		Links    map[string]bool
	}
	noError(t, json.Unmarshal(file, &people))
	shown := func(u presence.User, pattern string) []string {
		t.Helper()
		var match []string
		bubble(t, templates.Config{}, func(s *site) {
			s.see(presence.Site, u)
			match = regexp.MustCompile(pattern).FindStringSubmatch(s.page(`{{whosOnline "site"}}`, guest))
		})
		return match
	}
	for name, want := range people.Initials {
		if name == "" {
			continue // the id is shown
		}
		if got := shown(presence.User{ID: "x", Name: name}, `presence-hue-\d" aria-hidden="true">([^<]*)</span>`); got == nil || html.UnescapeString(got[1]) != want {
			t.Errorf("initials of %q: got %q, want %q", name, got, want)
		}
	}
	for id, want := range people.Hues {
		if id == "" {
			continue // none has it
		}
		if got := shown(presence.User{ID: presence.UserID(id)}, `presence-hue-(\d)`); got == nil || got[1] != fmt.Sprint(want) {
			t.Errorf("hue of %q: got %q, want %d", id, got, want)
		}
	}
	for url, want := range people.Links {
		if (presence.User{ID: "x", URL: url}).Validate() != nil { // no user of presence has it; the script refuses it by itself
			if want {
				t.Errorf("a user with %q is refused, want a link", url)
			}
			continue
		}
		if got := shown(presence.User{ID: "x", URL: url}, ` href="`); (got != nil) != want {
			t.Errorf("link to %q: got %q, want %v", url, got, want)
		}
		if got := shown(presence.User{ID: "x", Avatar: url}, `<img src="`); (got != nil) != want {
			t.Errorf("picture at %q: got %q, want %v", url, got, want)
		}
	}
}
