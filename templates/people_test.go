package templates_test

import (
	"context"
	"errors"
	"html/template"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
	"github.com/rollcall-go/rollcall/templates"
)

// somePeople is a source of people that a test makes up.
type somePeople struct {
	people   []presence.Person
	sessions []presence.Session
	settings presence.Settings
	err      error
	wait     time.Duration
	asked    []string
}

func (s *somePeople) ask(ctx context.Context, what string) error {
	s.asked = append(s.asked, what)
	select {
	case <-time.After(s.wait):
		return s.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *somePeople) Find(ctx context.Context, viewer presence.UserID, ids ...presence.UserID) ([]presence.Person, error) {
	var all []presence.Person
	for _, id := range ids {
		person := presence.Person{ID: id}
		for _, known := range s.people {
			if known.ID == id {
				person = known
			}
		}
		all = append(all, person)
	}
	return all, s.ask(ctx, "people of "+string(viewer))
}

func (s *somePeople) Contacts(ctx context.Context, user presence.UserID, most int) ([]presence.Person, error) {
	return s.people[:min(most, len(s.people))], s.ask(ctx, "contacts of "+string(user))
}

func (s *somePeople) Sessions(ctx context.Context, user presence.UserID) ([]presence.Session, error) {
	return s.sessions, s.ask(ctx, "sessions of "+string(user))
}

func (s *somePeople) Settings(ctx context.Context, user presence.UserID) (presence.Settings, error) {
	return s.settings, s.ask(ctx, "settings of "+string(user))
}

// withPeople runs fn with a site that has a Directory.
func withPeople(t *testing.T, cfg templates.Config, fn func(s *site)) {
	t.Helper()
	bubbleOf(t, track.Config{Directory: presencetest.NewMemoryDirectory()}, cfg, fn)
}

// pageOf returns a view as a visitor gets it, with people of a source.
func (s *site) pageOf(from templates.PeopleSource, view string, r *http.Request) string {
	s.Helper()
	widgets := s.views(view)
	widgets.PeopleFrom(from)
	var b strings.Builder
	if err := widgets.Execute(&b, "page", nil, r); err != nil {
		s.Fatal(err)
	}
	return b.String()
}

func at(ago time.Duration) time.Time { return time.Now().Add(-ago) }

// shows fails the test if a page does not have all the texts.
func shows(t *testing.T, page string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(page, text) {
			t.Errorf("got\n%s\nwant %q in it", page, text)
		}
	}
}

// hides fails the test if a page has one of the texts.
func hides(t *testing.T, page string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if strings.Contains(page, text) {
			t.Errorf("got\n%s\nwant no %q in it", page, text)
		}
	}
}

func TestContacts(t *testing.T) {
	cfg := templates.Config{Users: func(_ context.Context, ids []presence.UserID) ([]presence.User, error) {
		all := make([]presence.User, len(ids))
		for i, id := range ids {
			all[i] = presence.User{ID: id, Name: "The " + string(id), URL: "/people/" + string(id), Avatar: "javascript:alert(1)"}
		}
		return all, nil
	}}
	withPeople(t, cfg, func(s *site) {
		from := &somePeople{people: []presence.Person{
			{ID: "eve", LastSeen: at(2*time.Hour + time.Minute)},
			{ID: "bob", Name: "Bob <b>", Online: true, Status: presence.Busy, Text: "in a <call>", On: []string{"mobile"}},
			{ID: "tom", Name: "Tom", Online: true, Status: presence.Idle, On: []string{"tablet"}},
			{ID: "ann", Name: "Ann", Online: true, Status: presence.Online, On: []string{"desktop", "mobile"}},
			{ID: "zoe"},
		}}
		got := s.pageOf(from, `{{contacts}}`, requestOf(user("alice")))
		shows(s.T, got, `<presence-part class="presence-contacts" src="/presence" lang="en" data-people="contacts" data-words="`, ` me="alice"`, `data-live="off"`,
			`<section class="presence not-prose" aria-label="Contacts">`,
			`<data value="3" data-count="online">3</data> <span>contacts online</span>`,
			`<li data-person="eve" data-status="offline">`, `<a class="presence-link" href="/people/eve"><bdi>The eve</bdi></a>`,
			`<time datetime="1999-12-31T21:59:00Z" title="1999-12-31 21:59 UTC">last seen 2 hours ago</time>`,
			`<li data-person="bob" data-status="busy">`, `<bdi>Bob &lt;b&gt;</bdi>`, `<span>busy</span> <span title="in a &lt;call&gt;"><bdi>in a &lt;call&gt;</bdi></span> <span>on a phone</span> <time></time>`,
			`<li data-person="tom" data-status="away">`, `<span>away</span> <span title=""><bdi></bdi></span> <span>on a tablet</span>`,
			`<span>online</span> <span title=""><bdi></bdi></span> <span></span>`,
			`<li data-person="zoe" data-status="offline">`, `<span>offline</span> <span title=""><bdi></bdi></span> <span></span> <time></time>`)
		hides(s.T, got, "javascript:", "<b>")
		if a, b := strings.Index(got, `"eve"`), strings.Index(got, `"bob"`); a > b {
			s.Errorf("got bob at %d and eve at %d, want the dearest first, whoever is online", b, a)
		}
		few := s.pageOf(from, `{{contacts "max" 2 "label" "Friends"}}`, requestOf(user("alice")))
		shows(s.T, few, `aria-label="Friends"`, `data-person="bob"`, `<data value="1" data-count="online">1</data> <span>contact online</span>`)
		hides(s.T, few, `data-person="tom"`)

		shows(s.T, s.pageOf(&somePeople{}, `{{contacts}}`, requestOf(user("alice"))), "There is nobody on your list yet.")
		out := s.pageOf(&somePeople{err: errOut}, `{{contacts}}`, requestOf(user("alice")))
		shows(s.T, out, `<p class="presence-unknown">Not known right now.</p>`)
		hides(s.T, out, "<ul")
		if got := s.pageOf(from, `a{{contacts}}b`, requestOf(guest)); got != "ab" {
			s.Errorf("a guest's: got %q, want nothing", got)
		}
	})
}

// Names come from the site, and from presence for who is online. The site is asked about
// everybody: nothing in the call says who is hidden.
func TestContactsAskTheSiteAboutAll(t *testing.T) {
	for name, answer := range map[string]func(ids []presence.UserID) ([]presence.User, error){
		"error": func([]presence.UserID) ([]presence.User, error) { return nil, errors.New("no") },
		"short": func([]presence.UserID) ([]presence.User, error) { return make([]presence.User, 1), nil },
	} {
		var asked []presence.UserID
		cfg := templates.Config{Users: func(_ context.Context, ids []presence.UserID) ([]presence.User, error) {
			asked = append(asked, ids...)
			return answer(ids)
		}}
		withPeople(t, cfg, func(s *site) {
			got := s.pageOf(&somePeople{people: []presence.Person{{ID: "bob", Name: "Bob", Online: true}, {ID: "eve"}}}, `{{contacts}}`, requestOf(user("alice")))
			shows(s.T, got, "<bdi>Bob</bdi>", "<bdi>eve</bdi>")
			if len(asked) != 2 {
				s.Errorf("%s: the site was asked about %v, want bob and eve", name, asked)
			}
		})
	}
}

func TestPerson(t *testing.T) {
	withPeople(t, templates.Config{}, func(s *site) {
		from := &somePeople{people: []presence.Person{{ID: "bob", Name: "Bob", Online: true, Status: presence.Busy, Text: "in a call", On: []string{"mobile"}}, {ID: "eve", LastSeen: at(time.Hour)}}}
		got := s.pageOf(from, `{{person "bob"}}`, requestOf(user("alice")))
		shows(s.T, got, `<presence-part class="presence-profile" src="/presence" data-people="person" data-words="`, ` data-person="bob" data-status="busy" me="alice">`,
			`<span class="presence-dot" data-status="busy" aria-hidden="true"></span>`, `<span>busy</span> <span title="in a call"><bdi>in a call</bdi></span> <span>on a phone</span>`)
		shows(s.T, s.pageOf(from, `{{person "eve"}}`, requestOf(guest)), `<span class="presence-profile" data-person="eve" data-status="offline">`, "last seen 1 hour ago")
		from.asked = nil
		s.pageOf(from, `{{person "bob"}}{{person "bob"}}{{person "eve"}}`, requestOf(user("alice")))
		if got, want := strings.Join(from.asked, ", "), "people of alice, people of alice"; got != want {
			s.Errorf("a page with bob twice and eve asked %q, want %q", got, want)
		}
		if _, err := s.render(`{{person ""}}`, guest); err == nil {
			s.Error("got no error for an invalid id")
		}
	})
}

// A site that cannot end a session shows no form for it.
func TestSessionsWithoutEnd(t *testing.T) {
	withPeople(t, templates.Config{}, func(s *site) {
		from := &somePeople{sessions: []presence.Session{{Device: presence.Device{ID: "d:1", Kind: "desktop", Label: "Firefox on Linux"}, Since: at(time.Hour)}}}
		got := s.pageOf(from, `{{sessions}}`, requestOf(user("alice")))
		shows(s.T, got, `<bdi>Firefox on Linux</bdi>`)
		if strings.Contains(got, "<form") {
			s.Errorf("got %s, want no form", got)
		}
	})
}

func TestSessions(t *testing.T) {
	withPeople(t, templates.Config{EndSessionURL: "/account/{device}?end=1"}, func(s *site) {
		from := &somePeople{sessions: []presence.Session{
			{Device: presence.Device{ID: "d:1", Kind: "desktop", Label: "Firefox on Linux"}, Since: at(time.Hour), Connections: 2},
			{Device: presence.Device{ID: "d.2", Kind: "mobile", Label: "Safari on iOS"}, Since: at(48 * time.Hour)},
			{Connections: 1},
		}}
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r = r.WithContext(presence.ContextWithVisitor(r.Context(), presence.Visitor{User: user("alice"), Device: presence.Device{ID: "d.2"}}))
		widgets := s.views(`unused`)
		widgets.PeopleFrom(from)
		got := string(widgets.Page(r).Sessions("fields", template.HTML(`<input type="hidden" name="csrf" value="x">`)))
		shows(s.T, got, `aria-label="Your devices"`, `<li data-session="d:1" data-kind="desktop">`, `<bdi>Firefox on Linux</bdi> <span class="presence-note">`,
			`<span>2 connections</span> <span>since <time datetime="1999-12-31T23:00:00Z" title="1999-12-31 23:00 UTC">23:00 UTC</time></span>`,
			`<form method="post" action="/account/d:1?end=1"><input type="hidden" name="csrf" value="x"><input type="hidden" name="back" value="/"><input type="hidden" name="me" value="alice"><button aria-label="End session: Firefox on Linux">End session</button></form>`,
			`<bdi>Safari on iOS</bdi> <b class="presence-current">this device</b>`, `1999-12-30</time>`,
			`<bdi>Unknown device</bdi> <span class="presence-note"><span>1 connection</span> </span></span></li>`)
		if n := strings.Count(got, "<form"); n != 2 {
			s.Errorf("got %d forms, want 2: nothing names a device without an id", n)
		}
		if n := strings.Count(got, "this device"); n != 1 {
			s.Errorf("got %d devices that are this one, want 1", n)
		}
		from.err = errOut
		shows(s.T, string(widgets.Page(r).Sessions()), "Not known right now.")
		from.err, from.sessions = nil, from.sessions[:1] // the page view of d.2 is not recorded yet
		shows(s.T, string(widgets.Page(r).Sessions()), `<li data-session="d.2" data-kind=""><span class="presence-who"><bdi>Unknown device</bdi> <b class="presence-current">`, `data-session="d:1"`)
		from.sessions = nil
		r = requestOf(user("alice"))
		shows(s.T, string(widgets.Page(r).Sessions()), "You are online from no device.")
	})
}

func TestSettings(t *testing.T) {
	withPeople(t, templates.Config{SettingsURL: "/account"}, func(s *site) {
		from := &somePeople{settings: presence.Settings{Status: presence.Busy, Text: `say "hi"`, Until: time.Now().Add(90 * time.Minute), Online: presence.Contacts}}
		r := requestOf(user("alice"))
		got := s.pageOf(from, `{{settings}}`, r)
		shows(s.T, got, `<form class="presence presence-settings not-prose" method="post" action="/account" aria-label="Who sees you">`,
			`<input type="radio" name="status" value="busy" checked> busy`, `<input type="radio" name="status" value="invisible"> invisible`,
			`maxlength="100"`, `value="say &#34;hi&#34;"`,
			`<option value="5400" selected>at 01:30 UTC</option>`, `<option value="">not by itself</option>`, `<option value="1800">in 30 minutes</option>`, `<option value="86400">in 1 day</option>`,
			`<input type="radio" name="online" value="contacts" checked> people on my list`,
			`<input type="radio" name="seen" value="contacts" checked>`) // never wider than online
		hides(s.T, got, "presence-error")
		shows(s.T, s.pageOf(&somePeople{}, `{{settings}}`, r), `value="online" checked`, `<option value="" selected>`, `name="online" value="everyone" checked`, `name="seen" value="everyone" checked`)
		// While the settings are not known, a form would replace them.
		out := s.pageOf(&somePeople{err: errOut}, `{{settings}}`, r)
		shows(s.T, out, "Not known right now.")
		hides(s.T, out, "<form")
		if got := s.pageOf(from, `{{settings}}`, requestOf(guest)); got != "" {
			s.Errorf("a guest's: got %q, want nothing", got)
		}
	})
}

// A form that was refused comes back as the visitor had filled it in.
func TestSettingsAfterARefusal(t *testing.T) {
	withPeople(t, templates.Config{}, func(s *site) {
		sent := url.Values{"status": {"away"}, "text": {"a <long> text"}, "for": {"3600"}, "online": {"nobody"}, "seen": {"bogus"}}
		r := httptest.NewRequest(http.MethodPost, "/settings", strings.NewReader(sent.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if err := r.ParseForm(); err != nil {
			s.Fatal(err)
		}
		r = r.WithContext(presence.ContextWithVisitor(r.Context(), presence.Visitor{User: user("alice")}))
		got := s.pageOf(&somePeople{settings: presence.Settings{Status: presence.Busy}}, `{{settings "error" "The text is too long."}}`, r)
		shows(s.T, got, `<p class="presence-error" role="alert">The text is too long.</p>`, `value="away" checked`, `value="a &lt;long&gt; text"`,
			`<option value="3600" selected>`, `name="online" value="nobody" checked`)
		hides(s.T, got, "bogus", `value="busy" checked`, `<option value="" selected`)
	})
}

// A template that shows people on a site without a Directory leaves them out, and says so.
func TestPeopleWithoutADirectory(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		if got := s.page(`a{{contacts}}{{person "bob"}}{{sessions}}{{settings}}b`, user("alice")); got != "ab" {
			s.Errorf("got %q, want nothing between a and b", got)
		}
		hides(s.T, s.page(`{{presenceHead}}`, user("alice")), "data-people")
	})
	var log strings.Builder
	tracker, err := track.New(memstore.New(), track.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	noError(t, err)
	defer tracker.Close(t.Context())
	newWidgets(t, nil, tracker, templates.Config{}).Page(requestOf(user("alice"))).Contacts()
	if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "need a track.Config.Directory") {
		t.Errorf("got the log %q, want a line that says why", got)
	}
}

// The page of a signed-in visitor tells the script that there are people.
func TestHeadSaysThatThereArePeople(t *testing.T) {
	withPeople(t, templates.Config{}, func(s *site) {
		shows(s.T, s.page(`{{presenceHead}}`, user("alice")), `&#34;people&#34;:&#34;[data-people],`)
		shows(s.T, s.page(`{{presenceHead}}`, guest), `&#34;people&#34;:&#34;online-dot,last-seen,[data-feed]&#34;`)
	})
}

// A Directory that hangs takes no more than a page's patience, half a second where the page is
// about the visitor's own lists, and does not keep pages from
// waiting for the store.
func TestPagesDoNotWaitForPeopleInVain(t *testing.T) {
	withPeople(t, templates.Config{}, func(s *site) {
		views := s.views(`{{contacts}}{{sessions}}{{settings}}{{person "bob"}}{{whosOnline .}}`)
		views.PeopleFrom(&somePeople{wait: time.Hour})
		r := requestOf(user("alice"))
		for i, want := range []time.Duration{550, 10, 10} {
			s.store.Break(presencetest.Fault{Delay: 10 * time.Millisecond}, presencetest.CallSnapshot)
			began := time.Now()
			var b strings.Builder
			if err := views.Execute(&b, "page", []string{"thread:1", "thread:2", "thread:3"}[i], r); err != nil {
				s.Fatal(err)
			}
			if got := time.Since(began); got != want*time.Millisecond {
				s.Errorf("page %d took %v, want %v", i, got, want*time.Millisecond)
			}
		}
	})
}

func TestConfigOfPeople(t *testing.T) {
	for _, cfg := range []templates.Config{{SettingsURL: "javascript:x"}, {EndSessionURL: "/end"}, {EndSessionURL: "data:{device}"}} {
		bubble(t, templates.Config{}, func(s *site) {
			if _, err := templates.New(nil, s.tracker, cfg); err == nil {
				s.Errorf("%+v: got no error", cfg)
			}
		})
	}
	for _, view := range []string{`{{contacts "max"}}`, `{{contacts "max" "5"}}`, `{{contacts "fields" 1}}`, `{{sessions "fields" "text"}}`, `{{settings "max" 1}}`} {
		withPeople(t, templates.Config{}, func(s *site) {
			if _, err := s.render(view, user("alice")); err == nil {
				s.Errorf("%s: got no error", view)
			}
		})
	}
}

// Only a site with a Directory has the rules for people in its style sheet.
func TestStyleOfPeople(t *testing.T) {
	const rule = "\n.presence-people > li,"
	style := func(cfg track.Config) (css string) {
		bubbleOf(t, cfg, templates.Config{}, func(s *site) { css = s.style() })
		return css
	}
	without, with := style(track.Config{}), style(track.Config{Directory: presencetest.NewMemoryDirectory()})
	if strings.Contains(without, rule) {
		t.Error("a site without people has the rules for people")
	}
	if !strings.HasPrefix(with, strings.TrimSuffix(without, "}\n")) || !strings.Contains(with, rule) {
		t.Error("a site with people has not all the rules, or not those for people last")
	}
}
