package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
)

// signalFamilies are the metrics of signals.
func signalFamilies() []family {
	return []family{
		newFamily("signals_total", "Signals taken on this node: of the site, or of visitors.", []string{"by"},
			byWord("site", func(f figures) uint64 { return f.Signals.Site }, "visitor", func(f figures) uint64 { return f.Signals.Visitors })),
		newFamily("signals_dropped_total", "Signals that were dropped: too many senders at once in a topic, or in too many topics (pending), too many signals or bytes in a second (rate, bytes), broadcasts that the store did not take (store), or handed on more than a second late (late), senders whom the roster does not show (unseen), or too many that stand, which those who come later do not hear (standing).",
			[]string{"why"}, func(desc *prometheus.Desc, f figures, out chan<- prometheus.Metric) {
				for why, n := range map[string]uint64{"pending": f.Signals.Full, "rate": f.Signals.Often, "bytes": f.Signals.Large, "store": f.Signals.Unsent, "late": f.Signals.Late, "unseen": f.Signals.Unseen, "standing": f.Signals.Crowded} {
					out <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(n), why)
				}
			}),
		counter("broadcasts_invalid_total", "Broadcasts of signals that could not be read.", func(f figures) uint64 { return f.Signals.Invalid }),
	}
}
