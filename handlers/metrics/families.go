package metrics

import (
	"cmp"
	"runtime/debug"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A family is one metric, with the source of its values.
type family struct {
	desc    *prometheus.Desc
	collect func(*prometheus.Desc, figures, chan<- prometheus.Metric)
}

// families returns every metric, in the order of testdata/families.txt.
func families() []family {
	return []family{
		byKind("topics", "Topics kept current on this node.", func(k track.KindStats) int { return k.Topics }),
		byKind("users_online", "Visible users online in the topics kept current on this node.", func(k track.KindStats) int { return k.Users }),
		byKind("guests", "Guests in the topics kept current on this node, of one to two age periods; over 512 in a topic an estimate.", func(k track.KindStats) int { return k.Guests }),

		gauge("windows", "Windows of these topics that streams read on this node. Streams of one topic, one size and the same dots share one.", func(f figures) int { return f.Windows }),

		newFamily("build_info", "Always 1: the name of this node and the version of the library.", []string{"node", "version"}, buildInfo),
		gauge("index_topics", "Topics that the store of the whole fleet knows, as this node last saw.", func(f figures) int { return f.Store.Topics }),

		newFamily("connections", "Connections open on this node: sse, websocket, poll, or other for those of Go programs.", []string{"transport"}, byTransport),
		gauge("connected_users", "Signed-in users who have a connection open on this node.", func(f figures) int { return f.ConnectedUsers }),
		histogram("user_sessions", "Connections that a user had on this node, counted at each opening, the new one included.",
			func(f figures) track.Histogram { return f.Sessions }),
		newFamily("resumes_total", "Readers that came with a cursor, once a topic, by what they got: a diff of what they had missed, if anything, or a state. Each long poll but the first is one.",
			[]string{"by"}, byWord("diff", func(f figures) uint64 { return f.ResumedByDiff }, "state", func(f figures) uint64 { return f.ResumedByState })),
		newFamily("beats_total", "Proofs of life of connections that hold a user: a request of the page, or the stream itself, once a heartbeat or by a message.",
			[]string{"by"}, byWord("request", func(f figures) uint64 { return f.BeatsByRequest }, "stream", func(f figures) uint64 { return f.BeatsByStream })),
		counter("aborted_connections_total", "Connections that ended before they were open.", func(f figures) uint64 { return f.Aborted }),
		counter("refused_connections_total", "Connections over the limit of one user.", func(f figures) uint64 { return f.Refused }),
		counter("clients_limited_total", "Requests and messages refused since there were too many: the answer 429, and WebSockets closed with 1008.", func(f figures) uint64 { return f.streams.Limited }),
		counter("rates_crowded_total", "Requests that shared one rate since too many visitors had a rate of their own.", func(f figures) uint64 { return f.streams.Crowded }),
		counter("full_refused_total", "Streams and polls refused since as many as allowed were open on this node: the answer 503.", func(f figures) uint64 { return f.streams.Full }),
		counter("tenant_full_refused_total", "Streams and polls refused since as many as one tenant may have were open on this node: the answer 503.", func(f figures) uint64 { return f.streams.TenantFull }),
		counter("oversized_refused_total", "Requests and messages refused for their size: the answers 413 and 431, and WebSockets closed with 1009.", func(f figures) uint64 { return f.streams.TooLarge }),
		counter("foreign_refused_total", "Requests refused since they came from a page of another origin: the answer 403.", func(f figures) uint64 { return f.streams.Foreign }),
		counter("snapshots_merged_total", "Requests for a state over a WebSocket that were answered together with another.", func(f figures) uint64 { return f.streams.Snapshots }),
		counter("site_panics_total", "Calls of the site's Authorize, ClientIP and Widget that panicked.", func(f figures) uint64 { return f.streams.SitePanics }),
		counter("rights_unanswered_total", "Streams and polls ended, and subscriptions refused, since the site's Authorize did not answer in time.", func(f figures) uint64 { return f.streams.Unanswered }),
		counter("widgets_unrendered_total", "Widgets left out of a stream since the site's Widget did not answer in time.", func(f figures) uint64 { return f.streams.Unrendered }),
		counter("streams_broken_total", "Streams ended by a panic.", func(f figures) uint64 { return f.streams.Broken }),
		newFamily("findings_total", "Times that a mistake in the wiring of the site was found.", []string{"finding"}, byFinding),

		counter("events_sent_total", "Events sent to clients.", func(f figures) uint64 { return f.streams.Events }),
		counter("sent_bytes_total", "Bytes of the events sent to clients, framed.", func(f figures) uint64 { return f.streams.Bytes }),
		newFamily("screen_lag_seconds", "How long changes took from their arrival at this node until they were written to the last of the readers that are written to together. Readers that are behind do not count.", nil,
			func(desc *prometheus.Desc, f figures, out chan<- prometheus.Metric) {
				out <- constHistogram(desc, f.ScreenLag, float64(time.Second))
			}),
		counter("failed_writes_total", "Writes to streams that failed since the client had gone.", func(f figures) uint64 { return f.streams.Failed }),
		gauge("readers_behind", "Streams that wait for their reader to take what was written.", func(f figures) int { return f.streams.Behind }),
		counter("resync_states_total", "States sent to readers who had lagged too far behind.", func(f figures) uint64 { return f.Resyncs }),
		counter("slow_readers_cut_total", "Streams ended since their reader did not take what was written in time.", func(f figures) uint64 { return f.streams.SlowCut }),

		counter("diffs_received_total", "Diffs that came from the store.", func(f figures) uint64 { return f.DiffsReceived }),
		counter("diffs_published_total", "Diffs given to readers on this node, after merging.", func(f figures) uint64 { return f.DiffsPublished }),
		counter("diffs_merged_total", "Diffs merged into the event of an earlier diff.", func(f figures) uint64 { return f.DiffsMerged }),
		counter("diffs_invalid_total", "Messages of the store that could not be read.", func(f figures) uint64 { return f.Store.Invalid }),
		counter("gaps_total", "Times that a topic here missed diffs, or that the store lost data, and the log or the whole topic was read again.", func(f figures) uint64 { return f.Gaps }),

		newFamily("sweep_lag_seconds", "Time since a sweep of this node last left no expired lease behind, or since the node began. The least of all nodes counts.", nil,
			func(desc *prometheus.Desc, f figures, out chan<- prometheus.Metric) {
				out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, f.SweepLag.Seconds())
			}),
		counter("sweeps_total", "Sweeps that this node asked for.", func(f figures) uint64 { return f.Sweeps }),
		counter("swept_leases_total", "Expired leases that this node's sweeps removed.", func(f figures) uint64 { return f.Swept }),
		counter("swept_leaves_total", "Users who left with the leases that this node's sweeps removed.", func(f figures) uint64 { return f.Leaves }),
		counter("rotations_total", "Times that a topic's current set became its old one, at this node's word.", func(f figures) uint64 { return f.Rotations }),
		counter("trimmed_users_total", "Users whose last seen was forgotten, at this node's word.", func(f figures) uint64 { return f.Trimmed }),

		durations("store_call_duration_seconds", "How long calls of the store took, those that failed among them.", func(f figures) map[string]track.CallStats { return f.Calls }),
		failures("store_errors_total", "Calls of the store that failed.", func(f figures) map[string]track.CallStats { return f.Calls }),
		counter("store_commands_total", "Commands sent to Redis, a script being one. Subscriptions do not count. Zero for the memory store.", func(f figures) uint64 { return f.Store.Commands }),
		gauge("store_out", "1 while the latest write to the store or the latest read from it failed.", func(f figures) int { return zeroOrOne(f.StoreOut) }),
		gauge("store_breaker_open", "1 while the store's breaker is open: calls fail at once, since those before them failed.", func(f figures) int { return zeroOrOne(f.Store.BreakerOpen) }),
		counter("store_breaker_opened_total", "Times that the store's breaker opened.", func(f figures) uint64 { return f.Store.Broken }),
		counter("store_refused_calls_total", "Calls of the store that failed at once, since its breaker was open.", func(f figures) uint64 { return f.Store.Refused }),
		counter("store_congested_calls_total", "Calls of the store that failed since too many others of this node were under way.", func(f figures) uint64 { return f.Store.Congested }),
		counter("store_notices_cut_total", "Sign-outs and statuses dropped from a full log before all nodes need have read them.", func(f figures) uint64 { return f.Store.NoticesCut }),
		gauge("pending_operations", "Operations that wait for the store.", func(f figures) int { return f.Pending }),
		counter("dropped_operations_total", "Page views and heartbeats forgotten while the store was out.", func(f figures) uint64 { return f.Dropped }),
		counter("rejected_operations_total", "Operations given up because the store answered and refused them.", func(f figures) uint64 { return f.Rejected }),
		counter("forgotten_total", "Users and leases that this node forgot because a memory of it was full.", func(f figures) uint64 { return f.Forgotten }),
	}
}

func newFamily(name, help string, labels []string, collect func(*prometheus.Desc, figures, chan<- prometheus.Metric)) family {
	return family{prometheus.NewDesc("presence_"+name, help, labels, nil), collect}
}

func gauge(name, help string, value func(figures) int) family {
	return newFamily(name, help, nil, func(desc *prometheus.Desc, f figures, out chan<- prometheus.Metric) {
		out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(value(f)))
	})
}

func counter(name, help string, value func(figures) uint64) family {
	return newFamily(name, help, nil, func(desc *prometheus.Desc, f figures, out chan<- prometheus.Metric) {
		out <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(value(f)))
	})
}

func byKind(name, help string, value func(track.KindStats) int) family {
	return newFamily(name, help, []string{"kind"}, func(desc *prometheus.Desc, f figures, out chan<- prometheus.Metric) {
		for kind, k := range f.kinds {
			out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(value(k)), kind)
		}
	})
}

func durations(name, help string, calls func(figures) map[string]track.CallStats) family {
	return newFamily(name, help, []string{"operation"}, func(desc *prometheus.Desc, f figures, out chan<- prometheus.Metric) {
		for op, c := range calls(f) {
			out <- constHistogram(desc, c.Latency, float64(time.Second), op)
		}
	})
}

func failures(name, help string, calls func(figures) map[string]track.CallStats) family {
	return newFamily(name, help, []string{"operation"}, func(desc *prometheus.Desc, f figures, out chan<- prometheus.Metric) {
		for op, c := range calls(f) {
			out <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(c.Failed), op)
		}
	})
}

func histogram(name, help string, value func(figures) track.Histogram) family {
	return newFamily(name, help, nil, func(desc *prometheus.Desc, f figures, out chan<- prometheus.Metric) {
		out <- constHistogram(desc, value(f), 1)
	})
}

// constHistogram returns a histogram's values in a unit: seconds for nanoseconds.
func constHistogram(desc *prometheus.Desc, h track.Histogram, unit float64, labels ...string) prometheus.Metric {
	buckets := make(map[float64]uint64, len(h.Bounds))
	for i, bound := range h.Bounds {
		buckets[float64(bound)/unit] = h.Counts[i]
	}
	return prometheus.MustNewConstHistogram(desc, h.Count, float64(h.Sum)/unit, buckets, labels...)
}

// byTransport returns the connections by transport. A connection that is not the handler's is of a Go program.
func byTransport(desc *prometheus.Desc, f figures, out chan<- prometheus.Metric) {
	give := func(transport string, n int) {
		out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(n), transport)
	}
	c := f.streams.Connections
	give("sse", c.SSE)
	give("websocket", c.WebSocket)
	give("poll", c.Poll)
	give("other", max(f.Connections-c.SSE-c.WebSocket-c.Poll, 0)) // c was read a moment earlier
}

// byFinding returns all findings, including those never made: a counter that begins at 1 shows no increase.
func byFinding(desc *prometheus.Desc, f figures, out chan<- prometheus.Metric) {
	times := make(map[presence.Finding]uint64, len(f.findings))
	for _, d := range f.findings {
		times[d.Finding] = d.Times
	}
	for _, finding := range presence.Findings() {
		out <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(times[finding]), finding.String())
	}
}

// byWord returns a counter with two values of one label.
func byWord(a string, ofA func(figures) uint64, b string, ofB func(figures) uint64) func(*prometheus.Desc, figures, chan<- prometheus.Metric) {
	return func(desc *prometheus.Desc, f figures, out chan<- prometheus.Metric) {
		out <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(ofA(f)), a)
		out <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(ofB(f)), b)
	}
}

// buildInfo returns the node, and the version of this module in the site's program.
func buildInfo(desc *prometheus.Desc, f figures, out chan<- prometheus.Metric) {
	out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, 1, f.node, version())
}

// version returns the version of this module that the program was built with: (devel) for
// the examples, unknown in a program without build information.
var version = sync.OnceValue(func() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	const module = "github.com/rollcall-go/rollcall"
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == module {
			if m.Replace != nil {
				m = m.Replace
			}
			return cmp.Or(m.Version, "(devel)")
		}
	}
	return "unknown"
})

func zeroOrOne(is bool) int {
	if is {
		return 1
	}
	return 0
}
