package serve

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
)

// Metrics answers /metrics, in the text format of Prometheus, and /healthz.
func (s *Server) Metrics() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		s.writeMetrics(w)
	})
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		s.mu.Lock()
		draining := s.draining
		s.mu.Unlock()
		if draining {
			http.Error(w, "draining", http.StatusServiceUnavailable)
			return
		}
		io.WriteString(w, "ok\n")
	})
	return mux
}

func (s *Server) writeMetrics(w io.Writer) {
	x := s.stats()
	value := func(name, kind, help string, v any) {
		fmt.Fprintf(w, "# HELP sftseq_%[1]s %[2]s\n# TYPE sftseq_%[1]s %[3]s\nsftseq_%[1]s %[4]v\n", name, help, kind, v)
	}
	value("sessions", "gauge", "Sessions that are open.", x.Sessions)
	value("queue_sequences", "gauge", "Sequences that wait for a batch.", x.Waiting)
	value("queue_tokens", "gauge", "Their tokens.", x.Tokens)
	value("batches_running", "gauge", "Batches that run.", x.Running)
	value("memory_bytes", "gauge", "Bytes kept for requests and documents.", x.Memory)
	value("batches_total", "counter", "Batches computed.", x.Batches)
	value("sequences_total", "counter", "Sequences computed.", x.Sequences)
	value("tokens_total", "counter", "Tokens computed.", x.Computed)
	value("computing_seconds_total", "counter", "Time that batches took, together.", x.Computing)
	value("cancelled_total", "counter", "Sequences that nobody wanted any more.", x.Cancelled)

	fmt.Fprintln(w, "# HELP sftseq_errors_total Errors by code.\n# TYPE sftseq_errors_total counter")
	for _, code := range slices.Sorted(maps.Keys(x.Errors)) {
		fmt.Fprintf(w, "sftseq_errors_total{code=%q} %d\n", code, x.Errors[code])
	}
	m := s.metrics
	m.mu.Lock()
	defer m.mu.Unlock()
	fmt.Fprintln(w, "# HELP sftseq_batch_sequences Sequences of a batch.\n# TYPE sftseq_batch_sequences histogram")
	m.sizes.write(w, "sftseq_batch_sequences", "")
	fmt.Fprintln(w, "# HELP sftseq_latency_seconds From a request to its answer.\n# TYPE sftseq_latency_seconds histogram")
	for _, name := range slices.Sorted(maps.Keys(m.methods)) {
		m.methods[name].latency.write(w, "sftseq_latency_seconds", fmt.Sprintf("method=%q,", name))
	}
}

func (h *histogram) write(w io.Writer, name, labels string) {
	var total int64
	for i, n := range h.counts {
		total += n
		bound := "+Inf"
		if i < len(h.bounds) {
			bound = strconv.FormatFloat(h.bounds[i], 'g', -1, 64)
		}
		fmt.Fprintf(w, "%s_bucket{%sle=%q} %d\n", name, labels, bound, total)
	}
	if labels != "" {
		labels = "{" + labels[:len(labels)-1] + "}"
	}
	fmt.Fprintf(w, "%s_sum%s %v\n%s_count%s %d\n", name, labels, h.sum, name, labels, total)
}
