package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/rollcall-go/rollcall/presence/track"
)

// peopleFamilies are the metrics of people. A site without a Directory has none of them. No
// value is about one user.
func peopleFamilies() []family {
	return []family{
		peopleGauge("devices", "Devices from which users are online in the whole fleet, as this node knows. Hidden users count.", func(s track.PeopleStats) int { return s.Devices }),
		peopleGauge("watch_lists", "Lists of people that connections on this node watch.", func(s track.PeopleStats) int { return s.WatchLists }),
		peopleGauge("watched_people", "Users on the lists of this node, each once.", func(s track.PeopleStats) int { return s.Watched }),
		peopleGauge("relations_cached", "Answers of the Directory to who is what to whom that this node remembers.", func(s track.PeopleStats) int { return s.RelationsCached }),
		peopleGauge("last_seen_waiting", "Users whose last seen waits to be written to the Directory.", func(s track.PeopleStats) int { return s.LastSeenWaiting }),
		peopleGauge("directory_out", "1 while the latest call of the Directory failed.", func(s track.PeopleStats) int { return zeroOrOne(s.DirectoryOut) }),
		durations("directory_call_duration_seconds", "How long calls of the Directory took, those that failed among them.", func(f figures) map[string]track.CallStats { return f.People.Directory }),
		failures("directory_errors_total", "Calls of the Directory that failed.", func(f figures) map[string]track.CallStats { return f.People.Directory }),
	}
}

func peopleGauge(name, help string, value func(track.PeopleStats) int) family {
	return newFamily(name, help, nil, func(desc *prometheus.Desc, f figures, out chan<- prometheus.Metric) {
		if f.People.Directory != nil {
			out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(value(f.People)))
		}
	})
}
