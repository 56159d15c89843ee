package server

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"waymark/server/internal/api"
	"waymark/server/internal/runs"
	"waymark/storage"
)

// metrics are the metrics of the process, for its operator. None contains an id or a credential. Each scrape adds the
// model of the caller's workspace.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec

	limited, panics, crowded, forgotten prometheus.Counter

	inFlight prometheus.Gauge
}

func newMetrics() *metrics {
	r := prometheus.NewRegistry()
	with := promauto.With(r)
	counter := func(name, help string) prometheus.Counter {
		return with.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return &metrics{
		registry: r,
		requests: with.NewCounterVec(prometheus.CounterOpts{
			Name: "waymark_http_requests_total", Help: "Requests answered, by method, route and status."}, []string{"method", "route", "status"}),
		seconds: with.NewHistogramVec(prometheus.HistogramOpts{
			Name: "waymark_http_request_seconds", Help: "Time to the end of the answer, by route.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5, 30}}, []string{"route"}),
		inFlight:  with.NewGauge(prometheus.GaugeOpts{Name: "waymark_http_requests_in_flight", Help: "Requests being answered."}),
		limited:   counter("waymark_rate_limited_total", "Requests refused for their rate."),
		panics:    counter("waymark_panics_total", "Requests ended by a bug."),
		crowded:   counter("waymark_connections_refused_total", "Connections refused because too many were open."),
		forgotten: counter("waymark_retention_episodes_total", "Episodes forgotten by keep-for."),
	}
}

// methodLabel maps unknown methods to one label, so that clients cannot create metrics without end.
func methodLabel(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodOptions, http.MethodPatch:
		return method
	}
	return "other"
}

func slogLevel(status int, failure error) slog.Level {
	expected := errors.Is(failure, errNotReady) || errors.Is(failure, runs.ErrNoServers) || errors.Is(failure, runs.ErrManyRuns)
	switch {
	case status < http.StatusInternalServerError, expected, errors.Is(failure, context.Canceled): // the client has gone, or a shutdown
		return slog.LevelInfo
	case errors.Is(failure, storage.ErrUnavailable):
		return slog.LevelWarn
	}
	return slog.LevelError
}

// serveMetrics answers /metrics with the model of the caller's workspace. The operator, and keys with the scope admin
// for the workspace "default", also get the metrics of the process; no other tenant may read what a tenant does.
func (s *Server) serveMetrics(c *gin.Context) {
	e, err := s.engine(c.Request.Context())
	if err != nil {
		fail(c, err)
		return
	}
	info, head := e.Model().Info(), e.Head()
	own := prometheus.NewRegistry()
	gauge := func(name, help string, value float64) {
		promauto.With(own).NewGauge(prometheus.GaugeOpts{Name: name, Help: help}).Set(value)
	}
	gauge("waymark_model_nodes", "Nodes of the tool graph.", float64(info.Nodes))
	gauge("waymark_model_edges", "Edges of the tool graph.", float64(info.Edges))
	gauge("waymark_model_density", "Density of the tool graph.", info.Density)
	gauge("waymark_model_seq", "Last event the model counts.", float64(info.Seq))
	if !info.BuiltAt.IsZero() {
		gauge("waymark_model_built_timestamp_seconds", "When the model was built; absent if it is not known.", float64(info.BuiltAt.UnixMilli())/1000)
	}
	gauge("waymark_log_seq", "Last event of the log.", float64(head.Seq))
	healthy := 1.0
	if s.cfg.Store.Writable() != nil {
		healthy = 0
	}
	gauge("waymark_storage_healthy", "1 if writes are accepted.", healthy)
	if g, err := s.gateway(c.Request.Context()); err == nil {
		own.MustRegister(serverMetrics(g.Servers()))
	}
	shown := prometheus.Gatherers{own}
	if a := api.From(c.Request.Context()); a.Operator || a.Workspace == api.DefaultWorkspace && a.May(api.ScopeAdmin) {
		shown = append(shown, s.metrics.registry)
	}
	promhttp.HandlerFor(shown, promhttp.HandlerOpts{}).ServeHTTP(c.Writer, c.Request)
}
