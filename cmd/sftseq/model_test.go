package main

import (
	"context"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// TestCallWithContext checks that callWithContext returns the context's error after a cancellation, while
// the function still runs.
func TestCallWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	if n := must.Get(callWithContext(ctx, func() (int, error) { return 7, nil }))(t); n != 7 {
		t.Errorf("got %d, want 7", n)
	}
	forever := make(chan struct{})
	defer close(forever)
	cancel()
	must.FailWith(t, context.Canceled)(callWithContext(ctx, func() (int, error) { <-forever; return 0, nil }))
}
