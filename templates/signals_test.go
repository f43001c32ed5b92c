package templates_test

import (
	"context"
	"html"
	"html/template"
	"math"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
	"github.com/rollcall-go/rollcall/templates"
)

// editing has users edit the same thing, the first first.
func (s *site) editing(users ...presence.User) {
	s.Helper()
	s.see("edit:1:3", users...)
}

// Typing has nothing in it as rendered: without script it would say so for ever.
func TestTyping(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		s.see("thread:1", members...)
		golden(t, "typing", s.page(`{{typing "thread:1"}}`, me)+"\n"+s.page(`{{typing "thread:1" "input" "#a'\"b"}}`, guest))
	})
}

// Editors are the others, the first of them first, without script too.
func TestEditors(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		s.editing(members...)
		got := s.page(`{{editors "edit:1:3" "revision" 3}}`, user("bob"))
		golden(t, "editors", got)
		shows(s.T, got, `data-editors="2"`, `data-revision="3"`, `<time datetime="2000-01-01T00:00:00Z" title="2000-01-01 00:00 UTC">00:00 UTC</time>`)
		hides(s.T, got, `data-editor="bob"`)
		if strings.Index(got, `data-editor="alice"`) > strings.Index(got, `data-editor="carol"`) {
			s.Errorf("got Carol before Alice, who came first: %s", got)
		}
		shows(s.T, s.page(`{{editors "edit:1:3"}}`, me), `data-editor="bob" data-status="away"`, `<span class="presence-away">away</span>`)
		shows(s.T, s.page(`{{editors "edit:1:4"}}`, me), `data-editors="0"`, `<p class="presence-nobody" hidden>`)
	})
}

// That nobody edits is never said where it is not known.
func TestEditorsAreNotKnown(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		s.editing(user("alice"))
		s.store.Break(presencetest.Fault{Err: errOut})
		time.Sleep(time.Second)
		old := s.page(`{{editors "edit:1:3"}}`, me)
		shows(s.T, old, `data-editors="unknown"`, `data-editor="alice"`, `<p class="presence-unknown">It is not known right now who else is editing this.</p>`)
		none := s.page(`{{editors "edit:9:9"}}`, me)
		shows(s.T, none, `data-editors="unknown"`, `<p class="presence-unknown">`, `<p class="presence-nobody" hidden>`)
	})
}

// The one who came first is the first also where that is the visitor, and who else is there
// has no more than a number above ten.
func TestManyEditors(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		s.editing(crowd(14)...)
		got := s.page(`{{editors "edit:1:3"}}`, user("user-0000"))
		hides(s.T, got, "data-owner", "user-0011")
		shows(s.T, got, `data-editors="13"`, `<p class="presence-more">and 3 more</p>`, `data-editor="user-0010"`)
		shows(s.T, s.page(`{{editors "edit:1:3"}}`, user("user-0001")), `<li data-editor="user-0000" data-status="online" data-owner>`)
	})
}

// The line of those who are typing is a form of the widget, for streams of HTML. It has the
// names that the roster shows, and not the visitor's own.
func TestTypingForm(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		s.see("thread:1", presence.User{ID: "alice", Name: "Alice <b>"}, presence.User{ID: "bob", Name: "Bob"}, user("carol"))
		line := func(visitor presence.User, from ...presence.UserID) string {
			widgets := newWidgets(s, nil, s.tracker, s.cfg)
			widgets.StandingFrom(func(topic presence.Topic) []presence.Signal {
				var all []presence.Signal
				for _, id := range from {
					all = append(all, presence.Signal{Type: "typing", V: 1, From: id, For: time.Second}, presence.Signal{Type: "other", From: "bob", For: time.Second})
				}
				return all
			})
			w := httptest.NewRecorder()
			r := httptest.NewRequest(http.MethodGet, "/widget?topic=thread:1&form=typing", nil)
			widgets.Handler().ServeHTTP(w, r.WithContext(presence.ContextWithVisitor(r.Context(), presence.Visitor{User: visitor})))
			return strings.TrimSuffix(strings.TrimPrefix(w.Body.String(), `<p class="presence-typists" data-typing="thread:1">`), "</p>")
		}
		for _, tt := range []struct {
			visitor presence.User
			from    []presence.UserID
			want    string
		}{
			{guest, nil, ""},
			{guest, []presence.UserID{"alice"}, "<bdi>Alice &lt;b&gt;</bdi> is typing…"},
			{guest, []presence.UserID{"bob", "alice"}, "<bdi>Bob</bdi> and <bdi>Alice &lt;b&gt;</bdi> are typing…"},
			{guest, []presence.UserID{"bob", "alice", "carol"}, "Several people are typing…"},
			{user("bob"), []presence.UserID{"bob", "carol"}, "<bdi>carol</bdi> is typing…"},
			{guest, []presence.UserID{"eve"}, ""}, // whom the roster does not show
		} {
			if got := line(tt.visitor, tt.from...); got != tt.want {
				s.Errorf("%s, of %v: got %q, want %q", tt.visitor.ID, tt.from, got, tt.want)
			}
		}
	})
}

// What really stands is in that form, and what is over is not.
func TestTypingFormOfATracker(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		reader, err := s.tracker.Connect(context.Background(), track.ConnectOptions{Visitor: presence.Visitor{User: presence.User{ID: "bob", Name: "Bob"}}, Topics: []presence.Topic{"thread:1"}})
		if err != nil {
			s.Fatal(err)
		}
		defer reader.Close()
		time.Sleep(time.Second)
		if err := s.tracker.Signal("thread:1", presence.Signal{Type: "typing", From: "bob", For: 6 * time.Second}); err != nil {
			s.Fatal(err)
		}
		time.Sleep(time.Second)
		shows(s.T, body(t, s.get("GET", "/widget?topic=thread:1&form=typing")), "<bdi>Bob</bdi> is typing…")
		time.Sleep(6 * time.Second) // S5
		hides(s.T, body(t, s.get("GET", "/widget?topic=thread:1&form=typing")), "Bob")
	})
}

func TestOptionsOfSignals(t *testing.T) {
	for _, view := range []string{`{{typing "thread:1" "input"}}`, `{{typing "thread:1" "label" "x"}}`, `{{typing "inbox"}}`, `{{typing "feed:thread:1"}}`, `{{editors "people"}}`,
		`{{editors "edit:1:3" "revision" "3"}}`, `{{editors "edit:1:3" "saved" "text"}}`, `{{editors "edit/1"}}`} {
		bubble(t, templates.Config{}, func(s *site) {
			if _, err := s.render(view, user("alice")); err == nil {
				s.Errorf("%s: got no error", view)
			}
		})
	}
}

// The database of a site decides which type its revisions have.
func TestRevisionsOfAnyType(t *testing.T) {
	type version uint32
	for _, value := range []any{3, int8(3), int16(3), int32(3), int64(3), uint(3), uint8(3), uint16(3), uint32(3), uint64(3), version(3)} {
		bubble(t, templates.Config{}, func(s *site) {
			page := s.views("").Page(requestOf(user("bob")))
			shows(s.T, string(page.Editors("edit:1:3", "revision", value)), `data-revision="3"`)
			shows(s.T, string(page.WhosOnline("site", "max", value)), `max="3"`)
		})
	}
	bubble(t, templates.Config{}, func(s *site) {
		page := s.views("").Page(requestOf(user("bob")))
		shows(s.T, string(page.Editors("edit:1:3", "revision", int64(math.MaxInt64))), `data-revision="9223372036854775807"`)
		shows(s.T, string(page.Editors("edit:1:3", "revision", uint64(math.MaxUint64))), `data-revision="9223372036854775807"`)
		_, err := s.render(`{{editors "edit:1:3" "revision" 3.5}}`, user("bob"))
		if want := `the option "revision" of editors: 3.5 is a float64, and must be an integer`; err == nil || !strings.Contains(err.Error(), want) {
			s.Errorf("got the error %v, want %q in it", err, want)
		}
	})
}

var germanSignals = templates.Texts{Lang: "de", More: templates.Plural{Other: "und {n} weitere"}, Unknown: "Gerade nicht bekannt.", Status: templates.StatusTexts{Away: "abwesend"}, Signals: templates.SignalTexts{
	Typing: "{name} schreibt …", BothTyping: "{name} und {other} schreiben …", ManyTyping: "{n} Leute schreiben …",
	Editors: "Wer das bearbeitet", Editing: "Seit {time} bearbeitet das {name}", NoEditors: "Sonst bearbeitet das niemand.",
	NotKnown:   "Wer das sonst bearbeitet, ist gerade nicht bekannt.",
	CameToEdit: templates.Summary{Alone: "{name} bearbeitet das auch", Others: templates.Plural{Other: "{name} und {n} weitere bearbeiten das auch"}},
	LeftEdit:   templates.Summary{Alone: "{name} bearbeitet das nicht mehr", Others: templates.Plural{Other: "{name} und {n} weitere bearbeiten das nicht mehr"}},
	Saved:      "{name} hat eine neuere Fassung gespeichert. Ihre ist älter.", Next: "Kopieren Sie Ihren Text, bevor Sie sie laden.", Reload: "Die neuere Fassung laden",
}, Feeds: templates.FeedTexts{Somebody: "Jemand"}}

// All words can be in another language, also in another order.
func TestSignalsInGerman(t *testing.T) {
	bubble(t, templates.Config{Texts: germanSignals}, func(s *site) {
		s.editing(members...)
		got := s.page(`{{typing "thread:1"}}{{editors "edit:1:3"}}`, user("carol"))
		golden(t, "signals-german", got)
		shows(s.T, got, `Seit <time datetime="2000-01-01T00:00:00Z" title="2000-01-01 00:00 UTC">00:00 UTC</time> bearbeitet das <bdi>Alice Liddell</bdi>`)
		for _, english := range []string{" is ", " are ", "typing…", "Nobody", "Somebody", "saved a", "Copy", "Load", " more", "away<", "Who "} {
			hides(s.T, html.UnescapeString(got), english)
		}
	})
}

// T3: the pages of two tenants share no lock of the browser, also at one address, and the
// head does not say more than which build it is of.
func TestHeadOfATenant(t *testing.T) {
	bubble(t, templates.Config{App: `4.13.0"`}, func(s *site) {
		tag := func(tenant string) string {
			t.Helper()
			w := httptest.NewRecorder()
			r := requestOf(guest)
			r = r.WithContext(presence.ContextWithVisitor(r.Context(), presence.Visitor{Tenant: tenant}))
			if err := s.views(`{{presenceHead}}`).Execute(w, "page", nil, r); err != nil {
				s.Fatal(err)
			}
			page := html.UnescapeString(w.Body.String())
			shows(s.T, page, `"app":"4.13.0\""`)
			if match := regexp.MustCompile(`"tenant":"([0-9a-f]+)"`).FindStringSubmatch(page); match != nil {
				return match[1]
			}
			hides(s.T, page, `"tenant"`)
			return ""
		}
		if none, a, b := tag(""), tag("acme"), tag("globex"); none != "" || a == "" || b == "" || a == b {
			s.Errorf("got the tags %q, %q and %q, want none and two", none, a, b)
		}
	})
}

// What the site says is to be done is in place of the link.
func TestEditorsSaved(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		var b strings.Builder
		if err := s.views(`{{editors "edit:1:3" "saved" .}}`).Execute(&b, "page", template.HTML(`<a href="/diff">Compare</a>`), requestOf(me)); err != nil {
			s.Fatal(err)
		}
		shows(s.T, b.String(), `<p class="presence-newer"></p><a href="/diff">Compare</a></div>`)
		hides(s.T, b.String(), "Load the newer")
	})
}
