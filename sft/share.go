package sft

import (
	"sync"
	"sync/atomic"
)

// share calls f for 0 … n−1 from as many threads, of which each has a number, and returns when all
// is done.
func share(threads, n int, f func(thread, i int)) {
	threads = min(threads, n)
	if threads <= 1 {
		for i := range n {
			f(0, i)
		}
		return
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for thread := range threads {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(thread, i)
			}
		})
	}
	wg.Wait()
}
