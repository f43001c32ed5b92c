// Package metrics exports the figures of presence and handlers to Prometheus. It is a
// package of its own so that a site without Prometheus does not compile its library.
// A scrape says what each metric means.
package metrics

//go:generate go test -run TestEveryMetric -update

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A Collector reads the figures whenever it is scraped. The site registers it:
//
//	prometheus.MustRegister(metrics.NewCollector(tracker, handler))
//
// A scrape reads memory only. It costs about 6 ms for 10,000 topics, however many
// users are in them, and holds no lock while it counts. All methods may be
// called concurrently.
type Collector struct {
	tracker  *track.Tracker
	handler  *handlers.Handler
	families []family
	kinds    kinds
}

// figures are what one scrape reads.
type figures struct {
	track.Stats
	node     string
	kinds    map[string]track.KindStats
	findings []presence.Diagnosis
	streams  handlers.Stats
}

var _ prometheus.Collector = (*Collector)(nil)

// NewCollector returns a Collector of the figures of a tracker and of the handler over it.
// The handler may be nil. The figures of feeds are those of handlers.Config.Feeds.
func NewCollector(tracker *track.Tracker, handler *handlers.Handler) *Collector {
	return &Collector{tracker: tracker, handler: handler, families: slices.Concat(families(), signalFamilies(), deliveryFamilies(), peopleFamilies(), feedFamilies())}
}

// Describe implements [prometheus.Collector].
func (c *Collector) Describe(out chan<- *prometheus.Desc) {
	for _, f := range c.families {
		out <- f.desc
	}
}

// Collect implements [prometheus.Collector].
func (c *Collector) Collect(out chan<- prometheus.Metric) {
	stats := c.tracker.Stats()
	all := figures{Stats: stats, node: c.tracker.Config().Node, kinds: c.kinds.fold(stats.Kinds), findings: c.tracker.Staff().Diagnose()}
	if c.handler != nil {
		all.streams = c.handler.Stats()
	}
	for _, f := range c.families {
		f.collect(f.desc, all, out)
	}
}
