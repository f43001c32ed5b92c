package templates_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/templates"
)

var update = flag.Bool("update", false, "write the golden files anew")

var cursorAttr = regexp.MustCompile(`cursor="[0-9a-z.-]+"`)

// golden holds HTML against testdata/<name>.html. Cursors are new in each run.
func golden(t *testing.T, name, got string) {
	t.Helper()
	got = cursorAttr.ReplaceAllString(got, `cursor="…"`) + "\n"
	path := filepath.Join("testdata", name+".html")
	if *update {
		noError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	noError(t, err)
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", path, got, want)
	}
}

var members = []presence.User{
	{ID: "alice", Name: "Alice Liddell", URL: "/u/alice", Avatar: "/avatars/alice.png"},
	{ID: "bob", Name: "Bob", URL: "https://bob.example/", Status: presence.Away},
	{ID: "carol", Status: presence.Busy},
}

var withData = presence.User{ID: "dana", Name: "Dana", Data: []byte(`{ "karma": [1, 2.5], "b": "<i> & \"q\" 'é' 😀" }`)}

var hostile = []presence.User{
	{ID: "__proto__"},
	{ID: "<script>alert(1)</script>", Name: "<script>alert(1)</script>"},
	{ID: `" onclick="alert(1)`, Name: `' "quotes" & <b>`},
	{ID: "js", Name: "js", URL: "javascript:alert(1)", Avatar: "data:image/svg+xml,<svg/>"},
	{ID: "style", Name: "{{.}} --> ]]>", URL: `/u?a=1&b="2"`, Avatar: `/a.png" onerror="alert(1)`},
	{ID: presence.UserID(strings.Repeat("😀", 32)), Name: strings.Repeat("😀", 128)},
	{ID: "rtl", Name: "\u202eevil\u202c מרים"},
}

func TestWidgetGolden(t *testing.T) {
	const view = `{{whosOnline "site"}}`
	for _, tt := range []struct {
		name  string
		users []presence.User
		view  string
	}{
		{"widget-0", nil, view},
		{"widget-1", members[:1], view},
		{"widget-2", members[:2], view},
		{"widget-options", members, `{{whosOnline "site" "max" 1 "label" "Who else is up?"}}`},
		{"widget-counts", members, `{{whosOnline "site" "max" 0}}`},
		{"widget-hostile", hostile, view},
		{"widget-data", []presence.User{withData}, view},
		{"dots", members, `{{onlineDot "alice"}}{{onlineDot "bob"}}{{onlineDot "<nobody>"}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, templates.Config{}, func(s *site) {
				s.see(presence.Site, tt.users...)
				golden(t, tt.name, s.page(tt.view, guest))
			})
		})
	}
}

func TestWidgetOfAnotherTopic(t *testing.T) {
	bubbleUnder(t, "live//here/", templates.Config{}, func(s *site) {
		s.see("thread:42", members[0])
		golden(t, "widget-thread", s.page(`{{whosOnline "thread:42"}}`, user("zoe")))
	})
}

func TestPrefixOfRoot(t *testing.T) {
	bubbleUnder(t, "/", templates.Config{}, func(s *site) {
		has(t, s.page(`{{presenceHead}}{{whosOnline "site"}}`, guest), `src="/assets/presence.`, `<whos-online topic="site" src="" `)
	})
}

// has fails the test for each of the parts that html does not hold.
func has(t *testing.T, html string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(html, part) {
			t.Errorf("got\n%s\nwant %q in it", html, part)
		}
	}
}

func TestWidgetOfThousand(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		s.see(presence.Site, crowd(1000)...)
		html := s.page(`{{whosOnline "site"}}`, guest)
		if got, want := strings.Count(html, "data-user="), 100; got != want {
			t.Errorf("got %d users shown, want %d", got, want)
		}
		has(t, html, `value="1000" data-count="online">1,000</data>`, `data-user="user-0999"`, ">and 900 more</span>")
	})
}

func TestTextsAreReplaceable(t *testing.T) {
	bubble(t, templates.Config{Max: 1, Texts: templates.Texts{
		Online: templates.Plural{One: "Mitglied", Other: "Mitglieder"},
		More:   templates.Plural{One: "und eines mehr", Other: "und {n} mehr"},
		Status: templates.StatusTexts{Busy: "beschäftigt"},
	}}, func(s *site) {
		s.see(presence.Site, members[1:]...)
		html := s.page(`{{presenceHead}}{{whosOnline "site"}}{{onlineDot "carol"}}`, guest)
		has(t, html, ">Mitglieder</span>", ">und eines mehr</span>", `title="beschäftigt"`, ">guests</span>")
		script := regexp.MustCompile(`/assets/texts\.[0-9a-f]+\.js`).FindString(html)
		has(t, body(t, s.get("GET", script)), `"busy":"beschäftigt"`)
	})
}

func TestOptionsThatAreWrong(t *testing.T) {
	for view, want := range map[string]string{
		`{{whosOnline "site" "max"}}`:      "pairs",
		`{{whosOnline "site" "max" "12"}}`: "must be an int",
		`{{whosOnline "site" "mx" 12}}`:    "knows no option mx",
		`{{whosOnline "../x"}}`:            "invalid topic",
		`{{whosOnline ""}}`:                "invalid topic",
		`{{onlineCount ""}}`:               "invalid topic",
		`{{onlineTotal ""}}`:               "invalid topic",
	} {
		bubble(t, templates.Config{}, func(s *site) {
			if html, err := s.render(view, guest); err == nil || !strings.Contains(err.Error(), want) || html != "" {
				t.Errorf("%s: got %q, %v, want nothing and an error with %q", view, html, err, want)
			}
		})
	}
}

func TestStoreOut(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		s.store.Break(presencetest.Fault{Err: errOut})
		const view = `{{presenceHead}}<p>{{whosOnline "site"}}{{isOnline "bob"}} {{onlineTotal "site"}} {{onlineDot "bob"}} {{lastSeen "bob"}}</p>`
		html := s.page(view, guest)
		has(t, html, `cursor=""`, `data-live="off"`, `value="" data-count="online"></data>`,
			`<p class="presence-unknown">`, `<p class="presence-counts" hidden>`,
			`<p class="presence-empty" hidden>`, `data-status="unknown"`, "false – ", "</p>")
		has(t, s.page(`{{onlineDot "me"}} {{isOnline "me"}}`, user("me")), `data-status="online"`, " true")
	})
}
