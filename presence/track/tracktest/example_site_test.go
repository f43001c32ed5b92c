package tracktest_test

import (
	"html/template"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track/tracktest"
	"github.com/rollcall-go/rollcall/templates"
)

var home = template.Must(template.New("home").Funcs(templates.Funcs()).Parse(
	`{{if isOnline "bob"}}Bob is here.{{else}}Bob was here {{lastSeen "bob"}}.{{end}}`))

// testHome is the test of a page: give your own one the name TestHome. The code of the
// site takes the tracker as an argument, as templates.New does here.
func testHome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := tracktest.Site(t, presence.User{ID: "alice"})
		bob := tracktest.Stream(t, tracker, presence.User{ID: "bob"})
		widgets, err := templates.New(home, tracker, templates.Config{})
		if err != nil {
			t.Fatal(err)
		}
		wantPage := func(want string) {
			t.Helper()
			var page strings.Builder
			if err := widgets.Execute(&page, "home", nil, httptest.NewRequest("GET", "/", nil)); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(page.String(), want) {
				t.Errorf("got page %q, want %q in it", page.String(), want)
			}
		}
		wantPage("Bob is here")
		bob.Close() // Bob closes the tab
		time.Sleep(time.Minute)
		wantPage("Bob was here")
	})
}

func ExampleSite() {
	_ = testHome
}
