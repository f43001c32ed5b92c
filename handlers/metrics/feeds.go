package metrics

import (
	"maps"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rollcall-go/rollcall/presence/feed"
)

// feedFamilies are the metrics of feeds. A site without handlers.Config.Feeds has none of
// them. No value is about one user.
func feedFamilies() []family {
	return []family{
		feedGauge("feed_lines", "Feeds that pages of this node follow, or followed a minute ago.", func(s *feed.Stats) float64 { return float64(s.Lines) }),
		feedGauge("feed_outbox_waiting", "Messages in the outbox of the whole fleet that are not in feeds yet, as of 15 s ago at most.", func(s *feed.Stats) float64 { return float64(s.Waiting) }),
		feedGauge("feed_outbox_oldest_seconds", "How long the oldest of these messages has waited since it was due.", func(s *feed.Stats) float64 { return s.Oldest }),
		feedGauge("feed_outbox_given_up", "Messages in the outbox that could not be moved in ten tries. Their column error says why.", func(s *feed.Stats) float64 { return float64(s.GivenUp) }),
		feedCounter("feed_relays_total", "Batches of messages that this node moved from the outbox to feeds.", func(s *feed.Stats) uint64 { return s.Relays }),
		feedCounter("feed_items_moved_total", "Items that these batches made or changed.", func(s *feed.Stats) uint64 { return s.Moved }),
		byFeedWord("feed_relay_failures_total", "Failed tries to move a message: json cannot be read, message breaks a rule, database is an error of the database.", "reason", func(s *feed.Stats) map[string]uint64 { return s.Failed }),
		byFeedWord("feed_messages_dropped_total", "Messages that made no item: of the user's own doing, muted, there already, or for a full inbox.", "reason", func(s *feed.Stats) map[string]uint64 { return s.Dropped }),
		feedCounter("feed_hints_sent_total", "Feeds whose change this node told the others.", func(s *feed.Stats) uint64 { return s.HintsSent }),
		feedCounter("feed_hints_heard_total", "Changes that this node was told of feeds that its pages follow.", func(s *feed.Stats) uint64 { return s.HintsHeard }),
		feedCounter("feed_catch_ups_total", "Feeds that this node read from the database for its pages.", func(s *feed.Stats) uint64 { return s.CatchUps }),
		feedCounter("feed_mended_total", "Feeds that this node found changed without having been told: hints were lost.", func(s *feed.Stats) uint64 { return s.Mended }),
		byFeedWord("feed_digests_total", "Digests that were due, by what became of them. Those put off had a user at a page, or nobody could tell.", "outcome", func(s *feed.Stats) map[string]uint64 { return s.Digests }),
		feedCounter("feed_trimmed_rows_total", "Rows of feeds that this node removed for their age or number.", func(s *feed.Stats) uint64 { return s.Trimmed }),
		feedCounter("feed_miscounted_total", "Feeds whose counters did not equal their rows, and were mended. More than 0: somebody else writes to the tables.", func(s *feed.Stats) uint64 { return s.Miscounted }),
		feedGauge("feed_database_out", "1 while the latest call of the database of feeds failed.", func(s *feed.Stats) float64 { return float64(zeroOrOne(s.DatabaseOut)) }),
	}
}

func feedGauge(name, help string, value func(*feed.Stats) float64) family {
	return ofFeeds(name, help, prometheus.GaugeValue, value)
}

func feedCounter(name, help string, value func(*feed.Stats) uint64) family {
	return ofFeeds(name, help, prometheus.CounterValue, func(s *feed.Stats) float64 { return float64(value(s)) })
}

func ofFeeds(name, help string, kind prometheus.ValueType, value func(*feed.Stats) float64) family {
	return newFamily(name, help, nil, func(desc *prometheus.Desc, f figures, out chan<- prometheus.Metric) {
		if f.streams.Feeds != nil {
			out <- prometheus.MustNewConstMetric(desc, kind, value(f.streams.Feeds))
		}
	})
}

// byFeedWord returns a counter for each word, including words that were never counted.
func byFeedWord(name, help, label string, values func(*feed.Stats) map[string]uint64) family {
	return newFamily(name, help, []string{label}, func(desc *prometheus.Desc, f figures, out chan<- prometheus.Metric) {
		if f.streams.Feeds == nil {
			return
		}
		all := values(f.streams.Feeds)
		for _, word := range slices.Sorted(maps.Keys(all)) {
			out <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(all[word]), word)
		}
	})
}
