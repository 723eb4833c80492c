package parallel_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/sftseq/sftseq/internal/parallel"
)

// TestDo checks that Do calls work once for every index, that a thread ends after an error, and that a
// cancelled context ends all threads.
func TestDo(t *testing.T) {
	calls := make([]atomic.Int32, 1000)
	err := parallel.Do(t.Context(), 3, len(calls), func(thread, i int) error {
		if thread < 0 || thread >= 3 {
			t.Errorf("found thread %d, want 0 to 2", thread)
		}
		calls[i].Add(1)
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	for i := range calls {
		if n := calls[i].Load(); n != 1 {
			t.Errorf("index %d: found %d calls, want 1", i, n)
		}
	}
	broken := errors.New("broken")
	n := 0
	if err := parallel.Do(t.Context(), 1, 10, func(int, int) error { n++; return broken }); err != broken || n != 1 {
		t.Errorf("found error %v after %d calls, want %v after 1", err, n, broken)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := parallel.Do(ctx, 2, 10, func(int, int) error { return nil }); err != context.Canceled {
		t.Errorf("found error %v, want %v", err, context.Canceled)
	}
}
