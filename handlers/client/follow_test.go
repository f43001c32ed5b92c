package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/handlers/client"
	"github.com/rollcall-go/rollcall/presence"
)

// The events of a server, over one connection or several, are yielded in order.
func TestFollow(t *testing.T) {
	huge := `{"topic":"site","cursor":"x.1","total":1000,"users":{`
	for i := range 1000 {
		huge += fmt.Sprintf(`"user%d":{"name":"%s","status":"online","since":"2026-11-21T06:57:00Z"},`, i, strings.Repeat("n", 2000))
	}
	huge = strings.TrimSuffix(huge, ",") + `},"truncated":true}`
	gone := "the server answers 410 Gone"
	eof := "lost (EOF)"

	for _, tt := range []struct {
		name    string
		options client.Options
		texts   []string
		want    []string
	}{
		{"state, then diffs", client.Options{}, []string{welcome + stateOne + diff("x.1", "x.2", "bob") + diff("x.2", "x.3", "carol")},
			[]string{"welcome", "state x.1 of 1", "diff x.2 +bob", "diff x.3 +carol", eof}},
		{"leaves, of which one is without last seen", client.Options{}, []string{welcome + stateOne + message("diff", `{"topic":"site","cursor":"x.2","prev":"x.1","total":0,"joins":{},"leaves":{"alice":{"last_seen":"2026-11-21T06:58:00Z"},"carol":{}}}`)},
			[]string{"welcome", "state x.1 of 1", "diff x.2 -alice -carol?", eof}},
		{"count and heartbeat", client.Options{}, []string{welcome + stateOne + message("count", `{"topic":"site","cursor":"x.9","total":20000}`) + message("heartbeat", `{"topic":"site","cursor":"x.9","total":20000}`)},
			[]string{"welcome", "state x.1 of 1", "count x.9 of 20000", "heartbeat", eof}},
		{"an event of a later version", client.Options{}, []string{welcome + message("weather", "rain") + stateOne},
			[]string{"welcome", "state x.1 of 1", eof}},
		{"resume", client.Options{}, []string{welcome + stateOne, welcome + diff("x.1", "x.5", "bob")},
			[]string{"welcome", "state x.1 of 1", eof, "welcome", "diff x.5 +bob", eof}},
		{"a gap", client.Options{}, []string{welcome + stateOne + diff("x.7", "x.8", "bob") + diff("x.8", "x.9", "carol"), welcome + strings.ReplaceAll(stateOne, "x.1", "x.9")},
			[]string{"welcome", "state x.1 of 1", "lost (a diff was missed: of topic site)", "welcome", "state x.9 of 1", eof}},
		{"a gap that a heartbeat shows", client.Options{}, []string{welcome + stateOne + message("heartbeat", `{"topic":"site","cursor":"x.4","total":1}`)},
			[]string{"welcome", "state x.1 of 1", "lost (a diff was missed: of topic site)"}},
		{"a diff before any state", client.Options{}, []string{welcome + diff("x.1", "x.2", "bob")},
			[]string{"welcome", "lost (a diff was missed: of topic site)"}},
		{"from a cursor of another time", client.Options{Cursors: map[presence.Topic]presence.Cursor{"site": "x.1"}}, []string{welcome + diff("x.1", "x.2", "bob")},
			[]string{"welcome", "diff x.2 +bob", eof}},
		{"2 MB in one event", client.Options{}, []string{welcome + message("state", huge) + diff("x.1", "x.2", "bob")},
			[]string{"welcome", "state x.1 of 1000", "diff x.2 +bob", eof}},
		{"an event over the bound", client.Options{MaxEvent: 1 << 20}, []string{welcome + message("state", huge), welcome + stateOne},
			[]string{"welcome", "lost (an event is too large: it has more than 1048576 bytes)", "welcome", "state x.1 of 1", eof}},
		{"no JSON", client.Options{}, []string{welcome + stateOne + message("diff", "\x00\xff{{"), welcome + stateOne},
			[]string{"welcome", "state x.1 of 1", "lost (the server sent a malformed event: invalid character '\\x00' looking for beginning of value)", "welcome", "state x.1 of 1", eof}},
		{"another topic", client.Options{}, []string{welcome + strings.ReplaceAll(stateOne, "site", "secret")},
			[]string{"welcome", `lost (the server sent a malformed event: an event of topic "secret", at "x.1")`}},
		{"a user with control characters", client.Options{}, []string{welcome + strings.ReplaceAll(stateOne, `"alice"`, `"\u001b[2J"`)},
			[]string{"welcome", "lost (the server sent a malformed event: invalid user: the id is not UTF-8 without control characters)"}},
		{"garbage", client.Options{}, []string{"\x00\xff\xfe" + strings.Repeat("junk", 5000) + "\n\n\r\r\n:\n\nevent:\n\nid\n\ndata: {}\n\n" + welcome + stateOne},
			[]string{"welcome", "state x.1 of 1", eof}},
		{"a retry that cannot be", client.Options{}, []string{"retry: 99999999999999\n\nretry: -5\n\n" + welcome + stateOne},
			[]string{"welcome", "state x.1 of 1", eof}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNetwork(t)
				n.serve(script(tt.texts...))
				got, err := n.follow(t.Context(), tt.options)
				if !slices.Equal(got, tt.want) {
					t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
				}
				if err == nil || err.Error() != gone {
					t.Errorf("got error %v, want %s", err, gone)
				}
			})
		})
	}
}

// A topic that was missed asks for a state, and the others go on from where they
// are.
func TestFollowAsksFromItsCursors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t)
		other := strings.NewReplacer("site", "thread:1", "x.1", "y.1").Replace(stateOne)
		n.serve(script(welcome+stateOne+other, welcome+diff("x.7", "x.8", "bob"), ""))
		n.follow(t.Context(), client.Options{Limit: 7, Hold: true}, "thread:1", "site", "site")
		want := []string{
			"/presence/events?limit=7&topic=site&topic=thread%3A1",
			"/presence/events?cursor=x.1&cursor=y.1&limit=7&topic=site&topic=thread%3A1",
			"/presence/events?cursor=y.1&limit=7&topic=site&topic=thread%3A1",
			"/presence/events?cursor=y.1&limit=7&topic=site&topic=thread%3A1",
		}
		if got := n.asked(); !slices.Equal(got, want) {
			t.Errorf("got requests\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

func TestFollowWaits(t *testing.T) {
	answer := func(status int, header ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			for i := 0; i+1 < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(status)
		}
	}
	inAnHour := time.Date(2000, 1, 1, 0, 30, 0, 0, time.UTC).Format(http.TimeFormat) // synctest begins at 2000
	for _, tt := range []struct {
		name        string
		server      http.Handler
		tries       int // waits to see
		least, most []time.Duration
	}{
		{"the server's retry", script(welcome+stateOne, welcome+stateOne, welcome+stateOne), 3,
			[]time.Duration{500e6, 500e6, 500e6}, []time.Duration{1e9, 1e9, 1e9}},
		{"longer and longer", answer(500), 9,
			[]time.Duration{250e6, 500e6, 1e9, 2e9, 4e9, 8e9, 10e9, 10e9, 10e9}, []time.Duration{500e6, 1e9, 2e9, 4e9, 8e9, 16e9, 20e9, 20e9, 20e9}},
		{"seconds", answer(503, "Retry-After", "100"), 2, []time.Duration{100e9, 100e9}, []time.Duration{126e9, 126e9}},
		{"a date", answer(429, "Retry-After", inAnHour), 1, []time.Duration{29 * time.Minute}, []time.Duration{40 * time.Minute}},
		{"nonsense", answer(503, "Retry-After", "soon"), 1, []time.Duration{250e6}, []time.Duration{500e6}},
		{"for ever", answer(503, "Retry-After", "99999999999"), 1, []time.Duration{time.Hour}, []time.Duration{76 * time.Minute}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNetwork(t)
				n.serve(tt.server)
				i := 0
				for e, err := range client.Follow(t.Context(), "http://forum.test/presence", []presence.Topic{presence.Site}, client.Options{HTTP: n.http, MaxWait: 20 * time.Second}) {
					if err != nil {
						t.Fatal(err)
					}
					lost, ok := e.(client.Lost)
					if !ok {
						continue
					}
					if lost.Wait < tt.least[i] || lost.Wait > tt.most[i] {
						t.Errorf("wait %d: got %v, want %v to %v", i+1, lost.Wait, tt.least[i], tt.most[i])
					}
					if i++; i == tt.tries {
						break
					}
				}
			})
		})
	}
}

func TestFollowEndsWithWhatWillNotChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for status, want := range map[int]string{
			403: "the server answers 403 Not for you: Nobody sees it.",
			404: "the server answers 404 Not for you: Nobody sees it.",
			200: `the server answers 200 OK: its content type is "application/problem+json", not text/event-stream`,
		} {
			n := newNetwork(t)
			n.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/problem+json")
				w.WriteHeader(status)
				fmt.Fprint(w, `{"status":403,"title":"Not for you","detail":"Nobody sees it."}`)
			}))
			events, err := n.follow(t.Context(), client.Options{})
			var e *client.StatusError
			if !errors.As(err, &e) || err.Error() != want || len(events) > 0 || e.Status != status {
				t.Errorf("%d: got %v and %v, want %s", status, events, err, want)
			}
		}
	})
	for site, topics := range map[string][]presence.Topic{
		"forum.test/presence": {"site"}, "ftp://x/": {"site"}, "http://": {"site"}, "http://\x00": {"site"},
		"http://x": nil, "https://x": {"a b"},
	} {
		n := 0
		for e, err := range client.Follow(t.Context(), site, topics, client.Options{}) {
			if n++; e != nil || err == nil {
				t.Errorf("%q %v: got %v, %v, want an error", site, topics, e, err)
			}
		}
		if n != 1 {
			t.Errorf("%q %v: got %d words, want one error", site, topics, n)
		}
	}
}

// A server from which nothing comes is given up, at any point.
func TestFollowGivesUpSilence(t *testing.T) {
	for name, tt := range map[string]struct {
		server http.Handler
		after  time.Duration
	}{
		"no answer":         {http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }), 45 * time.Second},
		"nothing comes":     {script("…"), 45 * time.Second},
		"after the welcome": {script(welcome + stateOne + "…"), 45 * time.Second},
		"a short heartbeat": {script(strings.Replace(welcome, "15", "3", 1) + stateOne + "…"), 9 * time.Second},
		"a hostile one":     {script(strings.Replace(welcome, "15", "-1e300", 1) + stateOne + "…"), 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNetwork(t)
				n.serve(tt.server)
				began := time.Now()
				for e := range client.Follow(t.Context(), "http://forum.test/presence", []presence.Topic{presence.Site}, client.Options{HTTP: n.http}) {
					if lost, ok := e.(client.Lost); ok {
						if got := time.Since(began); got != tt.after || !errors.Is(lost.Err, client.ErrSilent) {
							t.Errorf("got %v after %v, want ErrSilent after %v", lost.Err, got, tt.after)
						}
						break
					}
				}
			})
		})
	}
}

// A loop that takes its time is not taken for a server that is silent.
func TestFollowWaitsForItsLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t)
		n.serve(script(welcome + stateOne + diff("x.1", "x.2", "bob") + message("weather", "rain") + "…"))
		var got []string
		began := time.Now()
		for e := range client.Follow(t.Context(), "http://forum.test/presence", []presence.Topic{presence.Site}, client.Options{HTTP: n.http}) {
			got = append(got, word(e))
			if _, lost := e.(client.Lost); lost {
				break
			}
			time.Sleep(5 * time.Minute)
		}
		if want := []string{"welcome", "state x.1 of 1", "diff x.2 +bob", "lost (the server is silent)"}; !slices.Equal(got, want) || time.Since(began) != 15*time.Minute+45*time.Second {
			t.Errorf("got %q after %v, want %q after 15m45s", got, time.Since(began), want)
		}
	})
}

// The error for an unreachable server does not contain the URL, which may hold a secret.
func TestFollowSaysNoURL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t) // nobody listens
		for e := range client.Follow(t.Context(), "http://forum.test/presence?key=secret", []presence.Topic{presence.Site}, client.Options{HTTP: n.http}) {
			if got := word(e); got != "lost (nobody listens)" {
				t.Errorf("got %s, want what the network says", got)
			}
			break
		}
	})
}

// Follow returns soon after its context has ended, wherever it stands.
func TestFollowEndsWithItsContext(t *testing.T) {
	for name, server := range map[string]http.Handler{
		"streaming": script(welcome + stateOne + "…"),
		"waiting":   http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }),
		"asking":    http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNetwork(t)
				n.serve(server)
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				began := time.Now()
				if _, err := n.follow(ctx, client.Options{}); err != nil || time.Since(began) != 10*time.Second {
					t.Errorf("got %v after %v, want no error after 10s", err, time.Since(began))
				}
			})
		})
	}
}
