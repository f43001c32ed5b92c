package redisstore

import (
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/internal/golden"
	"github.com/rollcall-go/rollcall/presence"
)

// Nodes of version 1 read and write these texts. They ignore fields that they do not know.
var wireNotices = []struct {
	notice presence.Notice
	text   string
}{
	{presence.SignOutNotice("alice"), `{"signed_out":"alice"}`},
	{presence.LeaveNotice("alice", "n.1"), `{"left":"n.1","left_by":"alice"}`},
	{presence.StatusNotice("alice", presence.Busy), `{"status":"busy","status_of":"alice"}`},
	{presence.Notice{Kind: presence.NoticeIdle, User: "alice"}, `{"idle":"alice"}`},
	{presence.Notice{Kind: presence.NoticeAttended, User: "alice"}, `{"attended":"alice"}`},
	{presence.Notice{Kind: presence.NoticeSignedOut, User: "alice", Lasting: true, Ago: time.Second}, `{"signed_out":"alice","ago":1000000000}`},

	{presence.StatusNotice("alice", presence.Busy, presence.Site, "thread:1"), `{"status":"busy","status_of":"alice","topics":["site","thread:1"]}`},
	{presence.Notice{Kind: "knock", User: "bob", Payload: `{"door":1}`, Lasting: true}, `{"kind":"knock","user":"bob","payload":"{\"door\":1}","lasting":true}`},
	{presence.Notice{Kind: "knock"}, `{"kind":"knock"}`},
}

func TestNoticesOnTheWire(t *testing.T) {
	for _, tt := range wireNotices {
		if got, err := encodeNotice(tt.notice); err != nil || got != tt.text {
			t.Errorf("got %s and error %v, want %s", got, err, tt.text)
		}
		if got, err := decodeNotice(tt.text); err != nil || got != tt.notice {
			t.Errorf("%s: got %+v and error %v, want %+v", tt.text, got, err, tt.notice)
		}
	}
	for _, text := range []string{"", "null and more", `{"kind":1}`, `["signed_out"]`} {
		if got, err := decodeNotice(text); err == nil {
			t.Errorf("%s: got %+v, want an error", text, got)
		}
	}
	if got, err := decodeNotice(`{"of_a_later_version":1}`); err != nil || got != (presence.Notice{}) {
		t.Errorf("got %+v and error %v, want an empty notice", got, err)
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
		"notice-idle":       {Kind: presence.NoticeIdle, User: "alice"},
		"notice-attended":   {Kind: presence.NoticeAttended, User: "alice"},
		"notice-acted":      {Kind: presence.NoticeActed, User: "alice", Payload: `{"ID":"17","By":"bob"}`, Lasting: true},
		"notice-settings":   {Kind: presence.NoticeSettings, User: "alice", Payload: `{"Status":"busy"}`, Lasting: true},
		"notice-relations":  {Kind: presence.NoticeRelations, User: "alice", Lasting: true},
		"notice-peak":       {Kind: presence.NoticePeak, Payload: "thread:1 17 1795341600123000000 1795338000123000000", Lasting: true},
		"notice-hint":       {Kind: presence.NoticeHint, Payload: "n1 inbox alice 17"},
		"notice-guest":      {Kind: presence.NoticeGuestSignedIn, Payload: "guest17"},
		"notice-late":       {Kind: presence.NoticeSignedOut, User: "alice", Lasting: true, Ago: 2 * time.Second},
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
