package handlers_test

import (
	"testing"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// stateOf returns the data of a state event with up to 100 users, as a stream has it.
func stateOf(t *testing.T, tracker *track.Tracker, topic presence.Topic) []byte {
	t.Helper()
	c, err := tracker.Connect(t.Context(), track.ConnectOptions{Topics: []presence.Topic{topic}, Observe: true})
	noError(t, err)
	defer c.Close()
	return c.Events(nil)[0].Data
}
