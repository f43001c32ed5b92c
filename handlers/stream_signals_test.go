package handlers_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

const thread1 = "topic=thread:1"

// A signal comes with the stream to all who follow the topic, to the sender's other tab too, and
// ends by a word.
func TestSignals(t *testing.T) {
	over(t, allTransports, func(t *testing.T, over transport) {
		s := newTypingSite(t, setup{})
		s.listen(request{path: "events?" + thread1, user: "bob"}).started(1).drain()
		alice := s.follow(over, thread1+"&observe=1", "alice").started(1)
		tab := s.follow(over, thread1+"&observe=1", "bob").started(1)
		heard, own := alice.feed(), tab.feed()
		time.Sleep(time.Second)
		s.types("bob", 6)
		for _, told := range []<-chan event{heard, own} {
			if e := <-told; e.typ != "signal" || e.says() != "bob typing 6" || e.data.Topic != "thread:1" {
				t.Errorf("got %s %q of %q, want the signal bob typing 6 of thread:1", e.typ, e.says(), e.data.Topic)
			}
		}
		time.Sleep(time.Second)
		s.types("bob", -1)
		if e := <-heard; e.says() != "bob typing -1" {
			t.Errorf("got %s %q, want an end", e.typ, e.says())
		}
		// S4: a diff that comes now goes on where the state was.
		s.tracker.Seen("thread:1", presence.User{ID: "dora"}, presence.Device{})
		if e := <-heard; e.typ != "diff" || keys(e.data.Joins) != "dora" {
			t.Errorf("got %s, joins %q, want the diff in which dora joins", e.typ, keys(e.data.Joins))
		}
	})
}

// A newcomer gets the state, and then what stands, with the rest of its time. Nobody who comes
// back gets a signal that is over, and no signal changes what a cursor leads to.
func TestSignalsStandForNewcomers(t *testing.T) {
	over(t, allTransports, func(t *testing.T, over transport) {
		s := newTypingSite(t, setup{})
		s.listen(request{path: "events?" + thread1, user: "bob"}).started(1).drain()
		before := s.follow(over, thread1+"&observe=1", "").started(1)
		cursor := before.last
		before.close()
		time.Sleep(time.Second)
		s.types("bob", 20)
		s.tracker.Signal("thread:1", presence.Signal{Type: "replies", Data: json.RawMessage(`{"n":17}`)}) // stands not
		time.Sleep(4 * time.Second)
		late := s.follow(over, thread1+"&observe=1", "").started(1)
		late.wantSignals("bob typing 16")
		if over.path != "poll" && late.last != cursor {
			t.Errorf("got the id %q after the signals, want %q: a signal moves no cursor", late.last, cursor)
		}
		late.close()

		// who resumes has missed nothing but what stands; a poll is told when it has news
		back := s.resume(over, thread1+"&observe=1", "", cursor)
		back.want("welcome")
		told := back.feed()
		if over.path == "poll" {
			time.Sleep(3 * time.Second)
			if len(told) > 0 {
				t.Errorf("got %+v, want a poll to wait: nothing is new", <-told)
			}
		} else if e := <-told; e.says() != "bob typing 16" {
			t.Errorf("got %s %q, want what stands", e.typ, e.says())
		}
		s.tracker.Seen("thread:1", presence.User{ID: "dora"}, presence.Device{})
		e := <-told
		if e.typ != "diff" || keys(e.data.Joins) != "dora" {
			t.Errorf("got %s, joins %q, want the one diff that was missed", e.typ, keys(e.data.Joins))
		}
		if over.path == "poll" {
			if e := <-told; e.says() != "bob typing 13" {
				t.Errorf("got %s %q, want what stands beside the news", e.typ, e.says())
			}
		}
	})
}

// E2: a page that knows no signals takes a stream for dead that has no other event for some
// heartbeats. So signals put off no heartbeat.
func TestSignalsPutOffNoHeartbeat(t *testing.T) {
	for _, topics := range []string{"topic=thread:1", "topic=thread:1&topic=thread:2"} {
		over(t, streams, func(t *testing.T, over transport) {
			s := newTypingSite(t, setup{})
			l := s.follow(over, topics+"&observe=1", "").started(1 + len(topics)/20)
			time.Sleep(time.Second)
			go func() {
				for range 175 {
					s.tracker.Signal("thread:1", presence.Signal{Type: "replies"})
					time.Sleep(300 * time.Millisecond)
				}
			}()
			beats, signals := 0, 0
			last := time.Now()
			for begin := time.Now(); time.Since(begin) < 55*time.Second; {
				e, ok := l.next()
				switch {
				case !ok:
					t.Fatal("the stream has ended")
				case e.typ == "signal":
					signals++
				case e.data.Topic == "thread:1":
					if gap := time.Since(last); gap > 16*time.Second {
						t.Errorf("got nothing but signals for %v, want a heartbeat after 15s", gap)
					}
					last = time.Now()
					beats++
				}
			}
			if beats < 3 || signals < 100 {
				t.Errorf("got %d heartbeats and %d signals in 55 s, want 3 and more than 100", beats, signals)
			}
		})
	}
}

// A poll that has a cursor waits although a signal stands, and answers at once to a new one.
func TestPollWaitsThoughASignalStands(t *testing.T) {
	over(t, []transport{overPoll}, func(t *testing.T, _ transport) {
		s := newTypingSite(t, setup{})
		s.listen(request{path: "events?" + thread1, user: "bob"}).started(1).drain()
		first, _ := s.poll(thread1+"&observe=1", "")
		time.Sleep(time.Second)
		s.types("bob", 30)
		time.Sleep(time.Second)
		quiet, took := s.poll(thread1+"&observe=1&wait=5&cursor="+first.Cursor, "")
		if took < 5*time.Second {
			t.Errorf("a poll with a cursor was answered after %v, want it to wait: the signal stood before", took)
		}
		if n := len(quiet.Events); n != 1 || quiet.Events[0].Event != "signal" {
			t.Errorf("got %+v, want what stands beside nothing else", quiet.Events)
		}
		go func() {
			time.Sleep(2 * time.Second)
			s.types("bob", -1)
		}()
		ended, took := s.poll(thread1+"&observe=1&wait=25&cursor="+quiet.Cursor, "")
		if took > 3*time.Second || len(ended.Events) != 1 || ended.Cursor != first.Cursor {
			t.Errorf("got %+v at %q after %v, want the end after 2 s, at the same cursor", ended.Events, ended.Cursor, took)
		}
	})
}
