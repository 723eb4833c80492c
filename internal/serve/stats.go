package serve

import (
	"maps"
	"slices"
	"strconv"
	"time"
)

// stats is the result of server/stats.
type stats struct {
	Uptime    float64          `json:"uptimeSeconds"`
	Sessions  int              `json:"sessions"`
	Waiting   int              `json:"waiting"` // sequences in the queue
	Tokens    int              `json:"waitingTokens"`
	Running   int              `json:"runningBatches"`
	Memory    int64            `json:"memoryBytes"`
	Batches   int64            `json:"batches"`
	Sequences int64            `json:"sequences"`
	Computed  int64            `json:"tokens"`
	Computing float64          `json:"computingSeconds"`
	Cancelled int64            `json:"cancelled"`
	Responses map[string]int64 `json:"responses"` // number of responses by method
	Errors    map[string]int64 `json:"errors"`    // number of errors by code
	Recent    *recentTimes     `json:"recent,omitempty"`
	Index     *indexStats      `json:"index,omitempty"`
	Chunks    *chunkStats      `json:"chunks,omitempty"` // nil unless the model is chunked
}

// chunkStats counts the chunks of requests since the model was loaded.
type chunkStats struct {
	Computed int64 `json:"computed"`
	Reused   int64 `json:"reused"` // chunks whose exports were in the cache
}

// recentTimes has latency quantiles of the most recent results that needed computation.
type recentTimes struct {
	Results   int     `json:"results"`
	Median    float64 `json:"medianMilliseconds"`
	P99       float64 `json:"p99Milliseconds"`
	OwnMedian float64 `json:"ownMedianMilliseconds"` // latency without the computation
	OwnP99    float64 `json:"ownP99Milliseconds"`
}

type indexStats struct {
	Items  int   `json:"items"`
	Bytes  int64 `json:"bytes"`
	Failed bool  `json:"failed,omitempty"`
}

func (s *Server) stats() stats {
	var out stats
	b := s.batcher.Stats()
	out.Waiting, out.Tokens, out.Running, out.Cancelled = b.Waiting, b.Tokens, b.Running, b.Cancelled
	out.Batches, out.Sequences, out.Computed, out.Computing = b.Batches, b.Jobs, b.Computed, b.Computing.Seconds()
	out.Memory = s.memory.used.Load()
	s.mu.Lock()
	out.Sessions = len(s.sessions)
	s.mu.Unlock()
	if m := s.current(); m.chunked {
		out.Chunks = &chunkStats{}
		out.Chunks.Computed, out.Chunks.Reused = m.loaded.Scorer.ChunkCounts()
	}
	if x := s.index; x != nil { // before the lock of the metrics, because these methods may block
		out.Index = &indexStats{x.Len(), x.Size(), x.Failure() != nil}
	}
	m := s.metrics
	out.Errors = map[string]int64{}
	m.mu.Lock()
	defer m.mu.Unlock()
	out.Responses = maps.Clone(m.byMethod)
	out.Uptime = time.Since(m.started).Seconds()
	for code, n := range m.errors {
		out.Errors[strconv.Itoa(code)] = n
	}
	out.Recent = m.quantiles()
	return out
}

// quantiles returns the quantiles of the recent results. The caller holds m.mu.
func (m *metrics) quantiles() *recentTimes {
	n := len(m.recent)
	if n == 0 {
		return nil
	}
	var all, own []time.Duration
	for _, s := range m.recent {
		all = append(all, s.latency)
		own = append(own, s.latency-s.compute)
	}
	slices.Sort(all)
	slices.Sort(own)
	quantile := func(d []time.Duration, q float64) float64 { return d[int(q*float64(n-1))].Seconds() * 1000 }
	return &recentTimes{n, quantile(all, 0.5), quantile(all, 0.99), quantile(own, 0.5), quantile(own, 0.99)}
}
