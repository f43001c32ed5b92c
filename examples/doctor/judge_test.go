package main

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// ended returns a stream that has ended.
func ended(after, quiet time.Duration, events int, change func(*stream)) *stream {
	l := newStream()
	l.opened = time.Now()
	l.ended = l.opened.Add(after)
	l.last = l.ended.Add(-quiet)
	l.events, l.welcome = events, &welcome{Heartbeat: 15}
	l.answer = answer{status: http.StatusOK, header: http.Header{"Content-Type": {"text/event-stream"}}}
	if change != nil {
		change(l)
	}
	close(l.answered)
	close(l.welcomed)
	close(l.done)
	return l
}

func TestJudge(t *testing.T) {
	whole := func(l *stream) { l.whole = true }
	told := func(l *stream) { l.told = true }
	const s = time.Second
	for name, tt := range map[string]struct {
		stream *stream
		heard  silence
		state  string
		says   string
	}{
		"held":            {ended(35*s, 5*s, 4, whole), silence{longest: 21 * s}, isOK, "held for 35 s, and the longest silence that came through is 21 s"},
		"held for less":   {ended(8*s, 8*s, 2, whole), silence{}, isUnknown, "-for 35s"},
		"read timeout":    {ended(5*s, 5*s, 2, nil), silence{}, isWrong, "cut after 5 s without an event: a read timeout"},
		"both":            {ended(7*s, 7*s, 2, nil), silence{cut: 7 * s, by: "status 504"}, isWrong, "cut after 7 s without an event, and a long poll was cut after 7 s (status 504)"},
		"a poll alone":    {ended(35*s, 5*s, 4, whole), silence{cut: 17 * s, by: "status 504"}, isWrong, "A long poll was cut after 17 s (status 504)"},
		"a poll, late":    {ended(35*s, 5*s, 4, whole), silence{cut: 20500 * time.Millisecond}, isOK, "held"},
		"after an event":  {ended(30*s, 10*time.Millisecond, 4, nil), silence{}, isWrong, "cut after 30 s, right after an event"},
		"by the site":     {ended(30*s, 10*s, 4, told), silence{}, isOK, "held for 30 s"},
		"by the site, 3s": {ended(3*s, 1*s, 4, told), silence{}, isUnknown, "held for 3 s"},
		"nothing":         {ended(35*s, 35*s, 0, nil), silence{}, isUnknown, "No stream"},
	} {
		if got := tt.stream.judge(tt.heard); got.State != tt.state || !strings.Contains(got.Says, tt.says) {
			t.Errorf("%s: got %+v, want it %s, saying %q", name, got, tt.state, tt.says)
		}
	}
}

// A proxy that lets the first event through, and then keeps events, is named by the gap.
func TestLateEvents(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*stream)
		want   string
	}{
		"in time":      {func(l *stream) { l.gap, l.whole = 16*time.Second, true }, isOK},
		"late":         {func(l *stream) { l.gap, l.whole = 21*time.Second, true }, isWrong},
		"never":        {func(l *stream) { l.last, l.whole = l.opened, true }, isWrong},
		"cut before":   {func(l *stream) { l.last = l.opened }, isOK}, // that is the timeout's
		"a busy store": {func(l *stream) { l.gap, l.welcome.Heartbeat, l.whole = 40*time.Second, 40, true }, isOK},
	} {
		s := &site{live: ended(35*time.Second, time.Second, 3, tt.change)}
		if got := checkBuffering(t.Context(), s); got.State != tt.want {
			t.Errorf("%s: got %+v, want it %s", name, got, tt.want)
		}
	}
}

func TestTabs(t *testing.T) {
	for address, want := range map[string]string{
		"http://forum.example.org/":  isWrong,
		"http://192.168.1.2/":        isWrong,
		"http://127.0.0.1:8080/":     isOK,
		"http://acme.localhost:8080": isOK,
		"https://forum.example.org/": isOK,
	} {
		at, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if got := checkTabs(t.Context(), &site{first: &page{answer: answer{url: at}}}); got.State != want {
			t.Errorf("%s: got %+v, want it %s", address, got, want)
		}
	}
}

func TestClock(t *testing.T) {
	now := time.Now()
	at := func(d time.Duration) http.Header {
		return http.Header{"Date": {now.Add(d).UTC().Format(http.TimeFormat)}}
	}
	for name, tt := range map[string]struct {
		page   page
		roster string
		says   string
	}{
		"agrees":  {page{answer: answer{sent: now, header: at(0)}}, `{}`, "agree"},
		"slow":    {page{answer: answer{sent: now, took: time.Minute, header: at(30 * time.Second)}}, `{}`, "agree"},
		"behind":  {page{answer: answer{sent: now, header: at(-time.Minute)}}, `{}`, "behind this machine's"},
		"ahead":   {page{answer: answer{sent: now, header: at(time.Hour)}}, `{}`, "ahead of this machine's"},
		"a node":  {page{answer: answer{sent: now, header: at(0)}, stamp: now.Add(-time.Minute).UnixMilli()}, `{}`, "by the presence cookie, is 1m0s behind"},
		"a store": {page{answer: answer{sent: now, header: at(0)}}, fmt.Sprintf(`{"users":{"a":{"since":%q}}}`, now.Add(time.Hour).Format(time.RFC3339)), "The roster's clock"},
		"a cache": {page{answer: answer{sent: now, header: http.Header{"Date": at(-time.Hour)["Date"], "Age": {"3600"}}}}, `{}`, "agree"},
	} {
		s := &site{
			first: &tt.page, views: func() *views { return &views{} },
			roster: func() answer { return answer{sent: now, body: []byte(tt.roster)} },
		}
		if got := checkClock(t.Context(), s); !strings.Contains(got.Says, tt.says) {
			t.Errorf("%s: got %+v, want %q", name, got, tt.says)
		}
	}
}
