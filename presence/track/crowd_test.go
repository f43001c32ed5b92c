package track_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A crowd is a tracker with people, and the directory that it asks.
type crowd struct {
	*track.Tracker
	t         *testing.T
	directory *presencetest.MemoryDirectory
}

// startCrowd is start with people.
func startCrowd(t *testing.T, store backend.Store, d *presencetest.MemoryDirectory) crowd {
	t.Helper()
	tracker := start(t, store, track.Config{Directory: d})
	time.Sleep(10 * time.Millisecond) // the devices are loaded
	return crowd{tracker, t, d}
}

// withCrowd runs a test in a bubble, with one node.
func withCrowd(t *testing.T, test func(t *testing.T, c crowd)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, startCrowd(t, memstore.New(), presencetest.NewMemoryDirectory())) })
}

func device(id, kind string) presence.Device {
	return presence.Device{ID: presence.DeviceID(id), Kind: kind}
}

// on brings users online, each with one device, and with settings.
func (c crowd) on(s presence.Settings, users ...string) {
	for _, id := range users {
		c.DeviceOn(user(id), device("d", presence.Desktop), s, time.Time{})
	}
	c.settle()
}

func (c crowd) off(users ...string) {
	for _, id := range users {
		c.DeviceOff(presence.UserID(id), "d")
	}
	c.settle()
}

// choose changes the settings of a user who is online, now.
func (c crowd) choose(id string, s presence.Settings) {
	c.Choose(presence.UserID(id), "d", s, time.Now().UTC())
	c.settle()
}

// settle waits until the windows are over.
func (c crowd) settle() {
	time.Sleep(300 * time.Millisecond)
	synctest.Wait()
}

func ids(names ...string) []presence.UserID {
	all := make([]presence.UserID, len(names))
	for i, name := range names {
		all[i] = presence.UserID(name)
	}
	return all
}

// peopleOptions are those of a connection that watches people, and shows nobody its user.
func peopleOptions(viewer string, people ...string) track.ConnectOptions {
	return track.ConnectOptions{
		Visitor: visitor(viewer), Observe: true, Topics: []presence.Topic{presence.PeopleTopic}, People: ids(people...),
	}
}

// watch opens the page of a viewer.
func (c crowd) watch(viewer string, people ...string) *page {
	c.t.Helper()
	return openPage(c.t, c.Tracker, peopleOptions(viewer, people...))
}

// since is when the latest join of a user says that the user came.
func (p *page) since(id string) time.Time {
	p.t.Helper()
	at, err := time.Parse(time.RFC3339, p.joined[id])
	if err != nil {
		p.t.Error(err)
	}
	return at
}

// A cutStore is out while cut is set.
type cutStore struct {
	backend.Store
	cut atomic.Bool
}

func (s *cutStore) Counts(ctx context.Context, topics ...presence.Topic) ([]backend.Counts, error) {
	if s.cut.Load() {
		return nil, errors.New("cut")
	}
	return s.Store.Counts(ctx, topics...)
}

// drain has Ready not receive until something happens.
func drain(c *track.Connection) {
	for len(c.Ready()) > 0 {
		<-c.Ready()
	}
}

// data returns what a connection reads now, one line an event.
func data(c *track.Connection) (lines []string) {
	for _, e := range c.Events(nil) {
		lines = append(lines, fmt.Sprintf("%s %s", e.Type, e.Data))
	}
	return lines
}

func wantLines(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

// diffed is what the one event of a connection says; the test fails for another number.
func diffed(t *testing.T, c *track.Connection) (d payload) {
	t.Helper()
	events := c.Events(nil)
	if len(events) != 1 {
		t.Fatalf("got %d events, want one", len(events))
	}
	noError(t, json.Unmarshal(events[0].Data, &d))
	return d
}
