package handlers

import (
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/rollcall-go/rollcall/presence"
)

// A Handler serves the endpoints of this package over one tracker. Make it with
// [New]. It needs no closing: closing the tracker ends the streams, Wait waits until
// they have ended, and without streams nothing runs. All methods may be called
// concurrently.
type Handler struct {
	tracker   *presence.Tracker
	cfg       Config
	prefix    string                  // the tracker's
	endpoints map[string]endpoint     // by the path below the prefix
	pages     viewCache[int, *page]   // first pages of rosters, by limit
	messages  viewCache[look, []byte] // of streams as markup
	widgets   renderer                // makes these
	batches   sync.Pool               // of *batch
	addresses addresses
	admitted  atomic.Int64 // streams and polls that are open
	reads     rates        // of GET and HEAD
	writes    rates        // of PUT and POST
	statuses  meter[presence.UserID]
	sightings sightings
	rights    *rights
	faults    faults
	counters  counters
	streams   tally
	writer    *writer

	asks           bool        // the site has a Config.Authorize
	namesAddresses bool        // the site has a Config.ClientIP
	warnedOfProxy  atomic.Bool // that it has none
}

// New returns a Handler that serves tracker.
func New(tracker *presence.Tracker, cfg Config) *Handler {
	asks, namesAddresses := cfg.Authorize != nil, cfg.ClientIP != nil
	cfg = cfg.withDefaults()
	h := &Handler{
		tracker: tracker, cfg: cfg, prefix: tracker.Config().Prefix, asks: asks, namesAddresses: namesAddresses,
		addresses: addresses{most: cfg.MaxConnectionsPerAddress, open: make(map[string]int)},
		sightings: sightings{age: cfg.SightingAge},
		faults:    faults{tracker: tracker},
	}
	h.rights = newRights(h)
	h.widgets = newRenderer(h)
	h.writes.init(newPace(cfg.MaxRate, 1), &h.counters.crowded)
	h.reads.init(newPace(cfg.MaxReads, 4), &h.counters.crowded)
	h.statuses.pace, h.statuses.crowded = newPace(cfg.MaxStatuses, 5), &h.counters.crowded
	h.writer = newWriter(h, runtime.GOMAXPROCS(0))
	read := []string{http.MethodGet, http.MethodHead}
	h.endpoints = map[string]endpoint{
		"roster":  {methods: read, serve: h.roster},
		"users":   {methods: read, serve: h.users},
		"events":  {methods: read, holds: true, serve: h.events},
		"ws":      {methods: []string{http.MethodGet}, holds: true, serve: h.ws},
		"poll":    {methods: []string{http.MethodGet}, holds: true, serve: h.poll},
		"beat":    {methods: []string{http.MethodPost}, serve: h.beat},
		"leave":   {methods: []string{http.MethodPost}, serve: h.goodbye},
		"status":  {methods: []string{http.MethodPut}, serve: h.status},
		"widget":  {methods: read, serve: h.widget},
		"assets/": {methods: read, static: true, serve: h.assets},
	}
	return h
}
