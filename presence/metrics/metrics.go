// Package metrics gives a [presence.Tracker]'s figures to Prometheus. It stands
// apart so that a site without Prometheus does not get its library.
package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rollcall-go/rollcall/presence"
)

// A Collector reads a tracker's figures whenever it is scraped, and keeps none
// of its own. The site registers it:
//
//	prometheus.MustRegister(metrics.NewCollector(tracker))
type Collector struct {
	tracker *presence.Tracker
	kinds   []family[presence.KindStats]
	totals  []family[presence.Stats]
}

// A family is one metric, with where its value comes from.
type family[T any] struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(T) float64
}

var _ prometheus.Collector = (*Collector)(nil)

// NewCollector returns a Collector of a tracker's figures. It may be scraped
// concurrently.
func NewCollector(tracker *presence.Tracker) *Collector {
	c := &Collector{tracker: tracker}
	byKind := func(name, help string, value func(presence.KindStats) float64) {
		c.kinds = append(c.kinds, family[presence.KindStats]{
			prometheus.NewDesc("presence_"+name, help, []string{"kind"}, nil), prometheus.GaugeValue, value})
	}
	byKind("topics", "Topics kept current on this node, by the part before the colon.", func(k presence.KindStats) float64 { return float64(k.Topics) })
	byKind("users_online", "Visible users online in those topics.", func(k presence.KindStats) float64 { return float64(k.Users) })
	byKind("guests", "Guests in those topics, of one to two age periods, estimated.", func(k presence.KindStats) float64 { return float64(k.Guests) })

	total := func(kind prometheus.ValueType, name, help string, value func(presence.Stats) float64) {
		c.totals = append(c.totals, family[presence.Stats]{prometheus.NewDesc("presence_"+name, help, nil, nil), kind, value})
	}
	gauge, counter := prometheus.GaugeValue, prometheus.CounterValue
	total(gauge, "connections", "Live streams open on this node.", func(s presence.Stats) float64 { return float64(s.Connections) })
	total(gauge, "pending_operations", "Operations that wait for the store.", func(s presence.Stats) float64 { return float64(s.Pending) })
	total(counter, "diffs_received_total", "Diffs that came from the store.", func(s presence.Stats) float64 { return float64(s.DiffsReceived) })
	total(counter, "diffs_published_total", "Diffs given to readers on this node, after merging.", func(s presence.Stats) float64 { return float64(s.DiffsPublished) })
	total(counter, "diffs_merged_total", "Diffs that went into the frame of another.", func(s presence.Stats) float64 { return float64(s.DiffsMerged) })
	total(counter, "gaps_total", "Times that a diff was lost on the way and the log was read.", func(s presence.Stats) float64 { return float64(s.Gaps) })
	total(counter, "resync_states_total", "States sent to readers who had lagged too far behind.", func(s presence.Stats) float64 { return float64(s.Resyncs) })
	total(counter, "store_errors_total", "Calls of the store that failed.", func(s presence.Stats) float64 { return float64(s.StoreErrors) })
	total(counter, "dropped_operations_total", "Page views and heartbeats forgotten while the store was out.", func(s presence.Stats) float64 { return float64(s.Dropped) })
	total(counter, "aborted_connections_total", "Streams that ended before they were open.", func(s presence.Stats) float64 { return float64(s.Aborted) })
	return c
}

// Describe implements [prometheus.Collector].
func (c *Collector) Describe(out chan<- *prometheus.Desc) {
	for _, f := range c.kinds {
		out <- f.desc
	}
	for _, f := range c.totals {
		out <- f.desc
	}
}

// Collect implements [prometheus.Collector]. It reads memory only.
func (c *Collector) Collect(out chan<- prometheus.Metric) {
	stats := c.tracker.Stats()
	for kind, k := range stats.Kinds {
		for _, f := range c.kinds {
			out <- prometheus.MustNewConstMetric(f.desc, f.kind, f.value(k), kind)
		}
	}
	for _, f := range c.totals {
		out <- prometheus.MustNewConstMetric(f.desc, f.kind, f.value(stats))
	}
}
