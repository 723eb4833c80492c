package lra

import (
	"runtime"
	"sync"

	"github.com/sftseq/sftseq/internal/philox"
)

// drawAhead starts workers that draw ahead, in chunks of consecutive numbers. The parameter first is
// the number of the first draw. The returned channel yields a channel per chunk, in order, with the
// draws for which the draw function returned true. Each worker calls the parameter worker to get its
// own draw function. The returned function stops the workers.
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

// random generates the random numbers of one numbered item. They are a function of only the seed
// and the number, so items can be drawn independently. Word w of number n is word w&3 of Philox at
// (w>>2, StreamGenerate, low 32 bits of n, high 32 bits of n).
type random struct {
	seed   uint64
	number uint64
	used   uint32
	words  [4]uint32
}

// begin moves to the first word of the item with the given number.
func (r *random) begin(number uint64) { r.number, r.used = number, 0 }

// word returns the next random word.
func (r *random) word() uint32 {
	if r.used&3 == 0 {
		r.words = philox.Words(r.seed, [4]uint32{r.used >> 2, philox.StreamGenerate,
			uint32(r.number), uint32(r.number >> 32)})
	}
	w := r.words[r.used&3]
	r.used++
	return w
}

// below returns a random integer in 0 … n−1. Each probability is 1/n up to a relative error of n·2⁻³².
func (r *random) below(n int) int32 {
	return int32(uint64(r.word()) * uint64(n) >> 32)
}

// uniform returns a uniform number in (0, 1).
func (r *random) uniform() float32 { return philox.Uniform(r.word()) }
