package handlers_test

import (
	"bufio"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// A window has the newest users of the topic, over each transport. Who falls out is named, and so is who
// moves up; who comes back with the cursor gets the difference.
func TestWindow(t *testing.T) {
	over(t, allTransports, func(t *testing.T, over transport) {
		s := newSite(t, setup{})
		enter := func(id string) {
			s.enter(presence.User{ID: presence.UserID(id), Name: strings.ToUpper(id)})
			time.Sleep(time.Second)
		}
		for _, id := range []string{"alice", "bob", "carol"} {
			enter(id)
		}
		l := s.follow(over, "window=2", "")
		l.want("welcome")
		first := l.want("state").data
		if keys(first.Users) != "bob carol" || !slices.Equal(first.Order, []string{"carol", "bob"}) || first.Window != 2 || first.Total != 3 || !first.Truncated {
			t.Errorf("the state is %+v, want carol and bob of 3", first)
		}
		enter("dave")
		d := l.want("diff").data
		if keys(d.Joins) != "dave" || !slices.Equal(d.Out, []string{"bob"}) || len(d.Leaves) > 0 || d.Total != 4 || d.Prev != first.Cursor {
			t.Errorf("the diff is %+v, want dave in place of bob", d)
		}
		l.close()
		s.leave("dave")
		time.Sleep(3 * time.Second)
		back := s.resume(over, "window=2", "", d.Cursor)
		back.want("welcome")
		if d := back.want("diff").data; keys(d.Joins) != "bob" || keys(d.Leaves) != "dave" || d.Total != 3 {
			t.Errorf("who comes back gets %+v, want that dave left and bob is in again", d)
		}
	})
}

// Users of also are told of wherever they are, at once, and as the whole topic shows them.
func TestWindowAlso(t *testing.T) {
	over(t, allTransports, func(t *testing.T, over transport) {
		s := newSite(t, setup{})
		for _, id := range []string{"alice", "bob", "carol", "dave"} {
			s.enter(presence.User{ID: presence.UserID(id)})
			time.Sleep(time.Second)
		}
		l := s.follow(over, "window=2&also=alice&also=bob&also=eve", "")
		l.want("welcome")
		first := l.want("state").data
		if keys(first.Users) != "alice bob carol dave" || !slices.Equal(first.Order, []string{"dave", "carol"}) {
			t.Errorf("the state is %+v, want all four, and dave and carol in order", first)
		}
		began := time.Now()
		s.leave("alice")
		d := l.want("diff").data
		if keys(d.Leaves) != "alice" || time.Since(began) > 500*time.Millisecond {
			t.Errorf("%v after alice left: %+v", time.Since(began), d)
		}
		s.enter(presence.User{ID: "fay"})
		if d = l.want("diff").data; keys(d.Joins) != "fay" || !slices.Equal(d.Out, []string{"carol"}) {
			t.Errorf("the diff is %+v, want fay in place of carol", d)
		}
		l.close()
		for _, tt := range []struct{ query, want string }{
			{"window=2&also=eve&also=bob&also=alice", ""},
			{"window=2&also=bob", "state"},
			{"window=2", "state"},
			{"window=3&also=alice&also=bob&also=eve", "state"},
			{"limit=2", "state"},
		} {
			back := s.resume(over, tt.query, "", d.Cursor)
			back.want("welcome")
			if tt.want == "" {
				back.quiet(2 * time.Second)
			} else {
				back.want(tt.want)
			}
			back.close()
		}
	})
}

// A topic that is larger than the window costs 0.6 KB a second, the newest state comes within ten seconds,
// and figures each second.
func TestWindowPace(t *testing.T) {
	over(t, streams, func(t *testing.T, over transport) {
		s := newSite(t, setup{})
		for i := range 200 {
			s.enter(presence.User{ID: presence.UserID(fmt.Sprint("u", i)), Name: "Somebody with a name"})
		}
		l := s.follow(over, "window=20", "")
		l.want("welcome")
		l.want("state")
		began, diffs, last := time.Now(), 0, time.Now()
		go func() {
			for i := range 60 * 32 {
				time.Sleep(time.Second / 32)
				s.enter(presence.User{ID: presence.UserID(fmt.Sprint("v", i)), Name: "Somebody with a name"})
			}
		}()
		before := s.handler.Stats().Bytes
		for time.Since(began) < 60*time.Second {
			e, _ := l.next()
			if e.typ == "diff" {
				if gap := time.Since(last); gap > 10*time.Second+200*time.Millisecond {
					t.Errorf("%v between two diffs", gap)
				}
				diffs, last = diffs+1, time.Now()
			}
		}
		perSecond := float64(s.handler.Stats().Bytes-before) / time.Since(began).Seconds()
		if perSecond > 620 || diffs < 5 {
			t.Errorf("%.0f bytes a second, with %d diffs in a minute", perSecond, diffs)
		}
		t.Logf("%.0f bytes a second, with %d diffs in a minute", perSecond, diffs)
	})
}

// A page that nobody sees gets a heartbeat a minute, and one diff when it is seen again.
func TestHidden(t *testing.T) {
	for _, query := range []string{"", "window=2", "window=20"} {
		t.Run(query, func(t *testing.T) {
			over(t, streams, func(t *testing.T, over transport) {
				s := newSite(t, setup{})
				s.enter(presence.User{ID: "alice"})
				l := s.follow(over, query, "")
				w := l.want("welcome")
				l.want("state")
				hide := func(hidden bool) {
					t.Helper()
					if over.path == "ws" {
						talker{l, l.source.(*wsSource)}.say(fmt.Sprintf(`{"type":"hidden","hidden":%v}`, hidden))
					} else {
						s.wantStatus(request{method: "POST", path: "beat", body: fmt.Sprintf(`{"connection":%q,"hidden":%v}`, w.data.Connection, hidden)}, 204)
					}
				}
				hide(true)
				time.Sleep(time.Second)
				hidden := time.Now()
				heartbeats := 0
				go func() {
					for i := range 30 {
						s.enter(presence.User{ID: presence.UserID(fmt.Sprint("u", i))})
						time.Sleep(5 * time.Second)
					}
					s.enter(presence.User{ID: "zoe"})
				}()
				for time.Since(hidden) < 170*time.Second {
					e, _ := l.next()
					if e.typ != "heartbeat" {
						t.Fatalf("%v after it was hidden the page gets %+v", time.Since(hidden), e)
					}
					heartbeats++
				}
				if heartbeats > 3 {
					t.Errorf("got %d heartbeats in %v", heartbeats, time.Since(hidden))
				}
				shown := time.Now()
				hide(false)
				d := l.want("diff").data
				if _, zoe := d.Joins["zoe"]; !zoe || d.Total != 32 || time.Since(shown) > 100*time.Millisecond {
					t.Errorf("%v after it was shown the page gets %+v, want one diff with zoe", time.Since(shown), d)
				}
				l.quiet(10 * time.Second)
			})
		})
	}
}

// A stream of a window, or of the whole roster, goes on from the cursor that a page was rendered with.
func TestWindowFromPage(t *testing.T) {
	over(t, allTransports, func(t *testing.T, over transport) {
		s := newSite(t, setup{})
		for _, id := range []string{"alice", "bob", "carol"} {
			s.enter(presence.User{ID: presence.UserID(id)})
			time.Sleep(time.Second)
		}
		view, err := s.tracker.View(t.Context(), presence.Site)
		noError(t, err)
		pages := map[string]string{"window=2&also=alice": string(view.PageCursor(2)), "window=20": string(view.PageCursor(20)), "window=1": string(view.PageCursor(0)), "": string(view.PageCursor(2))}
		for query, page := range pages {
			if query == "" {
				continue
			}
			l := s.resume(over, query, "", page)
			l.want("welcome")
			if d := l.want("diff").data; len(d.Joins)+len(d.Leaves)+len(d.Out) > 0 || d.Prev != page || d.Cursor == page {
				t.Errorf("%s: got %+v, want a diff without users from %s", query, d, page)
			}
			l.close()
		}
		s.enter(presence.User{ID: "dave"})
		time.Sleep(time.Second)
		for query, page := range pages {
			l := s.resume(over, query, "", page)
			l.want("welcome")
			if d := l.want("diff").data; keys(d.Joins) != "dave" || query != "" && d.Prev != page {
				t.Errorf("%s: got %+v, want a diff with dave from %s", query, d, page)
			}
			l.close()
		}
	})
}

// A hidden page that beats by itself is stirred each time that a beat is due: browsers slow down its timers. That
// is a comment, and no event.
func TestHiddenPageIsStirred(t *testing.T) {
	onSite(t, setup{}, func(t *testing.T, s *site) {
		resp := s.do(request{path: "events?beat=auto", user: "alice"})
		defer resp.Body.Close()
		lines := bufio.NewScanner(resp.Body)
		token := ""
		for token == "" && lines.Scan() {
			if _, rest, ok := strings.Cut(lines.Text(), `{"connection":"`); ok {
				token, _, _ = strings.Cut(rest, `"`)
			}
		}
		hide := func(hidden bool) {
			s.wantStatus(request{method: "POST", path: "beat", user: "alice", body: fmt.Sprintf(`{"connection":%q,"hidden":%v}`, token, hidden)}, 204)
		}
		hide(true)
		began, comments, heartbeats := time.Now(), 0, 0
		for time.Since(began) < 3*time.Minute && lines.Scan() {
			switch {
			case strings.HasPrefix(lines.Text(), ":"):
				comments++
				s.wantStatus(says("beat", "alice", token), 204)
			case strings.HasPrefix(lines.Text(), "event: heartbeat"):
				heartbeats++
			}
		}
		if comments < 8 || comments > 11 || heartbeats > 3 {
			t.Errorf("in three minutes a hidden page gets %d comments and %d heartbeats, want one comment each 20 s and one heartbeat a minute", comments, heartbeats)
		}
		if got := s.names(presence.Site); got != "alice" {
			t.Errorf("online is %q after three minutes, want alice, who beats when she is stirred", got)
		}
	})
}

// The words of a cursor that a client made up come back to nobody, also not to the client: they are neither JSON nor an
// event.
func TestWindowFromMadeUpCursor(t *testing.T) {
	over(t, allTransports, func(t *testing.T, over transport) {
		s := newSite(t, setup{})
		s.enter(presence.User{ID: "alice"})
		time.Sleep(time.Second)
		view, err := s.tracker.View(t.Context(), presence.Site)
		noError(t, err)
		_, sum, _ := strings.Cut(string(view.PageCursor(2)), ".p2.")
		for _, query := range []string{"window=2", ""} {
			for _, words := range []string{`p1","total":999,"x":"y`, "p1\n\nevent: state\n", "p01", "p", "p-1", "wx", "p1x", "p2\u2028"} {
				l := s.resume(over, query, "", string(view.Cursor)+"."+words+"."+sum)
				l.want("welcome")
				if query != "" || strings.ContainsAny(words, `"\n`+"\u2028") {
					if d := l.want("state").data; d.Total != 1 {
						t.Errorf("%q: got %+v, want a state", words, d)
					}
				}
				l.close()
			}
		}
	})
}
