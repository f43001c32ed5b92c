package track_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

func TestParseTopic(t *testing.T) {
	for _, good := range []string{"site", "thread:42", "A-Z_a.z:0", "..", strings.Repeat("x", 128)} {
		if topic, err := presence.ParseTopic(good); err != nil || string(topic) != good {
			t.Errorf("ParseTopic(%q): got %q, %v, want it as it is", good, topic, err)
		}
	}
	for _, bad := range []string{"", strings.Repeat("x", 129), "../x", "a b", "a~b", "ä", "a\n", "{x}", "\x00"} {
		if _, err := presence.ParseTopic(bad); !errors.Is(err, presence.ErrInvalidTopic) {
			t.Errorf("ParseTopic(%q): got %v, want ErrInvalidTopic", bad, err)
		}
	}
	if got := presence.Topic("thread:42:x").Kind(); got != "thread" {
		t.Errorf("got kind %q, want thread", got)
	}
}

func TestUserValidate(t *testing.T) {
	for _, good := range []presence.User{
		{ID: "__proto__"},
		{ID: "Zoë 🙂"},
		{ID: "<script>alert(1)</script>"},
		{ID: presence.UserID(strings.Repeat("x", 128)), Name: strings.Repeat("🙂", 128)},
		{ID: "a", Data: json.RawMessage(`{"a":[1]}`), Status: presence.Invisible},
	} {
		if err := good.Validate(); err != nil {
			t.Errorf("%.40q: got %v, want nil", good.ID, err)
		}
	}
	for what, bad := range map[string]presence.User{
		"the id is empty":               {},
		"the id has 512 bytes":          {ID: presence.UserID(strings.Repeat("🙂", 128))},
		"control characters":            {ID: "a\x1fb"},
		"is not UTF-8 without control":  {ID: "ä\u0085"},
		"the id is not UTF-8":           {ID: "a\xff"},
		"the name is not UTF-8":         {ID: "a", Name: "\xff"},
		"the name is not UTF-8 without": {ID: "a", Name: "Alice\r\nX-Evil: 1"},
		"the avatar is not UTF-8":       {ID: "a", Avatar: "/a.png\x00"},
		"the url is not UTF-8":          {ID: "a", URL: "/a\xff"},
		"more than 4096 bytes":          {ID: "a", URL: strings.Repeat("x", 4097)},
		"the data is not JSON":          {ID: "a", Data: json.RawMessage(`{`)},
		"online, away, busy or invisi":  {ID: "a", Status: "asleep"},
	} {
		if err := bad.Validate(); !errors.Is(err, presence.ErrInvalidUser) || !strings.Contains(err.Error(), what) {
			t.Errorf("got %v, want ErrInvalidUser that says %q", err, what)
		}
	}
}

func TestMemberJSON(t *testing.T) {
	m := presence.Member{
		User:  presence.User{ID: "u", Avatar: "/a.png", URL: "/u", Data: json.RawMessage("{\n\"x\": 1 }"), Status: presence.Busy},
		Since: time.Date(2026, 11, 21, 8, 57, 0, 0, time.FixedZone("", 7200)),
	}
	got, err := json.Marshal(m)
	noError(t, err)
	if want := `{"name":"u","status":"busy","since":"2026-11-21T06:57:00.000Z","avatar":"/a.png","url":"/u","data":{"x":1}}`; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestConfig(t *testing.T) {
	_, err := track.New(memstore.New(), track.Config{
		Node: "a b", TTL: time.Millisecond, Age: -1, LogSize: -1, LastSeenKeep: -5,
	})
	if !errors.Is(err, presence.ErrInvalidConfig) {
		t.Fatalf("got %v, want ErrInvalidConfig", err)
	}
	for _, field := range []string{"Node", "TTL", "Age", "LogSize", "LastSeenKeep"} {
		if !strings.Contains(err.Error(), field) {
			t.Errorf("got %q, want it to name %s", err, field)
		}
	}
}

// Rule 5: the "-" is the stores' word. Others see the status without it, and nobody can
// choose it.
func TestUnseenStatus(t *testing.T) {
	for _, test := range []struct {
		status, base, shown presence.Status
		unseen              bool
	}{
		{presence.Online, presence.Online, presence.Online, false},
		{"online-", presence.Online, presence.Online, true},
		{"busy-", presence.Busy, presence.Busy, true},
		{presence.Idle, presence.Idle, presence.Away, false},
		{"idle-", presence.Idle, presence.Away, true},
		{"invisible-", presence.Invisible, presence.Invisible, true},
		{"", "", "", false},
	} {
		if b, s, u := test.status.Base(), test.status.Shown(), test.status.Unseen(); b != test.base || s != test.shown || u != test.unseen {
			t.Errorf("%q: got base %q, shown %q, unseen %v, want %q, %q, %v", test.status, b, s, u, test.base, test.shown, test.unseen)
		}
	}
	for _, s := range []string{"online-", "invisible-", "idle-", "-"} {
		if got, err := presence.ParseStatus(s); !errors.Is(err, presence.ErrInvalidStatus) {
			t.Errorf("ParseStatus(%q): got %q, %v, want ErrInvalidStatus", s, got, err)
		}
	}
}
