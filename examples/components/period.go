package main

import (
	"math"
	"slices"
)

const (
	periodPoints = 1 << 16 // points drawn from the surface
	profileBins  = 2048    // bins along the longest side
	repetitions  = 4       // minimum number of repetitions along the longest side
	// minCorrelation is the minimum autocorrelation of the profile, as a fraction of the
	// autocorrelation at lag 0. Shapes without repetition, such as boxes and balls, have at most 0.1.
	minCorrelation = 0.12
	// nearBest is the minimum score of the period, as a fraction of the best score. The period is the
	// smallest lag with such a score, because its multiples have about the same score.
	nearBest = 0.88
)

// period returns the smallest distance at which a surface repeats along its longest side, like the
// pins of a connector. The profile of the surface is the number of points at each position minus the
// local mean. It correlates with itself at the period and at multiples of the period. strength is the
// mean of these correlations as a fraction of the correlation at distance 0. Both results are 0 for a
// surface that does not repeat.
func (s *surface) period(random func() float64) (period, strength float64, err error) {
	points, err := s.sample(periodPoints, random)
	if err != nil {
		return 0, 0, err
	}
	low, high := points[0].at, points[0].at
	for _, p := range points {
		for a, x := range p.at {
			low[a], high[a] = min(low[a], x), max(high[a], x)
		}
	}
	axis, length := 0, 0.0
	for a, side := range high.minus(low) {
		if side > length {
			axis, length = a, side
		}
	}
	profile := make([]float64, profileBins)
	for _, p := range points {
		profile[min(int((p.at[axis]-low[axis])/length*profileBins), profileBins-1)]++
	}
	lag, strength := repeatingLag(profile)
	return length * float64(lag) / profileBins, strength, nil
}

// repeatingLag returns the number of bins after which a profile repeats, and the strength. Both are
// 0 if the profile does not repeat.
func repeatingLag(profile []float64) (lag int, strength float64) {
	smooth(profile, 1)
	smooth(profile, 1) // reduces the noise of the counts
	mean := slices.Clone(profile)
	smooth(mean, len(mean)/8)
	for i := range profile {
		profile[i] -= mean[i]
	}
	correlation := make([]float64, len(profile)*4/5)
	for lag := range correlation {
		for i, v := range profile[lag:] {
			correlation[lag] += v * profile[i]
		}
		correlation[lag] *= float64(len(profile)) / float64(len(profile)-lag) // long lags have fewer terms
	}
	from := 1 // after the peak at lag 0
	for from < len(correlation) && correlation[from] > 0 {
		from++
	}
	// The correlation also has a peak at the thickness of a wall, but not at multiples of the thickness.
	// Only every other multiple of half a period has a peak.
	minScore := minCorrelation * correlation[0]
	scores := make([]float64, len(correlation)/(repetitions-1))
	repeats := func(lag int) bool { return correlation[lag] >= max(minScore, scores[lag]/2) }
	best := 0.0
	for lag := from; lag < len(scores); lag++ {
		n := 0
		for k := 1; k <= repetitions && k*lag+k < len(correlation); k++ {
			scores[lag] += slices.Max(correlation[k*lag-k+1 : k*lag+k]) // lags are rounded
			n++
		}
		scores[lag] /= float64(n)
		if repeats(lag) {
			best = max(best, scores[lag])
		}
	}
	if best < minScore || best == 0 {
		return 0, 0
	}
	for lag := from; lag+1 < len(scores); lag++ {
		if s := scores[lag]; repeats(lag) && s >= nearBest*best && s >= scores[lag-1] && s >= scores[lag+1] {
			return lag, min(s/correlation[0], 1)
		}
	}
	return 0, 0
}

// smooth replaces each number with the mean of the 2·reach+1 numbers around it, fewer at the ends.
func smooth(x []float64, reach int) {
	sums := make([]float64, len(x)+1)
	for i, v := range x {
		sums[i+1] = sums[i] + v
	}
	for i := range x {
		from, to := max(0, i-reach), min(len(x), i+reach+1)
		x[i] = (sums[to] - sums[from]) / float64(to-from)
	}
}

// waves returns strength·cos and strength·sin of 2π·log₂(period)/w for w of 4, 2, 1 and half an
// octave (Tancik et al., NeurIPS 2020). They are 0 without a period. With the plain period as a
// feature, a model would memorise rows.
func waves(period, strength float64) (out []float32) {
	for _, octaves := range []float64{4, 2, 1, 0.5} {
		sin, cos := 0.0, 0.0
		if period > 0 {
			sin, cos = math.Sincos(2 * math.Pi * math.Log2(period) / octaves)
		}
		out = append(out, float32(strength*cos), float32(strength*sin))
	}
	return out
}
