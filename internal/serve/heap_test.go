package serve

import (
	"runtime"
	"runtime/debug"
	"testing"
)

// TestLimitHeap checks that LimitHeap sets a memory limit, and a GC percent from minPercent to
// maxPercent that allows a quarter of --max-memory as garbage. The stop function restores both. With
// GOGC or GOMEMLIMIT set, LimitHeap changes nothing.
func TestLimitHeap(t *testing.T) {
	percent := func() int {
		p := debug.SetGCPercent(-1)
		debug.SetGCPercent(p)
		return p
	}
	keep := make([]byte, 64<<20)
	before, limit := percent(), debug.SetMemoryLimit(-1)
	for _, c := range []struct {
		memory   int64
		min, max int
	}{
		{4 << 20, minPercent, minPercent},
		{1 << 40, maxPercent, maxPercent},
		{512 << 20, 110, 210}, // 128 MiB of garbage for 64 MiB in keep plus the heap of the tests
	} {
		o := testOptions(t, "pre")
		o.MaxMemory = c.memory
		s := startServer(t, o)
		stop := s.LimitHeap()
		if p := percent(); p < c.min || p > c.max || debug.SetMemoryLimit(-1) == limit {
			t.Errorf("--max-memory %d: GC percent %d, want %d to %d and a memory limit", c.memory, p, c.min, c.max)
		}
		if stop(); percent() != before || debug.SetMemoryLimit(-1) != limit {
			t.Errorf("--max-memory %d: after stop, got GC percent %d and memory limit %d, want %d and %d", c.memory,
				percent(), debug.SetMemoryLimit(-1), before, limit)
		}
	}
	for _, name := range []string{"GOGC", "GOMEMLIMIT"} {
		t.Setenv(name, "100")
		stop := startServer(t, testOptions(t, "pre")).LimitHeap()
		if percent() != before || debug.SetMemoryLimit(-1) != limit {
			t.Errorf("with %s set, got GC percent %d and memory limit %d, want %d and %d", name, percent(),
				debug.SetMemoryLimit(-1), before, limit)
		}
		stop()
		t.Setenv(name, "")
	}
	runtime.KeepAlive(keep)
}
