package redisstore

import (
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/internal/golden"
	"github.com/rollcall-go/rollcall/presence"
)

// A text that is no notice is refused. Fields that a later version may add are ignored.
func TestNoticesOnTheWire(t *testing.T) {
	for _, text := range []string{"", "null and more", `{"kind":1}`, `["signed_out"]`} {
		if got, err := decodeNotice(text); err == nil {
			t.Errorf("%s: got %+v, want an error", text, got)
		}
	}
	want := presence.Notice{Kind: "knock", User: "bob"}
	if got, err := decodeNotice(`{"kind":"knock","user":"bob","of_a_later_version":1}`); err != nil || got != want {
		t.Errorf("got %+v and error %v, want %+v", got, err, want)
	}
}

// Every kind of notice is as it was in the version that wrote the golden file, and can be read.
// Package presence has the golden payloads.
func TestGoldenNotices(t *testing.T) {
	for name, n := range map[string]presence.Notice{
		"notice-signed-out": presence.SignOutNotice("alice"),
		"notice-signed-off": {Kind: presence.NoticeSignedOff, User: "alice", Payload: "browser1", Lasting: true},
		"notice-ended":      {Kind: presence.NoticeEnded, User: "alice", Payload: "phone", Lasting: true},
		"notice-left":       presence.LeaveNotice("alice", "n1.7"),
		"notice-status":     presence.StatusNotice("alice", presence.Busy, presence.Site, "thread:1"),
		"notice-acted":      {Kind: presence.NoticeActed, User: "alice", Payload: `{"ID":"17","By":"bob"}`, Lasting: true},
		"notice-settings":   {Kind: presence.NoticeSettings, User: "alice", Payload: `{"Status":"busy"}`, Lasting: true},
		"notice-relations":  {Kind: presence.NoticeRelations, User: "alice", Lasting: true},
		"notice-peak":       {Kind: presence.NoticePeak, Payload: "thread:1 17 1795341600123000000 1795338000123000000", Lasting: true},
		"notice-hint":       {Kind: presence.NoticeHint, Payload: "n1 inbox alice 17"},
		"notice-lost":       {Kind: presence.NoticeLost, Lasting: true},
		"notice-guest":      {Kind: presence.NoticeGuestSignedIn, Payload: "guest17"},
		"notice-late":       {Kind: presence.NoticeSignedOut, User: "alice", Lasting: true, Ago: 2 * time.Second},
		"notice-again":      {Kind: presence.NoticeSignedOut, User: "alice", Lasting: true, ID: "event17", Ago: 2 * time.Second},
		"notice-tenant":     presence.SignOutNotice(presence.UserID("alice").In("acme")),
	} {
		text, err := encodeNotice(n)
		if err != nil {
			t.Fatal(err)
		}
		golden.Wrote(t, name, versioned(text))
		version, text := splitVersion(golden.Read(t, name))
		if got, err := decodeNotice(text); err != nil || version != messageVersion || got != n {
			t.Errorf("%s: got %+v of version %d and error %v, want %+v", name, got, version, err, n)
		}
	}
}
