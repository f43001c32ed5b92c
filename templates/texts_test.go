package templates_test

import (
	"encoding/json"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/templates"
)

// The server counts as the script does: assets/test/texts.test.js reads the
// same file.
func TestTextsOfManyLanguages(t *testing.T) {
	file, err := os.ReadFile("testdata/texts.json")
	noError(t, err)
	var want struct{ Forms, Numbers map[string]map[string]string }
	noError(t, json.Unmarshal(file, &want))
	forms := templates.Plural{Zero: "zero", One: "one", Two: "two", Few: "few", Many: "many", Other: "other"}
	each := func(cases map[string]map[string]string, check func(lang string, n int, want string)) {
		for lang, numbers := range cases {
			for key, want := range numbers {
				n, err := strconv.Atoi(key)
				noError(t, err)
				check(lang, n, want)
			}
		}
	}
	each(want.Forms, func(lang string, n int, want string) {
		if got := templates.Text(lang, forms, n); got != want {
			t.Errorf("%s, %d: got the form %s, want %s", lang, n, got, want)
		}
	})
	each(want.Numbers, func(lang string, n int, want string) {
		if got := templates.Number(lang, n); got != want {
			t.Errorf("%s, %d: got %q, want %q", lang, n, got, want)
		}
	})
}

func TestFormsThatAreMissing(t *testing.T) {
	for _, tt := range []struct {
		lang  string
		forms templates.Plural
		n     int
		want  string
	}{
		{"pl", templates.Plural{One: "{n} gość", Other: "{n} gości"}, 3, "3 gości"},
		{"not a language", templates.Plural{One: "{n} guest", Other: "{n} guests"}, 1, "1 guest"},
		{"", templates.Plural{Other: "{n} of {n}"}, 1234, "1,234 of 1,234"},
	} {
		if got := templates.Text(tt.lang, tt.forms, tt.n); got != tt.want {
			t.Errorf("%q, %d: got %q, want %q", tt.lang, tt.n, got, tt.want)
		}
	}
}

// polish are the words of a Polish site: three forms where English has two.
var polish = templates.Texts{
	Lang:    "pl",
	Label:   "Kto jest online",
	Here:    "Kto tu jest",
	Online:  templates.Plural{One: "użytkownik online", Few: "użytkowników online", Other: "użytkowników online"},
	Present: templates.Plural{One: "osoba tutaj", Few: "osoby tutaj", Other: "osób tutaj"},
	Guests:  templates.Plural{One: "gość", Few: "goście", Other: "gości"},
	Recent:  templates.Plural{Other: "ostatnio aktywnych"},
	More:    templates.Plural{One: "i jeszcze jeden", Few: "i jeszcze {n}", Other: "i jeszcze {n}"},
	Empty:   "Nikogo tu nie ma.",
	Unknown: "W tej chwili nie wiadomo.",
	Live:    "na żywo",
	Lost:    "Brak połączenia, lista z {time}",
	Came: templates.Summary{
		Alone:  "{name} jest online",
		Others: templates.Plural{One: "{name} i jeszcze jedna osoba są online", Few: "{name} i {n} inne osoby są online", Other: "{name} i {n} innych osób są online"},
	},
	Went: templates.Summary{
		Alone:  "{name} jest offline",
		Others: templates.Plural{One: "{name} i jeszcze jedna osoba są offline", Few: "{name} i {n} inne osoby są offline", Other: "{name} i {n} innych osób są offline"},
	},
	Status:    templates.StatusTexts{Online: "online", Away: "zaraz wraca", Busy: "zajęty", Offline: "offline"},
	OnlineNow: "teraz online",
	JustNow:   "przed chwilą",
	Minutes:   templates.Plural{One: "minutę temu", Few: "{n} minuty temu", Other: "{n} minut temu"},
	Hours:     templates.Plural{One: "godzinę temu", Few: "{n} godziny temu", Other: "{n} godzin temu"},
	Days:      templates.Plural{One: "wczoraj", Other: "{n} dni temu"},
}

func TestPolishGolden(t *testing.T) {
	bubble(t, templates.Config{Max: 1, Texts: polish}, func(s *site) {
		s.see(presence.Site, members...)
		for _, id := range []string{"x", "y"} {
			s.tracker.SeenGuest(presence.Site, id)
		}
		s.see(presence.Site)
		golden(t, "widget-polish", s.page(`{{whosOnline "site"}}{{onlineDot "bob"}}`, guest))
	})
}

// Whatever a text holds, it stays a text.
func TestTextsAreEscaped(t *testing.T) {
	texts := templates.Texts{
		Online: templates.Plural{Other: `"members" & <b>'s`},
		Live:   "<script>", Label: `"><x`,
		Status: templates.StatusTexts{Offline: `"off"><x`},
	}
	bubble(t, templates.Config{Texts: texts}, func(s *site) {
		html := s.page(`{{presenceHead}}{{whosOnline "site"}}{{onlineDot "nobody"}}`, guest)
		has(t, html, "&#34;members&#34; &amp; &lt;b&gt;&#39;s</span>", "&lt;script&gt;")
		if strings.Contains(html, "<x") || strings.Contains(html, "<script>") {
			t.Errorf("got a text that became an element:\n%s", html)
		}
	})
}

// A field without English would leave a hole in each page that sets no texts.
func TestEachTextHasEnglish(t *testing.T) {
	var check func(reflect.Type)
	check = func(texts reflect.Type) {
		for i := range texts.NumField() {
			field := texts.Field(i)
			switch english := field.Tag.Get("en"); {
			case field.Name == "Lang":
			case strings.HasSuffix(field.Type.Name(), "Texts"):
				check(field.Type)
			case english == "":
				t.Errorf("%s.%s has no English", texts.Name(), field.Name)
			case field.Type == reflect.TypeFor[templates.Summary]() && strings.Count(english, "|") != 2:
				t.Errorf("%s.%s: got %q, want three texts", texts.Name(), field.Name, english)
			}
		}
	}
	check(reflect.TypeFor[templates.Texts]())
}
