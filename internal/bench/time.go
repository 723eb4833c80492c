package bench

import (
	"context"
	"slices"
	"time"
)

// Run performs the measured work once.
type Run func(ctx context.Context) error

// Spread is the median, minimum and maximum of several values.
type Spread struct{ Median, Min, Max float64 }

// SpreadOf returns the spread of values, which must not be empty.
func SpreadOf(values []float64) Spread {
	s := slices.Sorted(slices.Values(values))
	n := len(s)
	return Spread{Median: (s[(n-1)/2] + s[n/2]) / 2, Min: s[0], Max: s[n-1]}
}

// Seconds returns the median time of f over at least reps runs that together take at least minTotal.
// The caller must have warmed up the device.
func Seconds(ctx context.Context, f Run, reps int, minTotal time.Duration) (float64, error) {
	var seconds []float64
	for begin := time.Now(); len(seconds) < reps || time.Since(begin) < minTotal; {
		start := time.Now()
		if err := f(ctx); err != nil {
			return 0, err
		}
		seconds = append(seconds, time.Since(start).Seconds())
		if err := ctx.Err(); err != nil {
			return 0, err
		}
	}
	return SpreadOf(seconds).Median, nil
}
