package lra

import (
	"runtime"
	"sync"
)

// drawAhead starts workers that draw ahead, in chunks of consecutive numbers from first on. The
// returned channel yields a channel per chunk, in order, with the draws for which the draw function
// returned true. Each worker gets its own draw function from worker.
func drawAhead[T any](first uint64, chunk int, worker func() func(n uint64) (T, bool)) (<-chan chan []T, func()) {
	type job struct {
		first  uint64
		result chan []T
	}
	workers := runtime.GOMAXPROCS(0)
	chunks := make(chan chan []T, 2*workers)
	jobs := make(chan job)
	done := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		defer close(jobs)
		for n := first; ; n += uint64(chunk) {
			result := make(chan []T, 1)
			select {
			case chunks <- result:
			case <-done:
				return
			}
			select {
			case jobs <- job{n, result}:
			case <-done:
				return
			}
		}
	})
	for range workers {
		group.Go(func() {
			draw := worker()
			for j := range jobs {
				var kept []T
				for i := range chunk {
					if t, ok := draw(j.first + uint64(i)); ok {
						kept = append(kept, t)
					}
				}
				j.result <- kept
			}
		})
	}
	return chunks, func() {
		close(done)
		group.Wait()
	}
}
