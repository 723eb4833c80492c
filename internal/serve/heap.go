package serve

import (
	"os"
	"runtime"
	"runtime/debug"
	runtimemetrics "runtime/metrics"
	"sync"
)

// LimitHeap limits Go's memory, until stop is called, to what is in use beside requests and
// documents, all of these that --max-memory allows, and a quarter of it for garbage. Below
// that limit garbage is collected when there is as much as is kept, by Go's default, or a
// quarter of --max-memory where that is more: otherwise marking what is kept would take more
// time than the requests. Whoever sets GOMEMLIMIT or GOGC has decided otherwise.
func (s *Server) LimitHeap() (stop func()) {
	if os.Getenv("GOMEMLIMIT") != "" || os.Getenv("GOGC") != "" {
		return func() {}
	}
	h := &heapLimit{memory: &s.memory, samples: make([]runtimemetrics.Sample, len(heapMetrics))}
	for i, name := range heapMetrics {
		h.samples[i].Name = name
	}
	limit, percent := debug.SetMemoryLimit(-1), debug.SetGCPercent(minPercent)
	h.percent = minPercent
	runtime.GC() // so that it is known what is in use
	h.adjust()
	h.watch()
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.stopped = true
		debug.SetMemoryLimit(limit)
		debug.SetGCPercent(percent)
	}
}

// heapLimit is the limit of Go's memory, which is set anew whenever garbage has been
// collected: what models take beside what is counted is known then, and may have grown.
type heapLimit struct {
	memory  *memory
	samples []runtimemetrics.Sample

	mu      sync.Mutex
	stopped bool
	percent int // allowed garbage in percent of the live heap
}

// What garbage may be beside what is kept: at least Go's default, and at most so much that
// a small server stays small.
const (
	minPercent = 100
	maxPercent = 400
)

var heapMetrics = []string{
	"/gc/heap/live:bytes", // when garbage was collected last
	"/memory/classes/total:bytes", "/memory/classes/heap/released:bytes", "/memory/classes/heap/free:bytes",
	"/memory/classes/heap/objects:bytes",
}

// adjust sets the limit: what is in use and not counted, all that may be counted, and a
// quarter of it for garbage.
func (h *heapLimit) adjust() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stopped {
		return
	}
	runtimemetrics.Read(h.samples)
	value := func(i int) int64 { return int64(h.samples[i].Value.Uint64()) }
	live, around := value(0), value(1)-value(2)-value(3)-value(4)
	counted := min(h.memory.maxUsed(), live) // then: what was counted a moment ago may be garbage now
	heap := live - counted + h.memory.limit
	garbage := h.memory.limit / 4
	debug.SetMemoryLimit(around + heap + garbage)
	percent := min(max(minPercent, int(100*garbage/max(1, live))), maxPercent)
	if 8*percent < 7*h.percent || 8*percent > 9*h.percent {
		h.percent = percent
		debug.SetGCPercent(percent)
	}
}

// watch has adjust called whenever garbage has been collected: an object that nobody has
// is finalized then.
func (h *heapLimit) watch() {
	runtime.SetFinalizer(&collected{h}, func(c *collected) {
		h := c.limit
		h.adjust()
		h.mu.Lock()
		defer h.mu.Unlock()
		if !h.stopped {
			h.watch()
		}
	})
}

type collected struct{ limit *heapLimit }
