package track

import (
	"context"
	"encoding/base64"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/internal/generations"
	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// A fleet compares this node with the others. Each node sends a notice with its state: whether it sweeps,
// which secret the site gave it, and its settings. So a node finds mistakes that it cannot see by itself.
//
// A notice is "<process> <secret> <state> <name>=<value>…". secret is a MAC of a fixed text, made with the
// secret that the site gave the node, so it does not reveal the secret. It is "-" for a node that takes the
// secret from the store. state is "sweeps" for a node that has swept in the last minute, or "-", and ends in
// ",streams" once a client has asked for a stream. agreeing returns the settings.
type fleet struct {
	process  string
	store    *timedStore
	outage   *outage
	notices  *notices
	secret   string       // its form in the notice
	settings []string     // their form in the notice
	began    time.Time    // when this node began
	own      atomic.Int64 // when this node last swept, in nanoseconds since began; 0: never
	others   atomic.Int64 // when another node last said that it sweeps
	soon     wait.Wakeup  // say so soon
	browsers *browsers

	mu    sync.Mutex
	peers *generations.Map[string, time.Time] // when this node last heard the notice of each process
}

const (
	greetEvery   = 15 * time.Second
	noJobsAfter  = time.Minute // without a sweep
	foreignAfter = time.Minute // longer than a restart, and than clocks differ
	maxPeers     = 10_000      // processes
	livesFor     = 4 * greetEvery
)

func newFleet(process string, store *timedStore, o *outage, notices *notices, seal *seal, cfg *Config, b *browsers) *fleet {
	f := &fleet{process: process, browsers: b, store: store, outage: o, notices: notices, secret: "-", settings: cfg.agreeing(), began: time.Now(), soon: wait.NewWakeup(), peers: generations.New[string, time.Time](maxPeers, nil)}
	if seal.fixed {
		mac, _ := seal.sign("fleet", "")
		f.secret = base64.RawURLEncoding.EncodeToString(mac[:9])
	}
	return f
}

// agreeing returns the settings that must be the same on every node, each as "name=value" without a space.
func (c *Config) agreeing() []string {
	prefix := url.URL{Path: c.Prefix}
	return []string{
		"Prefix=" + prefix.EscapedPath(),
		"TTL=" + c.TTL.String(),
		"NodeTTL=" + c.NodeTTL.String(),
		"Grace=" + c.Grace.String(),
		"Age=" + c.Age.String(),
	}
}

// run sends the notice of this node, and checks whether any node sweeps, and whether browsers open streams.
func (f *fleet) run(ctx context.Context, found func(presence.Finding, ...any)) {
	select {
	case <-f.notices.listening: // so that this node hears the notices of others
	case <-ctx.Done():
		return
	}
	for next := noJobsAfter; ; { // the pauses between log lines grow
		f.greet(ctx)
		if !wait.Until(ctx, f.soon, greetEvery) {
			return
		}
		if missed := f.browsers.missed(); missed != nil {
			found(presence.NotLive, append(missed, "prefix", f.outage.cfg.Prefix)...)
		}
		switch quiet := f.unswept(); {
		case quiet <= noJobsAfter:
			next = noJobsAfter
		case quiet > next && f.outage.soundFor() > noJobsAfter:
			next = 2 * quiet
			found(presence.NoJobs, "for", quiet.Round(time.Second))
		}
	}
}

// greet sends the notice of this node. A lost notice does no harm, because the next one follows.
func (f *fleet) greet(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, connectWait)
	defer cancel()
	state := "-"
	if at := f.own.Load(); at > 0 && f.since(at) < noJobsAfter {
		state = "sweeps"
	}
	if f.browsers.streamed.Load() {
		state += ",streams"
	}
	said := append([]string{f.process, f.secret, state}, f.settings...)
	_ = f.store.Publish(ctx, backend.Notice{Kind: backend.NoticeNode, Payload: strings.Join(said, " ")})
}

// hear takes a notice of any node, this one included.
func (f *fleet) hear(payload string, found func(presence.Finding, ...any)) {
	said := strings.Fields(payload)
	if len(said) < 3 || said[0] == f.process {
		return
	}
	f.mu.Lock()
	f.peers.Set(strings.Clone(said[0]), time.Now())
	f.mu.Unlock()
	state, streams := strings.CutSuffix(said[2], ",streams")
	if streams {
		meet(&f.browsers.streamed)
	}
	if state == "sweeps" {
		f.others.Store(int64(time.Since(f.began)))
	}
	node, _, _ := strings.Cut(said[0], ".")
	if said[1] != f.secret {
		found(presence.OtherSecret, "other", node)
	}
	if differ := differing(f.settings, said[3:]); differ != nil {
		found(presence.OtherSettings, append(differ, "other", node)...)
	}
}

// differing returns log attributes with the settings that have different values here and there. A setting
// that only one side has belongs to another version of the program, and is ignored.
func differing(here, there []string) (attrs []any) {
	values := make(map[string]string, len(there))
	for _, setting := range there {
		name, value, _ := strings.Cut(setting, "=")
		values[name] = value
	}
	for _, setting := range here {
		name, value, _ := strings.Cut(setting, "=")
		if other, ok := values[name]; ok && other != value {
			attrs = append(attrs, name, value+" here, "+other+" there")
		}
	}
	return attrs
}

// foreign takes a token that this fleet did not sign. It reports OtherFleet if the token's process runs at
// the same time as this one, but has sent no notice here: then the two have different stores, although pages
// of one reach the other. The process runs at the same time if it began after this one, or opened the stream
// more than a minute after this one began. Other tokens are from before a restart, which is normal for a
// store in memory.
func (f *fleet) foreign(token presence.Token, found func(presence.Finding, ...any)) {
	id, _, _ := strings.Cut(string(token), "~")
	holder := presence.Holder(id)
	process := holder.Process()
	began, ok := processBegan(process)
	opened, known := identifiedAt(holder)
	later := ok && !began.Before(f.began) || known && opened.After(f.began.Add(foreignAfter))
	if !later || process == f.process {
		return
	}
	f.mu.Lock()
	_, peer := f.peers.Get(process)
	f.mu.Unlock()
	if !peer {
		found(presence.OtherFleet)
	}
}

// lives reports whether a process has sent its notice within a time, or may have sent it before this node began. The
// connections of any other process have ended: their tokens are worth nothing.
func (f *fleet) lives(process string, within time.Duration) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	heard, _ := f.peers.Get(process)
	return time.Since(later(heard, f.began)) < within
}

// sweeps notes that this node sweeps. The first time it wakes run to send the notice at once, because a
// program that only sweeps may end soon.
func (f *fleet) sweeps() {
	now := int64(time.Since(f.began)) | 1
	if f.own.Swap(now) == 0 {
		f.soon.Wake()
	}
}

// unswept returns the time since any node swept, as far as this one knows.
func (f *fleet) unswept() time.Duration { return f.since(max(f.own.Load(), f.others.Load())) }

func (f *fleet) since(at int64) time.Duration { return time.Since(f.began) - time.Duration(at) }
