package track

import (
	"context"
	"log/slog"
	"sync"

	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/deliver"
)

// A Tracker is the part of a fleet in one process. It collects what happens here, writes it to the store in
// small batches, and keeps a replica of each topic that somebody here looks at. A process needs one Tracker.
// All methods may be called concurrently. [New] makes one, [Tracker.Close] ends it.
//
// Its methods are the public verbs. Each calls the part that does the work. They are in tracker_site.go,
// tracker_pages.go, tracker_transport.go and tracker_jobs.go, by who calls them. [Tracker.People] and
// [Tracker.Staff] have the others.
type Tracker struct {
	cfg      *Config
	process  string // names this process in the fleet, and begins the Holder of each connection
	stats    *counters
	life     *lifetime
	store    *timedStore
	found    *findings // mistakes in how the site is wired
	browsers *browsers
	fleet    *fleet // the other nodes

	users          *users          // what this node knows of each user
	writer         *writer         // what waits to be written
	outage         *outage         // whether the store can be trusted
	notices        *notices        // messages to and from all nodes
	seal           *seal           // the secret that signs tokens
	directory      *directoryCalls // the site's knowledge of people
	topics         *topics         // the topics that are kept current here
	records        *records
	devices        *deviceRoster
	lastSeen       *lastSeen // waits to be written to the Directory
	lastSeenWriter *lastSeenWriter
	choices        *choices
	attention      *attention
	leases         *leases
	poller         *poller
	signOuts       *signOuts
	acts           *acts
	peopleHere     *peopleHere
	people         *People
	sources        *sources // what a connection can read
	opener         *opener
	tokens         *tokens
	signals        *signals
	recent         *recent
	counts         *countReader
	attendance     *attendance
	pages          *pageViews
	jobs           *jobs
	staff          *Staff
	places         *places
	eraser         *eraser

	deliveries *deliver.Consumers // events for Go programs
}

// New returns a Tracker over a store, and starts its goroutines. An unreachable store is
// not an error: New succeeds, and presence starts once the store is back. New returns
// an error that is [presence.ErrInvalidConfig] and names every field that is wrong.
func New(store backend.Store, cfg Config) (*Tracker, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	cfg.Logger = cfg.Logger.With(slog.String("node", cfg.Node))
	t := newTracker(store, &cfg)
	t.start()
	return t, nil
}

// newTracker makes the parts, each after those that it needs.
func newTracker(inner backend.Store, cfg *Config) *Tracker {
	process, stats, life, store := newProcess(cfg.Node), newCounters(), newLifetime(), newTimedStore(inner)
	generation := &generation{process: process}
	forgotten := func(entries int) { stats.forgotten.Add(uint64(entries)) }
	directory, notices, seal := newDirectoryCalls(cfg.Directory, cfg.Logger), newNotices(store, life, maxPending), newSeal(store, cfg.Secret)
	users, peaks := newUsers(cfg, forgotten), newPeaks(forgotten)
	writer := newWriter(stats)
	outage := newOutage(cfg, writer.size, writer.retry.Wake)

	news := newDeviceNews()
	topics := newTopics(cfg, life, &topicEnv{
		store: store, outage: outage, cfg: cfg, stats: stats, spawn: func(fn func(context.Context)) { life.spawn(fn) },
		records: users.records, writer: writer, peaks: peaks, process: process,
		probes: &sync.Pool{New: func() any { return new(entry) }},
	}, news)
	records := &records{cfg, store, writer, peaks, topics, notices}
	devices := &deviceRoster{directory, topics}
	where := &whereabouts{users, topics, devices}

	lastSeen := newLastSeen(directory.on(), forgotten)
	choices := (&choices{
		cfg: cfg, life: life, stats: stats, store: store, outage: outage, writer: writer, users: users, topics: topics,
		notices: notices, directory: directory, devices: devices, where: where, lastSeen: lastSeen,
	}).begin(forgotten)
	attention := &attention{writer, users}
	guests := newGuestCounts(cfg, life, store, writer, topics, users)
	leases := (&leases{
		cfg: cfg, life: life, stats: stats, outage: outage, writer: writer, users: users, topics: topics,
		notices: notices, seal: seal, guests: guests, choices: choices, generation: generation,
	}).begin()
	topics.env.restore = leases.restore // no topic is read yet
	signOuts := &signOuts{cfg, store, outage, writer, users, topics, notices, devices, where, leases, lastSeen}
	acts := newActs(cfg.Logger, users, notices, generation)
	people := (&peopleHere{cfg: cfg, life: life, stats: stats, store: store, topics: topics, directory: directory, news: news}).begin()
	sources := newSources(topics, people.openers())
	env := &connectionEnv{
		cfg: cfg, life: life, stats: stats, outage: outage, writer: writer, users: users, topics: topics, sources: sources, seal: seal,
		choices: choices, attention: attention, leases: leases, guests: guests, lastSeen: lastSeen, people: directory.on(),
	}
	deliveries := deliver.New(delivering(cfg, life, store, outage))
	poller := &poller{
		cfg: cfg, store: store, outage: outage, topics: topics, generation: generation, soon: wait.NewWakeup(), figures: wait.NewWakeup(), changed: make(map[presence.Topic]bool),
		renewAll: leases.renewAll, swept: leases.swept, rewrite: leases.rewriteSoon, rewritten: leases.rewritten,
	}
	leases.poller = poller
	found := &findings{logger: cfg.Logger}
	browsers := new(browsers)
	fleet := newFleet(process, store, outage, notices, seal, cfg, browsers)
	env.tokens = &tokens{cfg, life, stats, process, writer, users, topics, notices, seal, attention, leases, lastSeen, fleet, found}
	return &Tracker{
		cfg: cfg, process: process, stats: stats, life: life, store: store, fleet: fleet,
		found: found, browsers: browsers, users: users, writer: writer, outage: outage, notices: notices, seal: seal, directory: directory,
		topics: topics, records: records, devices: devices, lastSeen: lastSeen, lastSeenWriter: newLastSeenWriter(directory, users, lastSeen), choices: choices, attention: attention, leases: leases,
		poller:   poller,
		signOuts: signOuts, acts: acts, peopleHere: people,
		people:     &People{store, people, choices, signOuts, devices},
		sources:    sources,
		opener:     &opener{env, process, acts, devices},
		tokens:     env.tokens,
		signals:    newSignals(cfg, life, &stats.signals, store, topics, sources),
		recent:     (&recent{cfg: cfg, life: life, store: store, seal: seal, users: users, topics: topics, directory: directory}).begin(),
		counts:     newCountReader(store, topics),
		attendance: &attendance{store, outage, users, topics, directory},
		pages:      &pageViews{cfg, writer, users, topics, directory, devices, acts, attention, leases, lastSeen},
		jobs:       &jobs{cfg: cfg, stats: stats, store: store, outage: outage, leases: leases, poller: poller, fleet: fleet, tell: env.tokens.tell},
		staff:      &Staff{cfg, store, acts, signOuts, records, found},
		places:     newPlaces(cfg, life, store, users, topics),
		eraser: (&eraser{
			cfg: cfg, life: life, store: store, users: users, topics: topics, notices: notices, seal: seal,
			lastSeen: lastSeen, choices: choices, signOuts: signOuts, acts: acts, people: people, deliveries: deliveries,
		}).begin(),
		deliveries: deliveries,
	}
}

// start starts the goroutines.
func (t *Tracker) start() {
	t.peopleHere.start()
	go (&flusher{cfg: t.cfg, stats: t.stats, store: t.store, outage: t.outage, writer: t.writer, holdings: &holdings{cfg: t.cfg, users: t.users, choices: t.choices, writer: t.writer, generation: t.leases.generation}, hear: t.choices.hearAll, gone: &goneLeases{life: t.life, users: t.users, writer: t.writer, hear: t.leases.hear}}).run(t.life.ctx)
	for _, every := range t.cfg.renewals() {
		t.life.spawn(func(ctx context.Context) { t.leases.heartbeat(ctx, every) })
	}
	t.life.spawn(t.leases.countGuests)
	t.poller.erasures = t.eraser.told
	t.life.spawn(t.poller.run)
	t.life.spawn(t.eraser.run)
	t.life.spawn((&housekeeper{life: t.life, store: t.store, outage: t.outage, users: t.users, topics: t.topics, choices: t.choices, notices: t.notices, poller: t.poller}).run)
	t.life.spawn(t.seal.keep)
	t.life.spawn(func(ctx context.Context) { t.fleet.run(ctx, t.found.note) })
	if t.directory.on() {
		t.life.spawn(t.lastSeenWriter.run)
		t.life.spawn(t.afterOutages)
		t.life.spawn(t.choices.askWhoHid)
	}
	if !t.notices.listen(t.hear, t.outage.nextReturn, t.writer.done) || !t.store.Stats().LastOut.IsZero() { // before its last writes, the node must hear who has hidden
		t.outage.distrust() // what happened before this node began is unknown
	}
}

// afterOutages asks the Directory again when the store is back from an outage. A node that alone knew of a
// change may have ended meanwhile, and could not tell the others.
func (t *Tracker) afterOutages(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.outage.nextReturn():
			t.choices.republish()
			t.peopleHere.relationsMissed()
		}
	}
}

// close is [Tracker.Close].
func (t *Tracker) close(ctx context.Context) error {
	t.topics.stop()
	for _, c := range t.users.close() {
		c.conn.finish(presence.ErrClosed, graced)
	}
	t.choices.drain(ctx)
	t.life.stop()
	last, cancel := context.WithTimeout(ctx, applyTimeout)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer cancel()
		seen := make(chan struct{})
		go func() {
			defer close(seen)
			t.lastSeenWriter.close(last)
		}()
		<-t.writer.done
		for !t.notices.republish(last) && wait.For(last, backoffFirst) {
		}
		<-seen
		t.life.wait()
		if t.writer.size() == 0 { // otherwise a sweep ends what could not be released
			t.poller.end(last)
		}
		t.topics.close()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
