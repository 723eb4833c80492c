package study

import (
	"context"
	"sync"
)

// each calls f with every number below n, several at once, and returns the first error. What
// f finds belongs into a place of its own: then no result depends on the threads.
func each(ctx context.Context, n, threads int, f func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	numbers := make(chan int)
	var wg sync.WaitGroup
	for range max(1, threads) {
		wg.Go(func() {
			for i := range numbers {
				if err := f(ctx, i); err != nil {
					cancel(err)
				}
			}
		})
	}
	for i := 0; i < n && ctx.Err() == nil; i++ {
		select {
		case numbers <- i:
		case <-ctx.Done():
		}
	}
	close(numbers)
	wg.Wait()
	return context.Cause(ctx)
}
