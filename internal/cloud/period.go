package cloud

import (
	"context"
	"math"
	"slices"
)

// PeriodNames are the features of a cloud's period p, in the unit of its file, and of its strength s:
// s·cos and s·sin of 2π·log₂(p)/w, for w of 4, 2, 1 and half an octave; 0 where no period is found. So
// periods 16 times as large are the same, and of a cloud that does not repeat there is no number by
// which a model could learn it by heart, such as its length.
//
// Source: Tancik et al., "Fourier Features Let Networks Learn High Frequency Functions in Low
// Dimensional Domains", NeurIPS 2020.
var PeriodNames = []string{"period_cos_4_octaves", "period_sin_4_octaves", "period_cos_2_octaves", "period_sin_2_octaves",
	"period_cos_octave", "period_sin_octave", "period_cos_half_octave", "period_sin_half_octave"}

// periodFeatures are those of [PeriodNames].
func periodFeatures(period, strength float64) []float32 {
	out := make([]float32, 0, len(PeriodNames))
	for _, octaves := range []float64{4, 2, 1, 0.5} {
		sin, cos := 0.0, 0.0
		if period > 0 {
			sin, cos = math.Sincos(2 * math.Pi * math.Log2(period) / octaves)
		}
		out = append(out, float32(strength*cos), float32(strength*sin))
	}
	return out
}

const (
	// periodPoints are those from which a period is known: drawn of a surface, or of more points.
	periodPoints = 1 << 16
	// profileBins are the places along the longest side at which points are counted.
	profileBins = 2048
	// repetitions are how many multiples of a period must be one, too: along a side there are
	// as many at least.
	repetitions = 4
	// leastCorrelation is that of a profile with itself, moved by a period, as a part of that of
	// the profile unmoved. Boxes, balls and other bodies without lumps have up to a tenth.
	leastCorrelation = 0.12
	// nearBest is how much of the best correlation a period has at least: its multiples have
	// about as much.
	nearBest = 0.88
)

// Period is the distance at which a surface, or points, repeats along the longest side of the
// box around it, as pins and holes do, in the unit of its points: the least at which the
// profile, the number of points at each place of that side less their mean around it, is
// correlated with itself, and at its multiples, too. Strength is the mean of these correlations,
// as a part of that of the profile unmoved, 1 at most. Without such a distance both are 0. Some
// shapes of few lumps seem to repeat. Random is uniform on 0 to 1.
func (s *Shape) Period(random func() float64) (period, strength float64, err error) {
	points := s.Points
	if s.Faces != nil || len(points) > periodPoints {
		bare := &Shape{Points: s.Points, Faces: s.Faces}
		drawn, err := bare.Draw(context.Background(), periodPoints, random)
		if err != nil {
			return 0, 0, err
		}
		points = drawn.Points
	}
	axis, low, length := longestSide(points)
	if length == 0 {
		return 0, 0, nil
	}
	profile := make([]float64, profileBins)
	for _, p := range points {
		profile[min(int((p[axis]-low)/length*profileBins), profileBins-1)]++
	}
	lag, strength := repeatingLag(profile)
	return length * float64(lag) / profileBins, strength, nil
}

// longestSide is that of the box around points, and where it begins.
func longestSide(points []Vec) (axis int, low, length float64) {
	least, most := points[0], points[0]
	for _, p := range points {
		for a := range 3 {
			least[a], most[a] = min(least[a], p[a]), max(most[a], p[a])
		}
	}
	for a, side := range most.Minus(least) {
		if side > length {
			axis, low, length = a, least[a], side
		}
	}
	return axis, low, length
}

// repeatingLag is by how many places a profile repeats, and how strongly; 0: it does not.
func repeatingLag(profile []float64) (lag int, strength float64) {
	smooth(profile, 1)
	smooth(profile, 1) // counts scatter
	mean := slices.Clone(profile)
	smooth(mean, len(mean)/8)
	for i := range profile {
		profile[i] -= mean[i]
	}
	// As many terms count for each lag, of which long ones have fewer.
	correlation := make([]float64, len(profile)*4/5)
	for lag := range correlation {
		for i, v := range profile[lag:] {
			correlation[lag] += v * profile[i]
		}
		correlation[lag] *= float64(len(profile)) / float64(len(profile)-lag)
	}
	from := 1 // where the width of what repeats ends
	for from < len(correlation) && correlation[from] > 0 {
		from++
	}
	// The thickness of a wall is a peak as well, but its multiples are none; and half a period is
	// none itself, or less of one, but every other multiple is.
	least := leastCorrelation * correlation[0]
	scores := make([]float64, len(correlation)/(repetitions-1))
	repeats := func(lag int) bool { return correlation[lag] >= max(least, scores[lag]/2) }
	best := 0.0
	for lag := from; lag < len(scores); lag++ {
		n := 0
		for k := 1; k <= repetitions && k*lag+k < len(correlation); k++ {
			scores[lag] += slices.Max(correlation[k*lag-k+1 : k*lag+k]) // a lag is rounded
			n++
		}
		scores[lag] /= float64(n)
		if repeats(lag) {
			best = max(best, scores[lag])
		}
	}
	if best < least || best == 0 {
		return 0, 0
	}
	for lag := from; lag+1 < len(scores); lag++ {
		if s := scores[lag]; repeats(lag) && s >= nearBest*best && s >= scores[lag-1] && s >= scores[lag+1] {
			return lag, min(s/correlation[0], 1)
		}
	}
	return 0, 0
}

// smooth puts the mean of 2·reach+1 neighbours in the place of each number, of fewer at the ends.
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
