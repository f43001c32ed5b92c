package handlers_test

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/url"
	"testing"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/internal/problem"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// newHandler returns a Handler without a server.
func newHandler(t testing.TB, cfg handlers.Config) *handlers.Handler {
	t.Helper()
	tracker, err := track.New(memstore.New(), track.Config{Logger: slog.New(slog.DiscardHandler)})
	noError(t, err)
	t.Cleanup(func() {
		if err := tracker.Close(t.Context()); err != nil && !errors.Is(err, t.Context().Err()) {
			t.Error(err)
		}
	})
	return handlers.New(tracker, cfg)
}

// All handlers share one Form for streams without types, and so the encoded bytes. Pages that know
// the same types share one too.
func TestFormsAreShared(t *testing.T) {
	one, other := newHandler(t, handlers.Config{}), newHandler(t, handlers.Config{})
	form := func(h *handlers.Handler, query string) *track.Form {
		t.Helper()
		f, err := h.FormFor(query)
		noError(t, err)
		return f
	}
	plain := form(one, "topic=site")
	for _, query := range []string{"v=1", "types=", "v=1&types="} {
		if form(one, query) != plain || form(other, query) != plain {
			t.Errorf("%s: got another Form than without a version", query)
		}
	}
	typed := form(one, "types=a:1,b:2")
	if typed == plain || form(one, "types=b:2,a:1") != typed || form(one, "v=1&types=a:1&types=b:2") != typed {
		t.Error("got other Forms for the same types")
	}
	if form(one, "types=a:1,b:3") == typed || form(other, "types=a:1,b:2") == typed {
		t.Error("got the same Form for other types, or for another site's")
	}
	n := testing.AllocsPerRun(100, func() { form(one, "v=1") })
	if without := testing.AllocsPerRun(100, func() { form(one, "x=1") }); n > without {
		t.Errorf("got %v allocations with a version, want %v as without", n, without)
	}
}

// Whatever a page says, it gets a stream or a refusal.
func FuzzVersion(f *testing.F) {
	h := newHandler(f, handlers.Config{})
	for _, seed := range [][3]string{{"1", "reply:1", "presence.v1"}, {"0", "", ""}, {"", ",", "presence.v"}, {"99999999999999999999", "a:1,a:1", "presence.v0, x"}, {"-1", "é:1", "\x00"}} {
		f.Add(seed[0], seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, v, types, offered string) {
		form, err := h.FormFor(url.Values{"v": {v}, "types": {types}}.Encode(), offered)
		var p *problem.Problem
		switch {
		case err == nil && form != nil:
		case errors.As(err, &p) && (p.Status == 400 || p.Status == 426 && p.Header["Upgrade"] != ""):
		default:
			t.Errorf("got %v, want a Form or a refusal", err)
		}
	})
}

// E5: whatever the items and Config.Down are, pages get JSON with the same texts.
func FuzzTypes(f *testing.F) {
	answer := ""
	h := newHandler(f, handlers.Config{Down: func(string, int, int, json.RawMessage) (json.RawMessage, bool) {
		return json.RawMessage(answer), answer != "no"
	}})
	for _, seed := range [][2]string{
		{`{"items":[{"type":"reply","v":2,"text":"hello","url":"/1","data":{"a":1}}],"more":true}`, `{"b":1}`},
		{`{"items":[{"type":"reply","v":3,"text":"hello"},7,null,{"v":"x"}]}`, "no"},
		{`{"items":{},"items":[]}`, "{"}, {"[]", ""}, {`{"items":[{"type":"reply","v":2,"data":1,"data":2}]}`, "\n"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, data, down string) {
		if !json.Valid([]byte(data)) {
			t.Skip()
		}
		answer = down
		got, err := h.ReadAs("reply:1", presence.Event{Type: presence.EventState, Topic: "inbox", Data: []byte(data)})
		if err != nil || !json.Valid(got) {
			t.Fatalf("got %q, %v for %q", got, err, data)
		}
		texts := func(data []byte) (all []string) {
			var e struct{ Items []struct{ Text, URL string } }
			_ = json.Unmarshal(data, &e)
			for _, i := range e.Items {
				all = append(all, i.Text+" "+i.URL)
			}
			return all
		}
		if want, got := texts([]byte(data)), texts(got); len(got) != len(want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}
