package handlers

import (
	"net/http"

	"github.com/rollcall-go/rollcall/internal/authz"
	"github.com/rollcall-go/rollcall/internal/brief"
	"github.com/rollcall-go/rollcall/internal/gate"
	"github.com/rollcall-go/rollcall/internal/minute"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/track"
)

// The prefix of a file's name says what the file is about:
//
//	endpoint_   one subject each: what a request gets
//	stream_     what a stream writes and when, whatever drives it
//	driver_     what writes a stream's bytes: a shard, a goroutine, or net/http
//	transport_  how Server-Sent Events and WebSocket format output and parse input
//	limit_      what is counted and refused
//	types_      which versions of the site's own types pages know

// A Handler serves the endpoints of this package over one tracker. Make it with [New]. It
// needs no Close: closing the tracker ends the streams, [Handler.Wait] waits for their
// end, and without streams no goroutine runs. All methods may be called concurrently.
type Handler struct {
	tracker   *track.Tracker
	cfg       *settings
	site      *siteCode
	limits    *limits
	faults    *faults
	counters  counters
	endpoints map[string]endpoint // by the path below the prefix

	// Shared by the endpoints and the methods.
	beats   *beatEndpoints
	people  *peopleEndpoints
	rosters *rosterEndpoints
	choices *choices
	streams *streams
}

// New returns a Handler that serves tracker, under the Prefix of its Config. It cannot
// fail: there is no invalid Config.
func New(tracker *track.Tracker, cfg Config) *Handler {
	h := &Handler{tracker: tracker, cfg: newSettings(cfg, tracker)}
	h.faults = &faults{Log: minute.Log{To: tracker.Config().Logger}, tracker: tracker, counters: &h.counters}
	h.site = &siteCode{cfg: h.cfg, counters: &h.counters, faults: h.faults, ending: make(chan struct{}, maxEnding), checking: make(chan struct{}, maxChecking)}
	price := 0
	if h.cfg.hasAuthorize {
		price = gate.Question
	}
	h.site.rights = authz.NewRights(h.site.lists, price)
	h.limits = newLimits(h.cfg, h.site, &h.counters)
	h.choices = &choices{tracker: tracker, cfg: h.cfg, limits: h.limits}
	signals := &whispers{tracker: tracker, cfg: h.cfg, site: h.site, limits: h.limits}
	types := &typeSets{downs: &downs{site: h.site}}
	h.streams = newStreams(h, types, signals)
	h.beats = &beatEndpoints{tracker: tracker, cfg: h.cfg, site: h.site, limits: h.limits, counters: &h.counters}
	h.people = &peopleEndpoints{tracker: tracker, cfg: h.cfg, site: h.site, faults: h.faults, choices: h.choices}
	h.rosters = &rosterEndpoints{tracker: tracker, site: h.site, sightings: newSightingCache(), recents: brief.New[recentQuery, backend.RecentPage](answerAge, maxRecentPages)}
	feeds := &feedEndpoints{cfg: h.cfg, site: h.site, types: types}
	widget := &widgetEndpoints{tracker: tracker, cfg: h.cfg, site: h.site}

	read := []string{http.MethodGet, http.MethodHead}
	h.endpoints = map[string]endpoint{
		"roster":  {methods: read, serve: h.rosters.roster},
		"users":   {methods: read, serve: h.rosters.users},
		"recent":  {methods: read, serve: h.rosters.recent},
		"counts":  {methods: read, serve: h.rosters.counts},
		"where":   {methods: read, serve: h.rosters.where},
		"events":  {methods: append(read, http.MethodPost), holds: true, serve: h.streams.events},
		"ws":      {methods: []string{http.MethodGet}, holds: true, serve: h.streams.ws},
		"poll":    {methods: []string{http.MethodGet, http.MethodPost}, holds: true, serve: h.streams.poll},
		"beat":    {methods: []string{http.MethodPost}, serve: h.beats.beat},
		"leave":   {methods: []string{http.MethodPost}, serve: h.beats.leave},
		"status":  {methods: []string{http.MethodPut}, serve: h.choices.status},
		"signal":  {methods: []string{http.MethodPost}, serve: signals.signal},
		"widget":  {methods: read, serve: widget.widget},
		"form/":   {methods: []string{http.MethodPost}, serve: newFormEndpoints(tracker, h.people, h.faults).form},
		"assets/": {methods: read, static: true, serve: widget.assets},
	}
	if h.cfg.people { // the site has a Directory
		h.endpoints["people"] = endpoint{methods: append(read, http.MethodPost), user: true, serve: h.people.people}
		h.endpoints["settings"] = endpoint{methods: append(read, http.MethodPut), user: true, serve: h.people.ownSettings}
		h.endpoints["sessions"] = endpoint{methods: read, user: true, serve: h.people.ownSessions}
		if h.cfg.EndSession != nil {
			h.endpoints["sessions/"] = endpoint{methods: []string{http.MethodDelete}, user: true, serve: h.people.endOwnSession}
		}
	}
	if h.cfg.Feeds != nil {
		h.endpoints["feed"] = endpoint{methods: read, serve: feeds.read}
		h.endpoints["feed/"] = endpoint{methods: []string{http.MethodPost}, user: true, serve: feeds.mark}
		h.endpoints["mutes"] = endpoint{methods: append(read, http.MethodPut), user: true, serve: feeds.mutes}
	}
	return h
}
