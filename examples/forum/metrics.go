package main

import (
	"net/http"
	"net/netip"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/handlers/metrics"
	"github.com/rollcall-go/rollcall/presence/track"
)

// metricsHandler answers GET /metrics. The registry is the forum's own, so that it has no metrics of other
// code in the process.
func metricsHandler(tracker *track.Tracker, streams *handlers.Handler) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		metrics.NewCollector(tracker, streams),
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{Registry: registry})
}

// forOperators admits programs on this machine and the staff, because the metrics include all tenants and
// invisible users. A request through a proxy does not count as one from this machine, whatever address its
// headers give.
func (s *site) forOperators(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if fromHere(c.Request()) {
			return next(c)
		}
		if user, ok := s.identify(c); ok && s.isStaff(user.ID) {
			return next(c)
		}
		return echo.NewHTTPError(http.StatusForbidden, "This page is for programs of the forum’s own machine, and for its staff.")
	}
}

// forwarded are the headers of proxies.
var forwarded = []string{"X-Forwarded-For", "Forwarded", "X-Real-Ip", "X-Forwarded-Host", "X-Forwarded-Proto", "Via"}

// fromHere reports whether a program on this machine sent a request itself.
func fromHere(r *http.Request) bool {
	for _, name := range forwarded {
		if _, ok := r.Header[name]; ok {
			return false
		}
	}
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && from.Addr().Unmap().IsLoopback()
}
