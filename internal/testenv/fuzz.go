package testenv

import (
	"fmt"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"testing"
	"time"
)

// most is the maximum CPU time for one input.
const most = time.Second

// stuck is the time after which an input that waits without using the CPU is aborted.
const stuck = 30 * time.Second

// FuzzLimits limits the work on one input of a fuzz target to a second of CPU time and the given
// number of allocated bytes. The returned function ends the measurement:
//
//	defer testenv.FuzzLimits(t, 64<<20)()
//
// If the work takes longer, FuzzLimits ends the program and prints the stack of every goroutine, so
// that the fuzzer keeps the input.
func FuzzLimits(t testing.TB, bytes int) (end func()) {
	t.Helper()
	w := &work{began: time.Now(), busy: busyTime(), allocated: allocated()}
	timer := time.AfterFunc(most/4, w.look)
	return func() {
		t.Helper()
		w.ended.Store(true)
		timer.Stop()
		if took := allocated() - w.allocated; took > uint64(bytes) {
			t.Errorf("allocated %d bytes, expected at most %d", took, bytes)
		}
		if busy := busyTime() - w.busy; busy > most {
			t.Errorf("used %v of CPU time, expected at most %v", busy, most)
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

// look ends the program if the work takes too long, and otherwise schedules the next check.
func (w *work) look() {
	switch {
	case w.ended.Load():
	case busyTime()-w.busy > 2*most || time.Since(w.began) > stuck:
		debug.SetTraceback("all")
		panic(fmt.Sprintf("the input takes more than %v", most))
	default:
		time.AfterFunc(most/4, w.look)
	}
}

// allocated returns the total number of bytes that the program has allocated, including freed
// bytes.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
