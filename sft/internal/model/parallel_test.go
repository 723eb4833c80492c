package model

import (
	"fmt"
	"sync/atomic"
	"testing"
)

// TestInParallel checks that InParallel calls its function once for each index, with a valid thread
// number, and that TryInParallel returns the error of the smallest index.
func TestInParallel(t *testing.T) {
	for _, threads := range []int{0, 1, 2, 5} {
		for _, n := range []int{0, 1, 3, 1000} {
			calls, invalid := make([]atomic.Int32, n), atomic.Int32{}
			InParallel(threads, n, func(thread, i int) {
				calls[i].Add(1)
				if thread < 0 || thread >= max(1, threads) {
					invalid.Add(1)
				}
			})
			for i := range calls {
				if got := calls[i].Load(); got != 1 || invalid.Load() > 0 {
					t.Fatalf("%d threads: index %d of %d: %d calls, want 1; %d calls with an invalid thread",
						threads, i, n, got, invalid.Load())
				}
			}
			want := "<nil>"
			if n > 700 {
				want = "700"
			}
			err := TryInParallel(threads, n, func(i int) error {
				if i >= 700 {
					return fmt.Errorf("%d", i)
				}
				return nil
			})
			if got := fmt.Sprint(err); got != want {
				t.Errorf("%d threads, %d indices: error %s, expected %s", threads, n, got, want)
			}
		}
	}
}
