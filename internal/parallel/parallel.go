// Package parallel divides work among threads, each of them a goroutine.
package parallel

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
)

// Do calls work for each i from 0 to n − 1 on the given number of threads. After an error, a thread makes
// no further calls, but the other threads continue. If ctx is cancelled, all threads end after their
// current calls. If several threads fail, Do returns the error of the thread with the smallest number.
func Do(ctx context.Context, threads, n int, work func(thread, i int) error) error {
	var next atomic.Int64
	var group sync.WaitGroup
	errs := make([]error, threads)
	for t := range threads {
		group.Go(func() {
			for errs[t] == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if errs[t] = ctx.Err(); errs[t] == nil {
					errs[t] = work(t, i)
				}
			}
		})
	}
	group.Wait()
	return cmp.Or(errs...)
}
