package serve

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are the counters since the start of the server.
type metrics struct {
	started time.Time
	latency *prometheus.HistogramVec // seconds from request to response, by method
	sizes   prometheus.Histogram     // jobs per batch

	responses *prometheus.CounterVec // HTTP responses by status

	mu       sync.Mutex
	byMethod map[string]int64 // number of responses by method
	errors   map[int]int64    // number of errors by code
	// recent is a ring buffer of the last results that the model computed, for exact quantiles.
	recent []sample
	next   int
}

// sample holds the times of one result.
type sample struct{ latency, compute time.Duration }

// maxRecent is the maximum number of results from which the quantiles are computed.
const maxRecent = 4096

func newMetrics() *metrics {
	return &metrics{
		responses: prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: "http_responses_total",
			Help: "Responses over HTTP by status."}, []string{"status"}),
		started: time.Now(), byMethod: map[string]int64{}, errors: map[int]int64{},
		latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: namespace, Name: "latency_seconds", Help: "Time from a request to its response.",
			Buckets: []float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60},
		}, []string{"method"}),
		sizes: prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: namespace, Name: "batch_sequences", Help: "Number of sequences in a batch.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 10),
		}),
	}
}

// countResponse counts a response; code is 0 for a result.
func (m *metrics) countResponse(method string, code int, latency, compute time.Duration) {
	if _, ok := methods[method]; !ok && ordered[method] == nil && method != bareMethod && method != rerankMethod {
		method = "other" // bounds the number of labels, since clients choose method names
	}
	m.latency.WithLabelValues(method).Observe(latency.Seconds())
	m.mu.Lock()
	defer m.mu.Unlock()
	m.byMethod[method]++
	if code != 0 {
		m.errors[code]++
		return
	}
	if compute == 0 {
		return
	}
	s := sample{latency, compute}
	if len(m.recent) < maxRecent {
		m.recent = append(m.recent, s)
		return
	}
	m.recent[m.next] = s
	m.next = (m.next + 1) % maxRecent
}

// countRefusal counts an error that is not the response to a call, such as the error of a refused
// connection or message.
func (m *metrics) countRefusal(code int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.errors[code]++
}
