package redisstore

import (
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/internal/golden"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// A text that is no notice is refused. Fields that a later version may add are ignored.
func TestNoticesOnTheWire(t *testing.T) {
	for _, text := range []string{"", "null and more", `{"kind":1}`, `["signed_out"]`} {
		if got, err := decodeNotice(text); err == nil {
			t.Errorf("%s: got %+v, want an error", text, got)
		}
	}
	want := backend.Notice{Kind: "knock", User: "bob"}
	if got, err := decodeNotice(`{"kind":"knock","user":"bob","of_a_later_version":1}`); err != nil || got != want {
		t.Errorf("got %+v and error %v, want %+v", got, err, want)
	}
}

// Every kind of notice is as it was in the version that wrote the golden file, and can be read.
// Package presence has the golden payloads.
func TestGoldenNotices(t *testing.T) {
	for name, n := range map[string]backend.Notice{
		"notice-signed-out": backend.SignOutNotice("alice"),
		"notice-signed-off": {Kind: backend.NoticeSignedOut, User: "alice", Payload: "browser browser1", Lasting: true},
		"notice-left":       backend.LeaveNotice("alice", "n1.7"),
		"notice-acted":      {Kind: backend.NoticeActed, User: "alice", Payload: `{"ID":"17","By":"bob"}`, Lasting: true},
		"notice-settings":   {Kind: backend.NoticeSettings, User: "alice", Payload: `{"Status":"busy"}`, Lasting: true},
		"notice-relations":  {Kind: backend.NoticeRelations, User: "alice", Lasting: true},
		"notice-peak":       {Kind: backend.NoticePeak, Payload: "thread:1 17 1795341600123000000 1795338000123000000", Lasting: true},
		"notice-hint":       {Kind: backend.NoticeHint, Payload: "n1 inbox alice 17"},
		"notice-lost":       {Kind: backend.NoticeLost, Lasting: true},
		"notice-guest":      {Kind: backend.NoticeGuestSignedIn, Payload: "guest17"},
		"notice-late":       {Kind: backend.NoticeSignedOut, User: "alice", Lasting: true, Ago: 2 * time.Second},
		"notice-again":      {Kind: backend.NoticeSignedOut, User: "alice", Lasting: true, ID: "event17", Ago: 2 * time.Second},
		"notice-tenant":     backend.SignOutNotice(presence.UserID("alice").In("acme")),
	} {
		golden.Wrote(t, name, versioned(encodeNotice(n)))
		version, text := splitVersion(golden.Read(t, name))
		if got, err := decodeNotice(text); err != nil || version != messageVersion || got != n {
			t.Errorf("%s: got %+v of version %d and error %v, want %+v", name, got, version, err, n)
		}
	}
}
