package serve

import (
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// namespace is the prefix of the names of the server's own metrics.
const namespace = "sftseq"

// Metrics returns a handler for /metrics, in Prometheus's formats, and for /healthz and /health.
func (s *Server) Metrics() http.Handler {
	registry := prometheus.NewRegistry()
	build := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: namespace, Name: "build_info",
		Help: "1, with the build of the program as labels.", ConstLabels: prometheus.Labels{
			"version": s.options.Version, "revision": s.options.Revision, "goversion": runtime.Version()}},
		func() float64 { return 1 })
	registry.MustRegister(build, collector{s}, s.metrics.latency, s.metrics.sizes, s.metrics.responses,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{Registry: registry}))
	mux.HandleFunc("GET "+healthPath, s.reportHealth)
	mux.HandleFunc("GET "+healthAlias, s.reportHealth)
	return mux
}

// reportHealth handles /healthz and /health: 200 if the server is healthy, else 503.
func (s *Server) reportHealth(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	draining, lost := s.draining, s.model.failed.Load()
	s.mu.Unlock()
	if draining || s.leaving.Load() {
		setRetryAfter(w.Header(), reopening)
	}
	switch {
	case draining:
		http.Error(w, "draining", http.StatusServiceUnavailable)
	case s.leaving.Load():
		http.Error(w, "stopping soon", http.StatusServiceUnavailable)
	case lost:
		http.Error(w, "the device is lost", http.StatusServiceUnavailable)
	case s.index != nil && s.index.Failure() != nil:
		http.Error(w, "the index has failed", http.StatusServiceUnavailable)
	default:
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		io.WriteString(w, "ok\n")
	}
}

// Leave makes /healthz and /health report 503, so that load balancers send no more clients. Responses
// close their HTTP connections. The server continues to serve requests.
func (s *Server) Leave() { s.leaving.Store(true) }

// maxWatchers is the maximum number of connections to the metrics server. The metrics server serves a
// few collectors and health probes.
const maxWatchers = 16

// ServeMetrics serves [Server.Metrics] on l until stop is called. Timeouts and maxWatchers prevent
// clients with incomplete requests, or clients that do not read, from blocking other clients.
func (s *Server) ServeMetrics(l net.Listener) (stop func()) { return s.serveMetrics(l, 5*time.Second) }

func (s *Server) serveMetrics(l net.Listener, timeout time.Duration) (stop func()) {
	h := &http.Server{Handler: markResponding(s.Metrics()), ConnContext: withWatcher,
		ReadTimeout: timeout, WriteTimeout: 2 * timeout, IdleTimeout: timeout}
	var served sync.WaitGroup
	served.Go(func() { h.Serve(&watcherListener{Listener: l}) })
	return func() {
		h.Close()
		served.Wait()
	}
}

// collector exports values of server/stats to Prometheus, so that both agree.
type collector struct{ server *Server }

// value is a metric with a single number.
type value struct {
	name, help string
	kind       prometheus.ValueType
	read       func(*stats) float64
}

var values = []value{
	{"sessions", "Open sessions.", prometheus.GaugeValue,
		func(x *stats) float64 { return float64(x.Sessions) }},
	{"queue_sequences", "Sequences waiting for a batch.", prometheus.GaugeValue,
		func(x *stats) float64 { return float64(x.Waiting) }},
	{"queue_tokens", "Tokens waiting for a batch.", prometheus.GaugeValue,
		func(x *stats) float64 { return float64(x.Tokens) }},
	{"batches_running", "Running batches.", prometheus.GaugeValue,
		func(x *stats) float64 { return float64(x.Running) }},
	{"memory_bytes", "Bytes kept for requests and documents.", prometheus.GaugeValue,
		func(x *stats) float64 { return float64(x.Memory) }},
	{"batches_total", "Batches computed.", prometheus.CounterValue,
		func(x *stats) float64 { return float64(x.Batches) }},
	{"sequences_total", "Sequences computed.", prometheus.CounterValue,
		func(x *stats) float64 { return float64(x.Sequences) }},
	{"tokens_total", "Tokens computed.", prometheus.CounterValue,
		func(x *stats) float64 { return float64(x.Computed) }},
	{"computing_seconds_total", "Total computing time of all batches.", prometheus.CounterValue,
		func(x *stats) float64 { return x.Computing }},
	{"cancelled_total", "Sequences of cancelled requests.", prometheus.CounterValue,
		func(x *stats) float64 { return float64(x.Cancelled) }},
}

// indexValues are the additional metrics of a server with an index.
var indexValues = []value{
	{"index_items", "Items of the index.", prometheus.GaugeValue,
		func(x *stats) float64 { return float64(x.Index.Items) }},
	{"index_bytes", "Bytes of the index on the disk.", prometheus.GaugeValue,
		func(x *stats) float64 { return float64(x.Index.Bytes) }},
	{"index_failed", "1 if the index refuses changes until the server restarts.",
		prometheus.GaugeValue, func(x *stats) float64 {
			if x.Index.Failed {
				return 1
			}
			return 0
		}},
}

// chunkValues are the additional metrics of a server with a chunked model.
var chunkValues = []value{
	{"chunks_computed_total", "Chunks of documents computed.", prometheus.CounterValue,
		func(x *stats) float64 { return float64(x.Chunks.Computed) }},
	{"chunks_reused_total", "Chunks of documents whose exports were in the cache.", prometheus.CounterValue,
		func(x *stats) float64 { return float64(x.Chunks.Reused) }},
}

var errorsDesc = prometheus.NewDesc(namespace+"_errors_total", "Errors by code.", []string{"code"}, nil)

func describe(name, help string) *prometheus.Desc {
	return prometheus.NewDesc(namespace+"_"+name, help, nil, nil)
}

func (c collector) Describe(ch chan<- *prometheus.Desc) {
	for _, v := range slices.Concat(values, indexValues, chunkValues) { // a reload may change the model
		ch <- describe(v.name, v.help)
	}
	ch <- errorsDesc
}

func (c collector) Collect(ch chan<- prometheus.Metric) {
	x, metrics := c.server.stats(), values
	if x.Index != nil {
		metrics = slices.Concat(metrics, indexValues)
	}
	if x.Chunks != nil {
		metrics = slices.Concat(metrics, chunkValues)
	}
	for _, v := range metrics {
		ch <- prometheus.MustNewConstMetric(describe(v.name, v.help), v.kind, v.read(&x))
	}
	for code, n := range x.Errors {
		ch <- prometheus.MustNewConstMetric(errorsDesc, prometheus.CounterValue, float64(n), code)
	}
}
