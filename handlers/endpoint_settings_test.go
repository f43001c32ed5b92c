package handlers_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/presencetest"
)

// settings are those of a user, as an answer has them.
type settings struct{ Status, Text, Until, Online, Seen string }

// settingsOf returns what GET /settings answers.
func (s *site) settingsOf(user string) (got settings) {
	s.t.Helper()
	body := s.wantStatus(request{path: "settings", user: user}, 200)
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		s.t.Fatalf("the settings %s are no JSON: %v", body, err)
	}
	return got
}

func (s *site) wantSettings(user string, want settings) {
	s.t.Helper()
	if got := s.settingsOf(user); got != want {
		s.t.Errorf("got the settings %+v, want %+v", got, want)
	}
}

// PUT /settings replaces what it names, and nothing else.
func TestSettings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newPeopleSite(t, setup{handlers: handlers.Config{MaxRate: -1}})
		if got, want := s.wantStatus(request{path: "settings", user: "alice"}, 200), `{"status":"online","text":"","online":"everyone","seen":"everyone"}`; got != want {
			t.Errorf("who has chosen nothing: got %s, want %s", got, want)
		}
		in := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(time.RFC3339) }
		for _, step := range []struct {
			body string
			want settings
		}{
			{`{"online":"contacts"}`, settings{"online", "", "", "contacts", "contacts"}},
			{`{"seen":"nobody","text":"in a call"}`, settings{"online", "in a call", "", "contacts", "nobody"}},
			{`{"status":"busy"}`, settings{"busy", "in a call", "", "contacts", "nobody"}},
			{`{"for":3600}`, settings{"busy", "in a call", in(time.Hour), "contacts", "nobody"}},
			{`{"text":"at lunch"}`, settings{"busy", "at lunch", in(time.Hour), "contacts", "nobody"}},
			{`{}`, settings{"busy", "at lunch", in(time.Hour), "contacts", "nobody"}},
			{`{"status":"invisible"}`, settings{"invisible", "", "", "contacts", "nobody"}}, // an end belongs to what it came with
			{`{"until":"` + in(2*time.Hour) + `"}`, settings{"invisible", "", in(2 * time.Hour), "contacts", "nobody"}},
			{`{"for":0}`, settings{"invisible", "", "", "contacts", "nobody"}},
			{`{"status":"away","text":"` + strings.Repeat("é", 50) + `","for":31536000,"online":"everyone","seen":"everyone"}`,
				settings{"away", strings.Repeat("é", 50), in(365 * 24 * time.Hour), "everyone", "everyone"}},
			{`{"status":"online","text":""}`, settings{"online", "", "", "everyone", "everyone"}},
			{`{"online":"nobody"}`, settings{"online", "", "", "nobody", "nobody"}},
			{`{"online":"everyone"}`, settings{"online", "", "", "everyone", "everyone"}},
		} {
			s.wantStatus(put("settings", "alice", step.body), 204)
			got := s.settingsOf("alice")
			if end, err := time.Parse(time.RFC3339, got.Until); err == nil {
				got.Until = end.Round(time.Second).Format(time.RFC3339) // a change takes milliseconds
			}
			if got != step.want {
				t.Errorf("got the settings %+v, want %+v", got, step.want)
			}
			if t.Failed() {
				t.Fatalf("after %s", step.body)
			}
		}
		s.wantSettings("bob", settings{"online", "", "", "everyone", "everyone"})
	})
}

// A status with an end ends, and what it ends with does not come back.
func TestSettingsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newPeopleSite(t, setup{})
		s.wantStatus(put("settings", "alice", `{"status":"busy","text":"in a call","for":60}`), 204)
		time.Sleep(time.Minute)
		s.wantSettings("alice", settings{"online", "", "", "everyone", "everyone"})
		s.wantStatus(put("settings", "alice", `{"for":60}`), 204)
		if got := s.settingsOf("alice"); got.Status != "online" || got.Text != "" {
			t.Errorf("got the status %q, %q back, want it ended", got.Status, got.Text)
		}
	})
}

// PUT /status is one status with its text and its end.
func TestStatusWithText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newPeopleSite(t, setup{handlers: handlers.Config{MaxRate: -1}})
		s.wantStatus(put("settings", "alice", `{"seen":"contacts"}`), 204)
		s.wantStatus(put("status", "alice", `{"status":"busy","text":"in a call","for":3600}`), 204)
		got := s.settingsOf("alice")
		if end, err := time.Parse(time.RFC3339, got.Until); err != nil || time.Until(end).Round(time.Second) != time.Hour || got.Text != "in a call" || got.Status != "busy" {
			t.Errorf("got %+v (%v), want busy, in a call, for an hour", got, err)
		}
		s.wantStatus(put("status", "alice", `{"status":"away"}`), 204)
		s.wantSettings("alice", settings{"away", "", "", "everyone", "contacts"})
		c := s.talk(request{path: "ws?observe=1", user: "alice"})
		c.started(1).feed()
		c.say(`{"type":"status","status":"busy","text":"in a call","for":0}`)
		time.Sleep(time.Second)
		s.wantSettings("alice", settings{"busy", "in a call", "", "everyone", "contacts"})
		noError(t, s.handler.SetStatus(t.Context(), "alice", presence.Online))
		s.wantSettings("alice", settings{"online", "", "", "everyone", "contacts"})
		for _, body := range []string{
			`{"status":"busy","for":-1}`, `{"status":"busy","for":31536001}`, `{"status":"busy","for":"60"}`, `{"status":"busy","for":null}`, `{"status":"busy","for":1.5}`,
			`{"status":"busy","text":7}`, `{"status":"busy","text":null}`, `{"status":"busy","text":"a\u0000"}`, `{"status":"busy","text":"` + strings.Repeat("x", 101) + `"}`,
			`{"status":"asleep","text":"x"}`, `{"status":"","for":60}`, `{"text":"x"}`, `{"for":60}`, `{"status":null,"for":60}`,
		} {
			s.wantStatus(put("status", "alice", body), 400)
		}
		s.wantSettings("alice", settings{"online", "", "", "everyone", "contacts"})
	})
}

// Each fault of the settings has its answer, which names the word. Nothing changes.
func TestBadSettings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newPeopleSite(t, setup{handlers: handlers.Config{MaxRate: -1}})
		before := s.settingsOf("alice")
		for body, word := range map[string]string{
			``: "", `null`: "", `[]`: "", `"x"`: "", `7`: "", `{`: "", `{"online":"nobody"}{}`: "", `online=nobody`: "", "{\"text\":\"\xff\"}": "",
			`{"online":"friends"}`:  "friends",
			`{"online":"Everyone"}`: "Everyone",
			`{"online":""}`:         "online",
			`{"online":null}`:       "online",
			`{"online":7}`:          "online",
			`{"online":["nobody"]}`: "online",
			`{"seen":"all"}`:        "all",
			`{"seen":null}`:         "seen",
			`{"seen":true}`:         "seen",
			`{"status":"asleep"}`:   "asleep",
			`{"status":"idle"}`:     "idle",
			`{"status":"online-"}`:  "online-",
			`{"status":""}`:         "status",
			`{"status":null}`:       "status",
			`{"online":"` + strings.Repeat("x", 3000) + `"}`: "xxx",
			`{"text":null}`:      "text",
			`{"text":7}`:         "text",
			`{"text":"a\nb"}`:    "text",
			`{"text":"a\u0000"}`: "text",
			`{"text":"a\u007f"}`: "text",
			`{"text":"` + strings.Repeat("x", 101) + `"}`: "text",
			`{"text":"` + strings.Repeat("é", 51) + `"}`:  "text",
			`{"for":-1}`:                                "for",
			`{"for":31536001}`:                          "for",
			`{"for":99999999999999999999}`:              "for",
			`{"for":1.5}`:                               "for",
			`{"for":"60"}`:                              "for",
			`{"for":null}`:                              "for",
			`{"until":null}`:                            "until",
			`{"until":""}`:                              "until",
			`{"until":"tomorrow"}`:                      "until",
			`{"until":60}`:                              "until",
			`{"until":"1999-01-01T00:00:00Z"}`:          "until",
			`{"until":"9999-01-01T00:00:00Z"}`:          "until",
			`{"for":60,"until":"2000-01-01T00:30:00Z"}`: "until",
			`{"onlin":"nobody"}`:                        "onlin",
			`{"Online":"nobody"}`:                       "Online",
			`{"except":true}`:                           "except",
			`{"` + strings.Repeat("x", 3000) + `":1}`:   "xxx",
			`{"online":"nobody","seen":"all"}`:          "all",
			`{"status":"busy","online":"nobody","text":"a\u0001"}`: "text",
		} {
			got := detail(t, s.wantStatus(put("settings", "alice", body), 400))
			if !strings.Contains(got, word) || len(got) > 250 {
				t.Errorf("%.60s: got %s, want it short, and to name %s", body, got, word)
			}
		}
		if got := s.settingsOf("alice"); got != before {
			t.Errorf("got %+v after bad requests, want %+v", got, before)
		}
		s.wantStatus(request{path: "settings"}, 401)
		s.wantStatus(put("settings", "", `{"online":"nobody"}`), 401)
		s.wantStatus(put("settings", "alice", `{"online":"nobody"}`+strings.Repeat(" ", 4<<10)), 413)
		foreign := put("settings", "alice", `{"online":"nobody"}`)
		foreign.header = map[string]string{"Sec-Fetch-Site": "cross-site"}
		s.wantStatus(foreign, 403)
		s.wantStatus(request{method: "POST", path: "settings", user: "alice", body: `{"online":"nobody"}`}, 405)
	})
}

// While the Directory is out, settings are answered 503, and nothing has changed.
func TestSettingsWithoutTheDirectory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, directory := newPeopleSite(t, setup{handlers: handlers.Config{MaxRate: -1}})
		s.wantStatus(put("settings", "alice", `{"online":"contacts","text":"x"}`), 204)
		before := s.settingsOf("alice")
		directory.Fail(errDirectory)
		s.wantStatus(put("settings", "alice", `{"online":"nobody"}`), 503)
		s.wantStatus(put("status", "alice", `{"status":"busy"}`), 503)
		s.wantStatus(put("status", "alice", `{"status":"busy","text":"y","for":60}`), 503)
		s.wantStatus(request{path: "settings", user: "alice"}, 503)
		s.wantStatus(put("settings", "alice", `{"online":"all"}`), 400)
		if err := s.handler.ChangeSettings(t.Context(), "alice", to(presence.Settings{})); !errors.Is(err, presence.ErrDirectoryOut) {
			t.Errorf("got %v, want ErrDirectoryOut", err)
		}
		directory.Fail(nil)
		if got := s.settingsOf("alice"); got != before {
			t.Errorf("got %+v after the outage, want %+v", got, before)
		}
		s.wantStatus(put("settings", "alice", `{"online":"nobody"}`), 204)
	})
}

// Statuses share one rate, however they come. Who may see the user has another: nobody waits
// for the right to hide.
func TestSettingsRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newPeopleSite(t, setup{handlers: handlers.Config{MaxRate: 39}}) // leaves room for requests, and one status a second
		s.wantStatus(put("settings", "alice", `{"status":"busy"}`), 204)
		s.wantStatus(put("settings", "alice", `{"text":"x"}`), 204)
		s.wantStatus(put("settings", "alice", `{"for":60}`), 204)
		s.wantStatus(put("status", "alice", `{"status":"away","text":"y"}`), 204)
		if err := s.handler.ChangeSettings(t.Context(), "alice", to(presence.Settings{Status: presence.Busy})); err != nil {
			t.Error(err)
		}
		limited := s.handler.Stats().Limited
		s.wantStatus(put("settings", "alice", `{"status":"online"}`), 429)
		s.wantStatus(put("status", "alice", `{"status":"online"}`), 429)
		if err := s.handler.ChangeSettings(t.Context(), "alice", to(presence.Settings{})); !errors.Is(err, handlers.ErrTooManyStatuses) {
			t.Errorf("got %v, want ErrTooManyStatuses", err)
		}
		if got := s.handler.Stats().Limited - limited; got != 3 {
			t.Errorf("got %d counted as limited, want 3", got)
		}
		for i := range 20 {
			s.wantStatus(put("settings", "alice", fmt.Sprintf(`{"online":%q}`, []string{"nobody", "everyone"}[i%2])), 204)
		}
		s.wantStatus(put("settings", "alice", `{"online":"nobody"}`), 429)
		s.wantStatus(put("settings", "bob", `{"status":"busy","online":"nobody"}`), 204)
	})
}

// Two changes of a user at one time both count.
func TestSettingsAtOneTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newPeopleSite(t, setup{
			handlers:  handlers.Config{MaxRate: -1},
			directory: func(d *presencetest.MemoryDirectory) presence.Directory { return slowDirectory{d} },
		})
		var all sync.WaitGroup
		for range 5 {
			for _, body := range []string{`{"online":"contacts"}`, `{"seen":"nobody"}`, `{"text":"x"}`, `{"status":"away"}`} {
				all.Go(func() { s.wantStatus(put("settings", "alice", body), 204) })
			}
		}
		all.Wait()
		s.wantSettings("alice", settings{"away", "x", "", "contacts", "nobody"})
	})
}

// slowDirectory takes a while to answer.
type slowDirectory struct{ *presencetest.MemoryDirectory }

func (d slowDirectory) Settings(ctx context.Context, users ...presence.UserID) ([]presence.Settings, error) {
	all, err := d.MemoryDirectory.Settings(ctx, users...)
	time.Sleep(10 * time.Millisecond)
	return all, err
}

// to returns a change of settings to s, for ChangeSettings.
func to(s presence.Settings) func(*presence.Settings) error {
	return func(now *presence.Settings) error {
		*now = s
		return nil
	}
}

func TestChangeSettings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		off := newSite(t, setup{})
		if err := off.handler.ChangeSettings(t.Context(), "alice", to(presence.Settings{})); !errors.Is(err, presence.ErrNoDirectory) {
			t.Errorf("without a Directory: got %v, want ErrNoDirectory", err)
		}
		s, _ := newPeopleSite(t, setup{})
		for want, call := range map[error]func() error{
			presence.ErrInvalidUser: func() error { return s.handler.ChangeSettings(t.Context(), "", to(presence.Settings{})) },
			presence.ErrInvalidSettings: func() error {
				return s.handler.ChangeSettings(t.Context(), "alice", to(presence.Settings{Online: "all"}))
			},
		} {
			if err := call(); !errors.Is(err, want) {
				t.Errorf("got %v, want %v", err, want)
			}
		}
		if err := s.handler.ChangeSettings(t.Context(), "alice", to(presence.Settings{Text: "x", Seen: presence.Nobody})); err != nil {
			t.Error(err)
		}
		s.wantSettings("alice", settings{"online", "x", "", "everyone", "nobody"})
		err := s.handler.ChangeSettings(t.Context(), "alice", func(s *presence.Settings) error {
			s.Online = presence.Contacts
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		s.wantSettings("alice", settings{"online", "x", "", "contacts", "nobody"})
		err = s.handler.ChangeSettings(t.Context(), "alice", func(s *presence.Settings) error {
			s.Online = presence.Nobody
			return errDirectory
		})
		if !errors.Is(err, errDirectory) {
			t.Errorf("got %v, want the error of the change", err)
		}
		s.wantSettings("alice", settings{"online", "x", "", "contacts", "nobody"})
	})
}
