package main

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/handlers/metrics"
	"github.com/rollcall-go/rollcall/presence"
)

// metricsHandler answers GET /metrics. The registry is the forum's own, so that
// nothing else in the process slips in.
func metricsHandler(tracker *presence.Tracker, streams *handlers.Handler) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		metrics.NewCollector(tracker, streams),
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{Registry: registry})
}
