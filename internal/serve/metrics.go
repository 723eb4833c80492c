package serve

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/creachadair/jrpc2"
)

// metrics count what the server does, since it began.
type metrics struct {
	started   time.Time
	cancelled atomic.Int64 // jobs that nobody wanted any more

	mu        sync.Mutex
	methods   map[string]*methodMetrics
	errors    map[jrpc2.Code]int64
	batches   int64
	jobs      int64 // in batches
	tokens    int64 // the same
	computing time.Duration
	sizes     histogram // jobs of a batch
	// recent are the last answers, for exact quantiles; a ring.
	recent []sample
	next   int
}

type methodMetrics struct {
	answers int64
	latency histogram // seconds
}

// sample is one answer.
type sample struct{ latency, compute time.Duration }

// maxRecent is how many answers the quantiles are of.
const maxRecent = 4096

var (
	latencyBounds = []float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60}
	sizeBounds    = []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512}
)

// histogram counts values up to each bound, and beyond the last.
type histogram struct {
	bounds []float64
	counts []int64
	sum    float64
}

func (h *histogram) add(v float64) {
	if h.counts == nil {
		h.counts = make([]int64, len(h.bounds)+1)
	}
	at, _ := slices.BinarySearch(h.bounds, v)
	h.counts[at]++
	h.sum += v
}

func newMetrics() *metrics {
	return &metrics{started: time.Now(), methods: map[string]*methodMetrics{}, errors: map[jrpc2.Code]int64{}, sizes: histogram{bounds: sizeBounds}}
}

// answered counts an answer; code is 0 for a result.
func (m *metrics) answered(method string, code jrpc2.Code, latency, compute time.Duration) {
	if _, ok := methods[method]; !ok && ordered[method] == nil {
		method = "other" // a client must not choose how many there are
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	x := m.methods[method]
	if x == nil {
		x = &methodMetrics{latency: histogram{bounds: latencyBounds}}
		m.methods[method] = x
	}
	x.answers++
	x.latency.add(latency.Seconds())
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

// refused counts a message that was refused before it became a call.
func (m *metrics) refused(code jrpc2.Code) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.errors[code]++
}

// batch counts a batch that ran.
func (m *metrics) batch(jobs, tokens int, took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.batches++
	m.jobs += int64(jobs)
	m.tokens += int64(tokens)
	m.computing += took
	m.sizes.add(float64(jobs))
}
