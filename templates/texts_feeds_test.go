package templates_test

import (
	"encoding/json"
	"html"
	"regexp"
	"testing"

	"github.com/rollcall-go/rollcall/presence/feed"
	"github.com/rollcall-go/rollcall/templates"
)

var german = templates.Texts{
	Lang: "de", Live: "live", JustNow: "gerade eben", Hours: templates.Plural{One: "vor {n} Stunde", Other: "vor {n} Stunden"}, Days: templates.Plural{One: "vor {n} Tag", Other: "vor {n} Tagen"},
	Unknown: "Gerade nicht bekannt.",
	Feeds: templates.FeedTexts{
		Notifications: "Benachrichtigungen",
		Bell:          templates.Plural{One: "{label}: eine ungelesene", Other: "{label}: {n} ungelesene"},
		Unread:        templates.Plural{One: "ungelesene", Other: "ungelesene"},
		New:           "ungelesen",
		Fresh:         templates.Plural{One: "eine neue", Other: "{n} neue"},
		MarkRead:      "Gelesen", MarkUnread: "Ungelesen", MarkAll: "Alle gelesen", Archive: "Archivieren", Mute: "Stummschalten",
		Nothing: "Hier ist noch nichts.", Older: "Ältere", Newest: "Neueste", All: "Alle Benachrichtigungen",
		NewPosts: templates.Plural{One: "ein neuer Beitrag", Other: "{n} neue Beiträge"}, Removed: "Das wurde entfernt.",
		Somebody: "Jemand", People: templates.Plural{One: "eine Person", Other: "{n} Personen"}, Both: "{name} und {other}",
		Others: templates.Plural{One: "{name} und eine weitere Person", Other: "{name} und {n} weitere"},
	},
}

func TestNotificationsInGerman(t *testing.T) {
	bubble(t, templates.Config{Texts: german}, func(s *site) {
		from := &someFeeds{head: feed.Head{Rev: 7, Pos: 41, Unread: 1000}, items: items(), texts: german}
		got := s.feedOf(from, `{{bell "popover" true}}{{notifications "mute" true "max" 2}}{{room "thread:1" . "template" "t"}}`, alices)
		golden(t, "notifications-german", got)
		shows(s.T, got, `>Benachrichtigungen: 1.000 ungelesene<`, "Bob und 3 weitere replied")
		for _, english := range []string{"Mark", "Archive<", "All ", "Mute<", ">Older<", "Notifications", "unread<", "Nothing", " ago"} {
			hides(s.T, got, english)
		}
		var words map[string]any
		attr := regexp.MustCompile(`data-words="([^"]*)"`).FindStringSubmatch(got)
		if err := json.Unmarshal([]byte(html.UnescapeString(attr[1])), &words); err != nil {
			s.Fatal(err)
		}
		if got := words["unread"].(map[string]any)["one"]; got != "Benachrichtigungen: eine ungelesene" {
			s.Errorf("got %v for one unread in the script's words", got)
		}
	})
}

// Actors says who did something, as the package feed does in English.
func TestActors(t *testing.T) {
	for _, tt := range []struct {
		names           []string
		others          int
		english, german string
	}{
		{nil, 0, "Somebody", "Jemand"},
		{nil, 7, "7 people", "7 Personen"},
		{[]string{"Alice"}, 0, "Alice", "Alice"},
		{[]string{"Alice", "Bob"}, 0, "Alice and Bob", "Alice und Bob"},
		{[]string{"Alice"}, 1, "Alice and 1 other", "Alice und eine weitere Person"},
		{[]string{"Alice"}, 3, "Alice and 3 others", "Alice und 3 weitere"},
		{[]string{"Alice", "Bob"}, 2, "Alice and 3 others", "Alice und 3 weitere"},
		{[]string{"{other}", "{name}{n}"}, 0, "{other} and {name}{n}", "{other} und {name}{n}"},
	} {
		for lang, check := range map[string]struct {
			actors func([]string, int) string
			want   string
		}{
			"the default": {templates.Texts{}.Actors, tt.english}, "German": {german.Actors, tt.german}, "package feed": {feed.EnglishActors, tt.english},
		} {
			if got := check.actors(tt.names, tt.others); got != check.want {
				t.Errorf("%s, %q and %d: got %q, want %q", lang, tt.names, tt.others, got, check.want)
			}
		}
	}
}
