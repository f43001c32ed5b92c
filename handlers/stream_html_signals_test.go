package handlers_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
)

// typingWidget returns a widget that has who is typing, or with another form who is there.
func typingWidget(s **site, asked *atomic.Int64) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		topic := presence.Topic(r.URL.Query().Get("topic"))
		if r.URL.Query().Get("form") != "typing" {
			fmt.Fprintf(w, "<ul>%s</ul>", (*s).names(topic))
			return
		}
		var names []string
		for _, said := range (*s).tracker.Standing(topic) {
			names = append(names, string(said.From))
		}
		fmt.Fprintf(w, "<p>%s</p>", strings.Join(names, " "))
	})
}

// A widget of who is typing comes again when somebody begins, ends, leaves, or has said nothing
// for the time of the signal. Another widget of the topic is not even rendered.
func TestMarkupOfTyping(t *testing.T) {
	for _, as := range []string{"html", "turbo"} {
		bubble(t, as, func(t *testing.T) {
			asked := new(atomic.Int64)
			var s *site
			s = newTypingSite(t, setup{handlers: handlers.Config{Widget: typingWidget(&s, asked)}})
			bob := s.listen(request{path: "events?" + thread1, user: "bob"}).started(1)
			bob.drain()
			other := s.read("events?topic=thread:1&observe=1&as="+as, "", "")
			other.next()
			typing := s.read("events?topic=thread:1&observe=1&form=typing&as="+as, "", "")
			want := func(names string) {
				t.Helper()
				text := "<p>" + names + "</p>"
				if as == "turbo" {
					text = `<turbo-stream action="replace" method="morph" targets="[data-typing='thread:1']"><template>` + text + `</template></turbo-stream>`
				}
				if m := typing.next(); m.html != text || m.id == "" {
					t.Errorf("got %+v, want %s with an id", m, text)
				}
			}
			want("")
			s.see("thread:1", "dora") // changes nothing there
			other.next()
			typing.none(2 * time.Second)
			before := asked.Load()
			s.types("bob", 6)
			want("bob")
			typing.none(4 * time.Second)
			time.Sleep(1900 * time.Millisecond)
			want("")
			s.types("bob", 30)
			want("bob")
			s.types("bob", -1)
			want("")
			other.none(time.Second)
			if got := asked.Load() - before; got > 4 {
				t.Errorf("the widget was asked for %d times, want 4: the other form does not change", got)
			}
			s.types("bob", 30)
			want("bob")
			bob.close()
			time.Sleep(11 * time.Second)
			s.sweep()
			want("")
		})
	}
}

// A page that comes back shows who types now, though it has missed no diff.
func TestMarkupOfTypingComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := new(atomic.Int64)
		var s *site
		s = newTypingSite(t, setup{handlers: handlers.Config{Widget: typingWidget(&s, asked)}})
		s.here()
		s.types("bob", 6)
		time.Sleep(time.Second)
		const path = "events?topic=thread:1&observe=1&form=typing&as=html"
		first := s.read(path, "", "").next()
		if first.html != "<p>bob</p>" {
			t.Errorf("got %q, want bob", first.html)
		}
		time.Sleep(7 * time.Second)
		if again := s.read(path, "", first.id).next(); again.html != "<p></p>" {
			t.Errorf("got %q, want nobody", again.html)
		}
	})
}
