package track

import (
	"encoding/base64"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/internal/golden"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

var goldenTime = time.Date(2026, 11, 22, 10, 0, 0, 123e6, time.UTC)

// What nodes tell each other, and pages keep, is as it was in the version that wrote the golden
// file, and can be read. See package golden.
func TestGoldenForms(t *testing.T) {
	peak := backend.Peak{Total: 17, At: goldenTime, Since: goldenTime.Add(-time.Hour)}
	alice := presence.UserID("alice").In("acme")
	for _, form := range []struct {
		name  string
		write func() string
		read  func(text string) any
		want  any
	}{
		{
			"broadcast",
			func() string {
				return string(appendBroadcasts(nil, "thread:1", goldenSignals(), "n1", goldenTime)[0].Data)
			},
			func(text string) any {
				b, err := readBroadcast([]byte(text))
				return both(b.signals, err)
			},
			[]any{goldenSignals(), nil},
		},
		{
			"notice-acted",
			func() string {
				return asJSON(noteActed{"17", "bob", "sign_out", "n1.7", "thread:1", time.Minute})
			},
			func(text string) any { return fromJSON[noteActed](text) },
			noteActed{"17", "bob", "sign_out", "n1.7", "thread:1", time.Minute},
		},
		{
			"notice-settings",
			func() string { return asJSON(goldenSettings()) },
			func(text string) any { return fromJSON[noteSettings](text) },
			goldenSettings(),
		},
		{
			"notice-peak",
			func() string { return peakNotice("thread:1", peak).Payload },
			func(text string) any {
				topic, p, ok := peakOf(backend.Notice{Kind: backend.NoticePeak, Payload: text})
				p.At, p.Since = p.At.UTC(), p.Since.UTC()
				return []any{topic, p, ok}
			},
			[]any{presence.Topic("thread:1"), peak, true},
		},
		{
			"cursor",
			func() string {
				return string(presence.JoinCursors(presence.NewCursor(presence.Site, "1763805600000-7"), presence.NewCursor(presence.Topic("thread:1").In("acme"), backend.Origin)))
			},
			func(text string) any {
				return []any{both(presence.Cursor(text).Version(presence.Site)), both(presence.Cursor(text).Version("acme/thread:1")), both(presence.Cursor(text).Version("thread:1"))}
			},
			[]any{[]any{presence.DiffID("1763805600000-7"), true}, []any{backend.Origin, true}, []any{presence.DiffID(""), false}},
		},
		{
			"token",
			func() string { return goldenToken("n1.7", "alice", "site", "thread:1") },
			func(text string) any { return both(readToken(goldenSeal(), "", presence.Token(text))) },
			[]any{claim{id: "n1.7", user: "alice", topics: []presence.Topic{"site", "thread:1"}}, nil},
		},
		{
			"token-tenant",
			func() string { return goldenToken("n1.7", alice, "site") },
			func(text string) any { return both(readToken(goldenSeal(), "acme", presence.Token(text))) },
			[]any{claim{id: "n1.7", tenant: "acme", user: alice, topics: []presence.Topic{"acme/site"}}, nil},
		},
		{
			"token-device",
			func() string { return goldenToken("n1.7", "alice\x1ephone", "site") },
			func(text string) any { return both(readToken(goldenSeal(), "", presence.Token(text))) },
			[]any{claim{id: "n1.7", user: "alice", device: "alice\x1ephone", topics: []presence.Topic{"site", backend.DevicesTopic}}, nil},
		},
	} {
		t.Run(form.name, func(t *testing.T) {
			golden.Wrote(t, form.name, form.write())
			if got := form.read(golden.Read(t, form.name)); !reflect.DeepEqual(got, form.want) {
				t.Errorf("got %+v, want %+v", got, form.want)
			}
		})
	}
}

// A node passes over fields that a later version writes, and a form that it does not know.
func TestGoldenOfALaterVersion(t *testing.T) {
	got, err := readBroadcast([]byte(golden.Read(t, "broadcast-more-fields")))
	if want := goldenSignals()[:1]; err != nil || !reflect.DeepEqual(got.signals, want) {
		t.Errorf("got %+v and error %v, want %+v", got, err, want)
	}
	if got, err := readBroadcast([]byte(golden.Read(t, "broadcast-of-form-2"))); err == nil || len(got.signals) > 0 {
		t.Errorf("got %+v and error %v, want an error", got, err)
	}
}

func goldenSignals() []presence.Signal {
	return []presence.Signal{
		{Type: "typing", V: 1, From: "bob", For: 6 * time.Second},
		{Type: "typing", V: 1, From: presence.UserID("alice").In("acme"), For: -1},
		{Type: "replies", V: 2, Data: json.RawMessage(`{"n":17}`)},
	}
}

func goldenSettings() noteSettings {
	s := presence.Settings{Status: presence.Busy, Until: goldenTime.Add(time.Hour), Text: "in a call", Online: presence.Contacts, Seen: presence.Nobody, Except: true, Rev: 1_795_341_600_123}
	return noteSettings{Settings: s, Since: goldenTime}
}

func goldenSeal() *seal { return newSeal(nil, []byte("0123456789abcdef0123456789abcdef")) }

// goldenToken signs what Connection.Token does; TestTokenIsGolden compares the two.
func goldenToken(id, user presence.UserID, topics ...string) string {
	text := strings.Join(append([]string{string(id), base64.RawURLEncoding.EncodeToString([]byte(user))}, topics...), "~")
	mac, _ := goldenSeal().sign(tokenPurpose, text)
	return text + "~" + base64.RawURLEncoding.EncodeToString(mac[:])
}

func asJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func fromJSON[T any](text string) (v T) {
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		panic(err)
	}
	return v
}

func both[A, B any](a A, b B) []any { return []any{a, b} }
