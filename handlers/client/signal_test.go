package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/handlers/client"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// typing starts a server whose topic takes signals, and returns what a follower hears there.
func (n *network) typing(ctx context.Context) (tracker *track.Tracker, said func() []string) {
	tracker, err := track.New(memstore.New(), track.Config{})
	if err != nil {
		n.t.Fatal(err)
	}
	handler := handlers.New(tracker, handlers.Config{Whispers: map[string]map[string]handlers.Whisper{
		"site": {"typing": {}, "at": {Data: func(json.RawMessage) error { return nil }}},
	}})
	n.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get("X-User")
		v := presence.Visitor{User: presence.User{ID: presence.UserID(id), Name: strings.ToUpper(id)}}
		handler.ServeHTTP(w, r.WithContext(presence.ContextWithVisitor(r.Context(), v)))
	}))
	stop := n.stop
	n.stop = func() {
		tracker.Close(context.Background())
		stop()
	}
	var all []string
	done := make(chan struct{})
	go func() {
		defer close(done)
		for e, err := range client.Follow(ctx, "http://forum.test/presence", []presence.Topic{presence.Site}, client.Options{HTTP: n.http, Hold: true, Header: map[string]string{"X-User": "bob"}}) {
			if err != nil {
				n.t.Error(err)
			}
			switch e := e.(type) {
			case client.Signals:
				for _, s := range e.Signals {
					all = append(all, fmt.Sprintf("%s %s v%d %s (%s) %.0f %s", e.Topic, s.Type, s.V, s.From, s.Name, s.For.Seconds(), s.Data))
				}
			case client.Lost:
				n.t.Errorf("the connection was lost: %v", e.Err)
			}
		}
	}()
	time.Sleep(time.Second)
	return tracker, func() []string { <-done; return all }
}

func TestWhisper(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t)
		ctx, cancel := context.WithCancel(t.Context())
		tracker, said := n.typing(ctx)
		bob := client.Options{HTTP: n.http, Header: map[string]string{"X-User": "bob"}}
		whisper := func(s presence.Signal, o client.Options) error {
			time.Sleep(time.Second)
			return client.Whisper(t.Context(), "http://forum.test/presence/", presence.Site, s, o)
		}
		for _, s := range []presence.Signal{
			{Type: "typing", For: 6 * time.Second, From: "alice"}, {Type: "typing", For: -1}, {Type: "at", V: 2, Data: json.RawMessage(`{"line":7}`)},
		} {
			if err := whisper(s, bob); err != nil {
				t.Errorf("%+v: got %v, want it taken", s, err)
			}
		}
		if err := tracker.Signal(presence.Site, presence.Signal{Type: "replies", Data: json.RawMessage(`{"n":17}`)}); err != nil {
			t.Error(err)
		}
		for _, tt := range []struct {
			signal presence.Signal
			user   string
			status int
		}{
			{presence.Signal{Type: "jumping"}, "bob", 403}, {presence.Signal{Type: "typing"}, "eve", 403},
			{presence.Signal{Type: "typing"}, "", 401}, {presence.Signal{Type: "typing", Data: json.RawMessage(`1`)}, "bob", 400},
		} {
			var refused *client.StatusError
			if err := whisper(tt.signal, client.Options{HTTP: n.http, Header: map[string]string{"X-User": tt.user}}); !errors.As(err, &refused) || refused.Status != tt.status || refused.Detail == "" {
				t.Errorf("%+v of %q: got %v, want the status %d, with a detail", tt.signal, tt.user, err, tt.status)
			}
		}
		if err := whisper(presence.Signal{Type: "No"}, bob); !errors.Is(err, presence.ErrInvalidSignal) {
			t.Errorf("got %v, want an invalid signal", err)
		}
		if err := client.Whisper(t.Context(), "forum.test", presence.Site, presence.Signal{Type: "typing"}, bob); err == nil {
			t.Error("got no error of an URL without a scheme")
		}
		time.Sleep(time.Second)
		cancel()
		want := []string{"site typing v1 bob (BOB) 6 ", "site typing v1 bob (BOB) -1 ", `site at v2 bob (BOB) 0 {"line":7}`, `site replies v1  () 0 {"n":17}`}
		if got := said(); !slices.Equal(got, want) {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

// E2: what a later version may send is passed over, and the connection goes on. No signal moves
// the cursor.
func TestSignalsOfALaterVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t)
		signal := func(data string) string { return "event: signal\ndata: " + data + "\n\n" }
		n.serve(script(welcome + stateOne +
			signal(`{"topic":"site","later":{},"signals":[{"type":"typing","v":1,"from":"bob","name":"Bob","for":0.3,"later":[1]},{"type":"Later/2","v":1},{"type":7},{"type":"replies","v":9,"data":{"n":1,"m":2}}]}`) +
			signal(`{"topic":"site","signals":[]}`) + signal(`{"topic":"site"}`) + signal(`{"topic":"other","signals":[{"type":"typing","v":1}]}`) +
			signal(`{"topic":"site","signals":"many"}`) + signal(`none`) + signal(`{"topic":"site","signals":[{"type":"typing","from":"`+"\\u001b"+`[2J"}]}`) +
			diff("x.1", "x.2", "bob")))
		var got []string
		for e, err := range client.Follow(t.Context(), "http://forum.test/presence", []presence.Topic{presence.Site}, client.Options{HTTP: n.http}) {
			if err != nil {
				break
			}
			if s, ok := e.(client.Signals); ok {
				for _, one := range s.Signals {
					got = append(got, fmt.Sprintf("%s %s v%d %v", one.From, one.Type, one.V, one.For))
				}
				continue
			}
			got = append(got, word(e))
		}
		want := []string{"welcome", "state x.1 of 1", "bob typing v1 300ms", " replies v9 0s", "diff x.2 +bob", "lost (EOF)"}
		if !slices.Equal(got, want) {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}
