package track_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

func TestSubscribe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, memstore.New(), track.Config{MaxTopicsPerConnection: 2})
		w := openPage(t, tracker, track.ConnectOptions{Topics: []presence.Topic{"thread:1"}})
		w.want("state ")
		alice := openPage(t, tracker, track.ConnectOptions{Visitor: visitor("alice")})
		alice.want("state alice")
		subscribe := func(topic presence.Topic, want error) {
			t.Helper()
			if err := alice.conn.Subscribe(t.Context(), topic, ""); !errors.Is(err, want) {
				t.Errorf("Subscribe(%q): got %v, want %v", topic, err, want)
			}
		}
		subscribe("thread:1", nil)
		subscribe("thread:1", nil)
		subscribe("thread:2", presence.ErrTooManyTopics)
		alice.want("state alice")
		w.want("diff +alice -")

		alice.conn.WantState("thread:1")
		alice.want("state alice")
		at := alice.conn.Cursor()
		alice.conn.Unsubscribe("thread:1")
		alice.conn.Unsubscribe("thread:1")
		time.Sleep(time.Minute)
		alice.want()
		w.want("diff + -alice")
		if alice.conn.Cursor() == at {
			t.Errorf("got cursor %q with a topic that is gone", at)
		}

		subscribe("thread:2", nil)
		alice.want("state alice")
		alice.conn.Unsubscribe("thread:2")
		alice.conn.Close()
		subscribe("thread:1", alice.conn.Err())
		time.Sleep(time.Minute)
		w.want()
	})
}
