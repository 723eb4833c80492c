package serve

import (
	"runtime"
	"runtime/debug"
	"testing"
)

// TestLimitHeap: garbage is collected when there is a quarter of --max-memory, if that is
// between as much as is kept and four times that; at the end, and where the environment
// decides, all is as before.
func TestLimitHeap(t *testing.T) {
	percent := func() int {
		p := debug.SetGCPercent(-1)
		debug.SetGCPercent(p)
		return p
	}
	keep := make([]byte, 64<<20)
	before, limit := percent(), debug.SetMemoryLimit(-1)
	for _, c := range []struct {
		memory      int64
		least, most int
	}{
		{4 << 20, minPercent, minPercent},
		{1 << 40, maxPercent, maxPercent},
		{512 << 20, 110, 210}, // 128 MiB beside 64 and what the tests keep
	} {
		o := testOptions(t, "pre")
		o.MaxMemory = c.memory
		s := start(t, o)
		stop := s.LimitHeap()
		if p := percent(); p < c.least || p > c.most || debug.SetMemoryLimit(-1) == limit {
			t.Errorf("--max-memory %d: %d%%, expected %d to %d, and a limit of memory", c.memory, p, c.least, c.most)
		}
		if stop(); percent() != before || debug.SetMemoryLimit(-1) != limit {
			t.Errorf("--max-memory %d: %d%% in the end, %d at first", c.memory, percent(), before)
		}
	}
	for _, name := range []string{"GOGC", "GOMEMLIMIT"} {
		t.Setenv(name, "100")
		stop := start(t, testOptions(t, "pre")).LimitHeap()
		if percent() != before || debug.SetMemoryLimit(-1) != limit {
			t.Errorf("%s is set, and yet it is %d%%", name, percent())
		}
		stop()
		t.Setenv(name, "")
	}
	runtime.KeepAlive(keep)
}
