package handlers

import (
	"net/http"
	"runtime"

	"github.com/rollcall-go/rollcall/internal/viewcache"
	"github.com/rollcall-go/rollcall/presence/track"
)

// The prefix of a file's name says whose it is:
//
//	endpoint_   one path each: what a request gets
//	stream_     what a stream writes and when, whatever drives it
//	driver_     what moves a stream's bytes: a shard, a goroutine, or net/http
//	transport_  how Server-Sent Events and WebSocket format output and parse input
//	limit_      what is counted and refused
//	types_      what pages know of the site's own types

// A Handler serves the endpoints of this package over one tracker. Make it with [New]. It
// needs no Close: closing the tracker ends the streams, [Handler.Wait] waits for their
// end, and without streams no goroutine runs. All methods may be called concurrently.
type Handler struct {
	tracker   *track.Tracker
	cfg       *settings
	endpoints map[string]endpoint // by the path below the prefix
	forms     map[string]formAction
	site      *siteCode
	limits    *limits
	faults    *faults
	counters  counters

	rosterPages rosterPages
	messages    viewcache.Cache[htmlFormat, []byte] // of HTML streams
	widgets     *renderer                           // makes these messages
	sightings   *sightingCache
	types       *typeSets
	changing    userLocks // users whose settings are being changed

	rights  *rights
	shards  *shardPool
	open    openStreams
	batches batchPool
}

// New returns a Handler that serves tracker, under the Prefix of its Config. It cannot
// fail: there is no invalid Config.
func New(tracker *track.Tracker, cfg Config) *Handler {
	h := &Handler{
		tracker: tracker, cfg: newSettings(cfg, tracker),
	}
	h.faults = &faults{tracker: tracker, counters: &h.counters}
	h.site = &siteCode{cfg: h.cfg, counters: &h.counters, faults: h.faults, ending: make(chan struct{}, maxEnding), checking: make(chan struct{}, maxChecking)}
	h.types = &typeSets{downs: &downs{site: h.site}}
	h.limits = newLimits(h.cfg, h.site, &h.counters)
	h.sightings = newSightingCache()
	h.widgets = newRenderer(h)
	h.rights = newRights(h)
	h.shards = newShardPool(h, runtime.GOMAXPROCS(0))
	read := []string{http.MethodGet, http.MethodHead}
	h.endpoints = map[string]endpoint{
		"roster":  {methods: read, serve: h.roster},
		"users":   {methods: read, serve: h.users},
		"recent":  {methods: read, serve: h.recent},
		"counts":  {methods: read, serve: h.counts},
		"where":   {methods: read, serve: h.where},
		"events":  {methods: append(read, http.MethodPost), holds: true, serve: h.events},
		"ws":      {methods: []string{http.MethodGet}, holds: true, serve: h.ws},
		"poll":    {methods: []string{http.MethodGet}, holds: true, serve: h.poll},
		"beat":    {methods: []string{http.MethodPost}, serve: h.beat},
		"leave":   {methods: []string{http.MethodPost}, serve: h.leave},
		"status":  {methods: []string{http.MethodPut}, serve: h.status},
		"signal":  {methods: []string{http.MethodPost}, serve: h.signal},
		"widget":  {methods: read, serve: h.widget},
		"form/":   {methods: []string{http.MethodPost}, serve: h.form},
		"assets/": {methods: read, static: true, serve: h.assets},
	}
	h.addPeople()
	h.addFeeds()
	h.forms = h.formActions()
	return h
}
