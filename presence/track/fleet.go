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

// A fleet knows of the other nodes what each says of itself in a notice: whether it sweeps, which
// secret the site gave it, and its settings. So a node finds mistakes that no node can see by itself.
//
// A notice says "<process> <secret> <sweeps> <name>=<value>…". secret is a MAC, made with the secret
// that the site gave the node, of a fixed text: it tells nothing about the secret. It is "-" for a node
// without one, which takes the fleet's secret from the store. sweeps is "sweeps" for a node that has
// swept lately, or "-". The settings are those of agreeing.
type fleet struct {
	process  string
	store    *timedStore
	outage   *outage
	notices  *notices
	secret   string       // as the notice says it
	settings []string     // as the notice says them
	began    time.Time    // with the node
	own      atomic.Int64 // when this node last swept, in nanoseconds since began; 0: never
	others   atomic.Int64 // when another node last said that it sweeps
	soon     wait.Wakeup  // say so soon

	mu    sync.Mutex
	peers *generations.Map[string, struct{}] // processes that this node has heard
}

const (
	greetEvery   = 15 * time.Second
	noJobsAfter  = time.Minute // without a sweep
	foreignAfter = time.Minute // more than a restart takes, and than clocks differ
	maxPeers     = 10_000      // processes
)

func newFleet(process string, store *timedStore, o *outage, notices *notices, seal *seal, cfg *Config) *fleet {
	f := &fleet{process: process, store: store, outage: o, notices: notices, secret: "-", settings: cfg.agreeing(), began: time.Now(), soon: wait.NewWakeup(), peers: generations.New[string, struct{}](maxPeers, nil)}
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

// run says what this node does, and looks whether any node sweeps.
func (f *fleet) run(ctx context.Context, found func(presence.Finding, ...any)) {
	select {
	case <-f.notices.listening: // so that this node hears the answers of others
	case <-ctx.Done():
		return
	}
	for next := noJobsAfter; ; { // the log says it less and less often
		f.greet(ctx)
		if !wait.Until(ctx, f.soon, greetEvery) {
			return
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

// greet tells the other nodes of this one. What is lost is said again.
func (f *fleet) greet(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, connectWait)
	defer cancel()
	sweeps := "-"
	if at := f.own.Load(); at > 0 && f.since(at) < noJobsAfter {
		sweeps = "sweeps"
	}
	said := append([]string{f.process, f.secret, sweeps}, f.settings...)
	_ = f.store.Publish(ctx, backend.Notice{Kind: backend.NoticeNode, Payload: strings.Join(said, " ")})
}

// hear takes what a node says of itself, this one included.
func (f *fleet) hear(payload string, found func(presence.Finding, ...any)) {
	said := strings.Fields(payload)
	if len(said) < 3 || said[0] == f.process {
		return
	}
	f.mu.Lock()
	f.peers.Set(strings.Clone(said[0]), struct{}{})
	f.mu.Unlock()
	if said[2] == "sweeps" {
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

// differing returns attributes of the log: the settings of here that have another value there. A setting
// that only one side knows is of another version of the program, and does not count.
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

// foreign takes a token that this fleet did not sign. If its process began after this one, or opened
// the stream more than a minute after this one began, and this node has not heard that process, then
// the two run at one time, share no store, and still the pages of one come to the other. A token from
// before that is the usual thing after a restart without a store that lasts.
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

// sweeps notes that this node sweeps. The first time it tells the others at once: a program that
// sweeps and ends has no other time.
func (f *fleet) sweeps() {
	now := int64(time.Since(f.began)) | 1
	if f.own.Swap(now) == 0 {
		f.soon.Wake()
	}
}

// unswept returns how long ago any node swept, as far as this one knows.
func (f *fleet) unswept() time.Duration { return f.since(max(f.own.Load(), f.others.Load())) }

func (f *fleet) since(at int64) time.Duration { return time.Since(f.began) - time.Duration(at) }
