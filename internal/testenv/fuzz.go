package testenv

import (
	"fmt"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"testing"
	"time"
)

// maxCPUTime is the maximum CPU time for one input.
const maxCPUTime = time.Second

// maxWait is the maximum elapsed time for one input, including time without using the CPU.
const maxWait = 30 * time.Second

// FuzzLimits limits the work on one input of a fuzz target to a second of CPU time and the given
// number of allocated bytes. The returned function ends the measurement:
//
//	defer testenv.FuzzLimits(t, 64<<20)()
//
// If the work takes twice the CPU time, or more than maxWait in total, FuzzLimits ends the program and
// prints the stack of every goroutine, so that the fuzzer keeps the input.
func FuzzLimits(t testing.TB, bytes int) (end func()) {
	t.Helper()
	w := &work{began: time.Now(), busy: CPUTime(), allocated: allocated()}
	timer := time.AfterFunc(maxCPUTime/4, w.check)
	return func() {
		t.Helper()
		w.ended.Store(true)
		timer.Stop()
		if used := allocated() - w.allocated; used > uint64(bytes) {
			t.Errorf("allocated %d bytes, expected at most %d", used, bytes)
		}
		if busy := CPUTime() - w.busy; busy > maxCPUTime {
			t.Errorf("used %v of CPU time, expected at most %v", busy, maxCPUTime)
		}
	}
}

// work is the work on one input, with the CPU time and memory of the program at its start.
type work struct {
	began     time.Time
	busy      time.Duration
	allocated uint64
	ended     atomic.Bool
}

// check ends the program if the work takes too long, and otherwise schedules the next check.
func (w *work) check() {
	switch {
	case w.ended.Load():
	case CPUTime()-w.busy > 2*maxCPUTime || time.Since(w.began) > maxWait:
		debug.SetTraceback("all")
		panic(fmt.Sprintf("the input takes more than %v of CPU time or %v in total", 2*maxCPUTime, maxWait))
	default:
		time.AfterFunc(maxCPUTime/4, w.check)
	}
}

// allocated returns the total number of bytes that the program has allocated, including freed
// bytes.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
