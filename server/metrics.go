package server

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics of the process. None carries a workspace, an id or a credential: what one tenant does is
// nothing another may read. The model of the asking workspace is added per scrape.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	inFlight prometheus.Gauge
	panics   prometheus.Counter
	limited  prometheus.Counter
	crowded  prometheus.Counter
}

func newMetrics() *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "waymark_http_requests_total", Help: "Requests answered, by method, route and status."}, []string{"method", "route", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "waymark_http_request_seconds", Help: "Time to the end of the answer, by route.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5, 30}}, []string{"route"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{Name: "waymark_http_requests_in_flight", Help: "Requests being answered."}),
		panics:   prometheus.NewCounter(prometheus.CounterOpts{Name: "waymark_panics_total", Help: "Requests ended by a bug."}),
		limited:  prometheus.NewCounter(prometheus.CounterOpts{Name: "waymark_rate_limited_total", Help: "Requests refused for their rate."}),
		crowded:  prometheus.NewCounter(prometheus.CounterOpts{Name: "waymark_connections_refused_total", Help: "Connections refused because too many were open."}),
	}
	m.registry.MustRegister(m.requests, m.seconds, m.inFlight, m.panics, m.limited, m.crowded,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// methodLabel keeps made-up methods from making metrics without end.
func methodLabel(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodOptions, http.MethodPatch:
		return method
	}
	return "other"
}

func slogLevel(status int, failure error) slog.Level {
	if errors.Is(failure, context.Canceled) { // the caller has gone, or a shutdown
		return slog.LevelInfo
	}
	if status >= http.StatusInternalServerError && !errors.Is(failure, errNoServers) && !errors.Is(failure, errManyRuns) { // no fault, and the caller is told all of it
		return slog.LevelError
	}
	return slog.LevelInfo
}

// serveMetrics answers /metrics: the process, and the model of the caller's workspace.
func (s *Server) serveMetrics(c *gin.Context) {
	e, err := s.engine(c.Request.Context())
	if err != nil {
		fail(c, err)
		return
	}
	info, head := e.Model().Info(), e.Head()
	own := prometheus.NewRegistry()
	gauge := func(name, help string, value float64) {
		g := prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
		g.Set(value)
		own.MustRegister(g)
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
	s.ledgerMetrics(own, c.Request)
	if g, err := s.gateway(c.Request.Context()); err == nil {
		upstreamMetrics(own, g.Servers())
	}
	promhttp.HandlerFor(prometheus.Gatherers{s.metrics.registry, own}, promhttp.HandlerOpts{}).ServeHTTP(c.Writer, c.Request)
}
