package model

import (
	"sync"
	"sync/atomic"
)

// InParallel calls f for 0 … n−1 on as many threads, each of which has a number, and returns when
// all is done.
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

// TryInParallel is [inParallel] for what may fail: the error is that of the first i that does.
func TryInParallel(threads, n int, f func(i int) error) error {
	errs := make([]error, n)
	InParallel(threads, n, func(_, i int) { errs[i] = f(i) })
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
