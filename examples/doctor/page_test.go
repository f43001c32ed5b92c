package main

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestRead(t *testing.T) {
	for name, tt := range map[string]struct {
		html, src, me string
		shows         bool
		topics        []string
	}{
		"widget":     {`<whos-online topic="thread:1" src="/live" cursor="a>b" me="alice">`, "/live", "alice", true, []string{"thread:1"}},
		"minified":   {`<whos-online topic=thread:1 src=/live>`, "/live", "", true, []string{"thread:1"}},
		"single":     {`<WHOS-ONLINE topic='thread:1' src='/live'/>`, "/live", "", true, []string{"thread:1"}},
		"head":       {`<meta name="presence" content="{&#34;src&#34;:&#34;/live&#34;,&#34;me&#34;:&#34;bob&#34;}">`, "/live", "bob", true, []string{"site"}},
		"another":    {`<meta name="viewport" content="{}">`, "", "", false, []string{"site"}},
		"dots":       {`<online-count topic="a"></online-count><online-dot data-presence-dot="x"></online-dot>`, "", "", true, []string{"a", "site"}},
		"comment":    {`<!-- <whos-online src="/live"> -->`, "", "", false, []string{"site"}},
		"first":      {`<whos-online src="/a" src="/b" topic="t"><whos-online src="/c" topic="t">`, "/a", "", true, []string{"t"}},
		"bad topics": {`<whos-online topic="a b"><whos-online topic="` + strings.Repeat("x", 200) + `">`, "", "", true, []string{"site"}},
		"cut":        {`<whos-online topic="a`, "", "", false, []string{"site"}},
	} {
		p := read(answer{body: []byte(tt.html)})
		if p.src != tt.src || p.me != tt.me || p.shows != tt.shows || !slices.Equal(p.topics, tt.topics) {
			t.Errorf("%s: got src %q, me %q, shows %v, topics %q", name, p.src, p.me, p.shows, p.topics)
		}
	}
	var many strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&many, `<online-count topic="t:%d"><script src="/presence/assets/presence.%08x.js"></script>`, i, i)
	}
	if p := read(answer{body: []byte(many.String())}); len(p.topics) != maxTopics || len(p.assets) != 4 {
		t.Errorf("got %d topics and %d assets, want %d and 4", len(p.topics), len(p.assets), maxTopics)
	}
}

// A page that was made to be slow to read is read within a moment.
func TestReadHostilePages(t *testing.T) {
	for _, piece := range []string{"<", "<!--", "<meta ", `<meta a="`, "a=b ", "-->"} {
		body := "<whos-online " + strings.Repeat(piece, maxPage/8/len(piece))
		began := time.Now()
		read(answer{body: []byte(body)})
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("%q: took %v", piece, took)
		}
	}
}

func TestThrottleCookie(t *testing.T) {
	for line, want := range map[string]string{
		"presence=mi5k2x3a.AAAAAAAAbbbbbbbb.-; Path=/; HttpOnly": "AAAAAAAA",
		"online=0.AAAAAAAAbbbbbbbb.1z141z3":                      "AAAAAAAA",
		"presence=mi5k2x3a.AAAAAAAA.-":                           "",
		"session=abc":                                            "",
		"presence_status=AAAAAAAAbbbbbbbb":                       "",
	} {
		id, _ := throttleCookie(http.Header{"Set-Cookie": {"a=b", line}})
		if id != want {
			t.Errorf("%s: got %q, want %q", line, id, want)
		}
	}
}

func TestMayBeShared(t *testing.T) {
	for control, want := range map[string]bool{
		"": false, "private, max-age=60": false, "no-store": false, "no-cache": false,
		"public": true, "max-age=60": true, "S-maxage=1": true,
	} {
		p := page{answer: answer{header: http.Header{"Cache-Control": {control}}}}
		if got := p.mayBeShared(); got != want {
			t.Errorf("%q: got %v, want %v", control, got, want)
		}
	}
}
