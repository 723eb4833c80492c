// Package parallel divides work among threads.
package parallel

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
)

// Do calls work for each i < n on this number of threads, with the number of the thread. After an
// error of its work, or if ctx is cancelled, a thread takes no more work. If several threads fail, Do
// returns the error of the thread with the smallest number.
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
