package serve

import (
	"os"
	"runtime"
	"runtime/debug"
	runtimemetrics "runtime/metrics"
	"sync"
)

// LimitHeap sets Go's memory limit and GC percent; stop restores both. The limit is the memory outside of
// requests and documents, plus --max-memory, plus a quarter of --max-memory for garbage. Below the
// limit a collection starts when garbage reaches about a quarter of --max-memory, but at least the
// size of the live heap (Go's default) and at most four times this size. With Go's default, marking
// a small live heap would take more time than the requests. LimitHeap does nothing if GOMEMLIMIT or
// GOGC is set.
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
	runtime.GC() // measures the live heap
	h.adjust()
	h.watchCollections()
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.stopped = true
		debug.SetMemoryLimit(limit)
		debug.SetGCPercent(percent)
	}
}

// heapLimit updates Go's memory limit and GC percent after every collection. A collection measures the
// memory of models, which is not counted and may grow.
type heapLimit struct {
	memory  *memory
	samples []runtimemetrics.Sample

	mu      sync.Mutex
	stopped bool
	percent int // allowed garbage in percent of the live heap
}

// Bounds of the GC percent. minPercent is Go's default; maxPercent limits the garbage if the live heap is
// small.
const (
	minPercent = 100
	maxPercent = 400
)

var heapMetrics = []string{
	"/gc/heap/live:bytes", // live heap after the last collection
	"/memory/classes/total:bytes", "/memory/classes/heap/released:bytes", "/memory/classes/heap/free:bytes",
	"/memory/classes/heap/objects:bytes",
}

// adjust sets the memory limit to the uncounted memory in use, plus --max-memory, plus a quarter of
// --max-memory for garbage. It also updates the GC percent if it changes by more than an eighth.
func (h *heapLimit) adjust() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stopped {
		return
	}
	runtimemetrics.Read(h.samples)
	value := func(i int) int64 { return int64(h.samples[i].Value.Uint64()) }
	live, otherMemory := value(0), value(1)-value(2)-value(3)-value(4)
	counted := min(h.memory.maxUsed(), live) // the peak: counted memory may be garbage now
	heap := live - counted + h.memory.limit
	garbage := h.memory.limit / 4
	debug.SetMemoryLimit(otherMemory + heap + garbage)
	percent := min(max(minPercent, int(100*garbage/max(1, live))), maxPercent)
	if 8*percent < 7*h.percent || 8*percent > 9*h.percent {
		h.percent = percent
		debug.SetGCPercent(percent)
	}
}

// watchCollections calls adjust after every collection until stop, through the finalizer of an
// unreachable object.
func (h *heapLimit) watchCollections() {
	runtime.SetFinalizer(&collected{h}, func(c *collected) {
		h := c.limit
		h.adjust()
		h.mu.Lock()
		defer h.mu.Unlock()
		if !h.stopped {
			h.watchCollections()
		}
	})
}

// collected is the type of an unreachable object. Its finalizer runs after the next collection.
type collected struct{ limit *heapLimit }
