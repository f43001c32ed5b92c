package handlers_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
)

// Each fault of a request about feeds has its own status, and nothing of another user's
// inbox is in any answer (F13).
func TestFeedBadRequests(t *testing.T) {
	foreign := map[string]string{"Origin": "https://evil.test"}
	type row struct {
		request
		status int
	}
	get := func(path string) request { return request{path: path, user: "eve"} }
	mark := func(body string) request { return post("feed/mark", "eve", body) }
	mute := func(body string) request { return put("mutes", "eve", body) }
	places := func(n int) string { return "[" + strings.TrimSuffix(strings.Repeat("1,", n), ",") + "]" }
	rows := []row{
		{get("feed?topic=inbox&user=alice"), 200}, // a parameter that is none
		{get("feed?topic=inbox&topic=inbox"), 200},
		{mark(`{"as":"read","pos":` + places(100) + `}`), 200},
		{mark(" {\"topic\":\"inbox\",\r\n\t\"as\":\"seen\"} "), 200},
		{get("feed"), 400},
		{get("feed?topic=site"), 400},
		{get("feed?topic="), 400},
		{get("feed?topic=inbox:alice"), 400},
		{get("feed?topic=inbox%00alice"), 400},
		{get("feed?topic=feed:inbox:alice"), 400},
		{get("feed?topic=feed:feed:thread:1"), 400},
		{get("feed?topic=INBOX"), 400},
		{get("feed?topic=inbox&topic=feed:thread:1"), 400},
		{get("feed?topic=inbox&topic=inbox:alice"), 400},
		{get("feed?topic=%zz"), 400},
		{get("feed?stream=inbox"), 400},
		{get("feed?topic=feed:" + strings.Repeat("x", 200)), 400},
		{get("feed?topic=inbox&before=1&cursor=x"), 400},
		{get("feed?topic=inbox&me=alice"), 401},
		{get("feed?topic=feed:staff:1"), 403},
		{get("feed/"), 400}, // as without the slash
		{get("feed/mark"), 405},
		{get("feed/../feed?topic=inbox"), 404},
		{post("feed/marks", "eve", `{"as":"seen"}`), 404},
		{post("feed/mark//", "eve", `{"as":"seen"}`), 404},
		{post("feed/mark/alice", "eve", `{"as":"seen"}`), 404},
		{post("feed?topic=inbox", "eve", ""), 405},
		{post("mutes", "eve", `{"scope":"*","how":"all"}`), 405},
		{put("feed/mark", "eve", `{"as":"seen"}`), 405},

		{request{path: "feed?topic=inbox"}, 401},
		{request{path: "feed?topic=inbox&me=alice", header: map[string]string{"X-Guest": "g"}}, 401},
		{post("feed/mark", "", `{"as":"seen"}`), 401},
		{post("feed/mark?me=alice", "eve", `{"as":"seen"}`), 401},
		{request{path: "mutes"}, 401},
		{get("mutes?me=alice"), 401},
		{put("mutes", "", `{"scope":"*","how":"all"}`), 401},
		{put("mutes?me=alice", "eve", `{"scope":"*","how":"all"}`), 403},
		{request{method: "POST", path: "feed/mark", user: "alice", body: `{"as":"seen"}`, header: foreign}, 403},
		{request{method: "PUT", path: "mutes", user: "alice", body: `{"scope":"*","how":"all"}`, header: foreign}, 403},
		{mark(`{"as":"seen","about":"` + strings.Repeat("x", 4<<10) + `"}`), 413},
		{mute(`{"scope":"` + strings.Repeat("x", 4<<10) + `","how":"all"}`), 413},
	}
	for _, value := range []string{"", "0", "-1", "1.5", "1e3", "0x10", "+-1", "%00", "one", "9223372036854775808", "99999999999999999999", "1&before=", "%D9%A1"} {
		if !strings.Contains(value, "&") {
			rows = append(rows, row{get("feed?topic=inbox&limit=" + value), 400})
			rows = append(rows, row{get("feed?topic=inbox&before=" + value), 400})
		}
	}
	rows = append(rows, row{get("feed?topic=inbox&limit=101"), 400}, row{get(fmt.Sprintf("feed?topic=inbox&limit=100&before=%d", int64(math.MaxInt64))), 200})
	for _, body := range []string{
		"", "null", "[]", `"read"`, "7", "{", "{}", `{"as":"seen"}{}`, "as=read", "{\"as\":\"se\xffen\"}", "{\"as\":\"seen\",\"\xff\":1}",
		`{"as":null,"upto":1}`, `{"as":7,"upto":1}`, `{"as":"gone","upto":1}`, `{"as":"removed","upto":1}`, `{"as":"READ","upto":1}`, `{"as":["read"],"upto":1}`,
		`{"upto":1}`, `{"as":"read"}`, `{"as":"read","pos":[]}`, `{"as":"read","pos":null}`, `{"as":"read","pos":1}`, `{"as":"read","pos":"1"}`,
		`{"as":"read","pos":[0]}`, `{"as":"read","pos":[-1]}`, `{"as":"read","pos":[1,null]}`, `{"as":"read","pos":[1.5]}`, `{"as":"read","pos":["1"]}`,
		`{"as":"read","pos":[[1]]}`, `{"as":"read","pos":[9223372036854775808]}`, `{"as":"read","pos":[1e999]}`, `{"as":"read","pos":` + places(101) + `}`,
		`{"as":"read","pos":{"0":1}}`, `{"as":"read","pos":[1],"about":"thread:1"}`, `{"as":"read","pos":[1],"upto":1}`, `{"as":"seen","pos":[1]}`, `{"as":"seen","about":"thread:1"}`,
		`{"as":"seen","upto":0}`, `{"as":"read","upto":0}`, `{"as":"read","upto":-1}`, `{"as":"read","upto":"1"}`, `{"as":"read","upto":null}`, `{"as":"read","upto":9223372036854775808}`,
		`{"as":"read","about":""}`, `{"as":"read","about":null}`, `{"as":"read","about":7}`, `{"as":"read","about":"a b"}`, `{"as":"read","about":"a\u0000"}`, `{"as":"read","about":"` + strings.Repeat("x", 129) + `"}`,
		`{"topic":"inbox:alice","as":"seen"}`, `{"topic":"feed:inbox:alice","as":"seen"}`, `{"topic":"feed:thread:1","as":"seen"}`, `{"topic":null,"as":"seen"}`, `{"topic":["inbox"],"as":"seen"}`, `{"topic":"site","as":"seen"}`,
		`{"user":"alice","as":"seen"}`, `{"feed":"inbox:alice","as":"seen"}`, `{"as":"read","about":"thread:1","up_to":1}`, `{"AS":"seen"}`, `{"as":"seen","me":"alice"}`, `{"as":"seen","__proto__":{}}`,
	} {
		rows = append(rows, row{mark(body), 400})
	}
	for _, body := range []string{
		"", "null", "[]", "{", "{}", `{"scope":"*"}`, `{"how":"all"}`, `{"scope":"*","how":"some"}`, `{"scope":"*","how":"ALL"}`, `{"scope":"*","how":null}`, `{"scope":"*","how":2}`,
		`{"scope":"","how":"all"}`, `{"scope":null,"how":"all"}`, `{"scope":7,"how":"all"}`, `{"scope":"**","how":"all"}`, `{"scope":"type","how":"all"}`, `{"scope":"type:","how":"all"}`, `{"scope":"type:A b","how":"all"}`,
		`{"scope":"type:` + strings.Repeat("x", 33) + `","how":"all"}`, `{"scope":"about:","how":"all"}`, `{"scope":"about:a b","how":"all"}`, `{"scope":"from:bob","how":"all"}`, `{"scope":"about:` + strings.Repeat("x", 129) + `","how":"all"}`,
		`{"scope":"*","how":"all","for":-1}`, `{"scope":"*","how":"all","for":1.5}`, `{"scope":"*","how":"all","for":null}`, `{"scope":"*","how":"all","for":"1"}`, `{"scope":"*","how":"all","for":31536001}`, `{"scope":"*","how":"all","for":9223372036854775808}`,
		`{"scope":"*","how":"nothing","for":1}`, `{"scope":"*","how":"all","until":"2000-01-02T00:00:00Z"}`, `{"scope":"*","how":"all","user":"alice"}`,
	} {
		rows = append(rows, row{mute(body), 400})
	}
	synctest.Test(t, func(t *testing.T) {
		f := newFeedSite(t, setup{handlers: unlimited()})
		f.send("alice", "hunter2")
		f.post("staff:1", "hunter2")
		alices := f.page("feed?topic=inbox", "alice").data.Cursor
		for _, cursor := range []string{alices, alices + "~" + alices, strings.Replace(alices, ".", ".0", 1), "x", "~", ".", alices[:len(alices)-1], alices + "0", "%zz", strings.Repeat("x", 2000)} {
			rows = append(rows, row{get("feed?topic=inbox&cursor=" + cursor), 200})
		}
		before := f.wantStatus(request{path: "feed?topic=inbox", user: "alice"}, 200)
		for _, row := range rows {
			body := f.wantStatus(row.request, row.status)
			if strings.Contains(body, "hunter2") || strings.Contains(body, alices) {
				t.Errorf("%s %s %s: got %s, which is of alice", row.method, row.path, row.body, body)
			}
			if row.status == 400 && len(detail(t, body)) < 20 {
				t.Errorf("%s %s %s: got %s, want a detail that helps", row.method, row.path, row.body, body)
			}
		}
		if after := f.wantStatus(request{path: "feed?topic=inbox", user: "alice"}, 200); after != before {
			t.Errorf("the inbox of alice was %s, and is %s", before, after)
		}
		if got := f.wantStatus(request{path: "mutes", user: "alice"}, 200); got != `{"mutes":[]}` {
			t.Errorf("got the mutes %s of alice, want none", got)
		}
		if got := f.names("site"); got != "" {
			t.Errorf("got %q online, want nobody", got)
		}
	})
}
