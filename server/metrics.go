package server

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"waymark/server/internal/problem"
	"waymark/server/internal/request"
	"waymark/server/internal/runs"
	"waymark/storage"
)

// traffic counts requests.
type traffic struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	limited  prometheus.Counter

	forgotten prometheus.Counter
}

func newTraffic() *traffic {
	r := prometheus.NewRegistry()
	with := promauto.With(r)
	return &traffic{
		registry: r,
		requests: with.NewCounterVec(prometheus.CounterOpts{
			Name: "waymark_http_requests_total", Help: "Requests answered, by method, route and status."}, []string{"method", "route", "status"}),
		seconds: with.NewHistogramVec(prometheus.HistogramOpts{
			Name: "waymark_http_request_seconds", Help: "Time to the end of the answer, by route.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5, 30}}, []string{"route"}),
		limited:   with.NewCounter(prometheus.CounterOpts{Name: "waymark_rate_limited_total", Help: "Requests refused for their rate."}),
		forgotten: with.NewCounter(prometheus.CounterOpts{Name: "waymark_retention_episodes_total", Help: "Episodes forgotten by keep-for."}),
	}
}

// metrics are those of the process, for its operator, and the traffic of each workspace, for its keys: what one tenant
// does is nothing another may read. None carries an id or a credential. The model of the asking workspace is added per
// scrape.
type metrics struct {
	traffic
	inFlight prometheus.Gauge
	panics   prometheus.Counter
	crowded  prometheus.Counter

	mu          sync.Mutex
	byWorkspace map[string]*traffic
}

func newMetrics() *metrics {
	m := &metrics{traffic: *newTraffic(), byWorkspace: map[string]*traffic{}}
	with := promauto.With(m.registry)
	m.inFlight = with.NewGauge(prometheus.GaugeOpts{Name: "waymark_http_requests_in_flight", Help: "Requests being answered."})
	m.panics = with.NewCounter(prometheus.CounterOpts{Name: "waymark_panics_total", Help: "Requests ended by a bug."})
	m.crowded = with.NewCounter(prometheus.CounterOpts{Name: "waymark_connections_refused_total", Help: "Connections refused because too many were open."})
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// of is the traffic of a workspace.
func (m *metrics) of(workspace string) *traffic {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.byWorkspace[workspace]
	if t == nil {
		t = newTraffic()
		m.byWorkspace[workspace] = t
	}
	return t
}

func (m *metrics) drop(workspace string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.byWorkspace, workspace)
}

// count notes a request, for the process and for its workspace if it has one.
func (m *metrics) count(workspace, method, route string, status int, took time.Duration) {
	all := []*traffic{&m.traffic}
	if workspace != "" {
		all = append(all, m.of(workspace))
	}
	for _, t := range all {
		t.requests.WithLabelValues(methodLabel(method), route, strconv.Itoa(status)).Inc()
		t.seconds.WithLabelValues(route).Observe(took.Seconds())
	}
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
	expected := errors.Is(failure, errNotReady) || errors.Is(failure, runs.ErrNoServers) || errors.Is(failure, runs.ErrManyRuns)
	switch {
	case status < http.StatusInternalServerError, expected, errors.Is(failure, context.Canceled): // the caller has gone, or a shutdown
		return slog.LevelInfo
	case errors.Is(failure, storage.ErrUnavailable):
		return slog.LevelWarn
	}
	return slog.LevelError
}

// serveMetrics answers /metrics: the model and the traffic of the caller's workspace; to the operator, and to keys that
// administer the workspace "default", the traffic of all and the process.
func (s *Server) serveMetrics(c *gin.Context) {
	e, err := s.engine(c.Request.Context())
	if err != nil {
		problem.Fail(c, err)
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
	counted := s.metrics.registry
	if a := request.From(c.Request.Context()); !a.Operator && !(a.Workspace == request.DefaultWorkspace && a.May(request.ScopeAdmin)) {
		counted = s.metrics.of(a.Workspace).registry
	}
	promhttp.HandlerFor(prometheus.Gatherers{counted, own}, promhttp.HandlerOpts{}).ServeHTTP(c.Writer, c.Request)
}
