package track_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// Two devices of alice, each at a node of its own, and a watcher.
type devices struct {
	t       *testing.T
	nodes   [2]*track.Tracker
	devices [2]*track.Connection
}

func newDevices(t *testing.T) *devices {
	store := memstore.New()
	d := &devices{t: t}
	for i := range d.nodes {
		d.nodes[i] = start(t, store, track.Config{})
		d.devices[i] = d.connect(i, false)
	}
	return d
}

func (d *devices) connect(node int, idle bool) *track.Connection {
	return connect(d.t, d.nodes[node], track.ConnectOptions{
		Visitor: visitor("alice"), Topics: []presence.Topic{presence.Site, "thread:1"}, Idle: idle,
	})
}

// attend has each device say for a while, with its beats, whether somebody is there.
func (d *devices) attend(idle ...bool) {
	d.t.Helper()
	for range 6 {
		for i, is := range idle {
			d.nodes[i].Beat(d.t.Context(), d.devices[i].Token(), visitor("alice"), idlePage(is))
			d.nodes[i].Beat(d.t.Context(), d.devices[i].Token(), visitor("mallory"), idlePage(!is))
		}
		time.Sleep(10 * time.Second)
	}
}

// want checks what both nodes show in both topics, to others.
func (d *devices) want(status string) {
	d.t.Helper()
	synctest.Wait()
	for i, node := range d.nodes {
		for _, topic := range []presence.Topic{presence.Site, "thread:1"} {
			view, err := node.View(d.t.Context(), topic)
			noError(d.t, err)
			m, _ := view.Member("alice")
			shown, err := json.Marshal(m)
			noError(d.t, err)
			if got := string(m.Status.Shown()); got != status || status != "" && !strings.Contains(string(shown), `"status":"`+status+`"`) {
				d.t.Errorf("%s on node %d: got status %q and %s, want %q", topic, i, got, shown, status)
			}
		}
	}
}

func (d *devices) choose(status presence.Status) {
	d.t.Helper()
	noError(d.t, d.nodes[0].SetStatus(d.t.Context(), "alice", status))
	time.Sleep(time.Second)
}

func TestIdle(t *testing.T) {
	for name, play := range map[string]func(*devices){
		"away when nobody is at any device": func(d *devices) {
			d.attend(true, false)
			d.want("online")
			d.attend(true, true)
			d.want("away")
			for range 5 {
				d.attend(true, true)
			}
			d.want("away")
			d.attend(true, false)
			d.want("online")
		},
		"the device that was attended goes": func(d *devices) {
			d.attend(true, false)
			d.devices[1].Close()
			for range 6 {
				d.attend(true)
			}
			d.want("away")
		},
		"a page that opens is attended, one that comes back need not be": func(d *devices) {
			for range 6 {
				d.attend(true, true)
			}
			d.devices[0].Close()
			d.devices[0] = d.connect(0, true)
			time.Sleep(time.Second)
			d.want("away")
			d.connect(0, false)
			time.Sleep(time.Second)
			d.want("online")
		},
		"a page view is somebody": func(d *devices) {
			for range 6 {
				d.attend(true, true)
			}
			d.nodes[1].Seen(presence.Site, user("alice"), presence.Device{})
			time.Sleep(time.Second)
			d.want("online")
		},
		"what a user chose stays": func(d *devices) {
			for status, shown := range map[presence.Status]string{"busy": "busy", "away": "away", "invisible": ""} {
				d.choose(status)
				for range 6 {
					d.attend(true, true)
				}
				d.want(shown)
				d.attend(false, false)
				d.want(shown)
			}
			d.choose("online")
			d.want("online")
		},
		"a choice brings an idle user back": func(d *devices) {
			for range 6 {
				d.attend(true, true)
			}
			d.want("away")
			d.choose("busy")
			d.want("busy")
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { play(newDevices(t)) })
		})
	}
}

func TestNobodyChoosesIdle(t *testing.T) {
	if _, err := presence.ParseStatus("idle"); err == nil {
		t.Error("got no error for the status idle, want one")
	}
}
