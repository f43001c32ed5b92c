package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/rollcall-go/rollcall/presence/deliver"
)

// deliveryFamilies returns the metrics of consumers of [track.Tracker.Deliver]. The site's code names the
// consumers, so the values of their label are few.
func deliveryFamilies() []family {
	count := func(name, help string, value func(deliver.Stats) uint64) family {
		return byConsumer(name, help, prometheus.CounterValue, func(s deliver.Stats) float64 { return float64(value(s)) })
	}
	return []family{
		count("deliveries_told_total", "Events that a consumer took.", func(s deliver.Stats) uint64 { return s.Told }),
		count("deliveries_failed_total", "Calls of a consumer that failed.", func(s deliver.Stats) uint64 { return s.Failed }),
		count("deliveries_repeated_total", "Events that are told again since a call of the consumer failed.", func(s deliver.Stats) uint64 { return s.Repeated }),
		count("deliveries_dropped_total", "Events that a consumer was not told: given up, or too many waited.", func(s deliver.Stats) uint64 { return s.Dropped }),
		count("deliveries_gaps_total", "Times that a consumer may have missed joins and leaves.", func(s deliver.Stats) uint64 { return s.Gaps }),
		byConsumer("deliveries_waiting", "Events that wait for a consumer; 0 on nodes that do not call it.", prometheus.GaugeValue,
			func(s deliver.Stats) float64 { return float64(s.Backlog) }),
		byConsumer("deliveries_oldest_seconds", "How long the oldest event has waited for a consumer.", prometheus.GaugeValue,
			func(s deliver.Stats) float64 { return s.Oldest.Seconds() }),
		byConsumer("deliveries_topics_left", "Topics of kinds that a consumer is not told of now, since it follows as many as it may.", prometheus.GaugeValue,
			func(s deliver.Stats) float64 { return float64(s.Left) }),
	}
}

func byConsumer(name, help string, kind prometheus.ValueType, value func(deliver.Stats) float64) family {
	return newFamily(name, help, []string{"consumer"}, func(desc *prometheus.Desc, f figures, out chan<- prometheus.Metric) {
		for consumer, s := range f.Deliveries {
			out <- prometheus.MustNewConstMetric(desc, kind, value(s), consumer)
		}
	})
}
