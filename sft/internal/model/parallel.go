package model

import (
	"cmp"
	"sync"
	"sync/atomic"
)

// InParallel calls f for 0 … n−1 on this number of threads, with the number of the thread, and
// returns after the last call.
func InParallel(threads, n int, f func(thread, i int)) {
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

// TryInParallel is [InParallel] for functions that may fail. It returns the error of the smallest
// failing i.
func TryInParallel(threads, n int, f func(i int) error) error {
	errs := make([]error, n)
	InParallel(threads, n, func(_, i int) { errs[i] = f(i) })
	return cmp.Or(errs...)
}
