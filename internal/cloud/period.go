package cloud

import (
	"context"
	"slices"
)

// PeriodName is the feature that has the logarithm of a cloud's period, in the unit of its file.
const PeriodName = "log_period"

const (
	// periodPoints are those from which a period is known: drawn of a surface, or of more points.
	periodPoints = 1 << 16
	// profileBins are the places along the longest side at which points are counted.
	profileBins = 2048
	// repetitions are how many multiples of a period must be one, too: along a side there are
	// as many at least.
	repetitions = 4
	// leastCorrelation is that of a profile with itself, moved by a period, of which 1 is all.
	// Bodies that repeat nothing have up to a tenth.
	leastCorrelation = 0.12
	// nearBest is how much of the best correlation a period has at least: its multiples have
	// about as much.
	nearBest = 0.88
)

// Period is the distance at which a surface, or points, repeats along the longest side of the
// box around it, as pins and holes do, in the unit of its points: the least at which the
// profile, the number of points at each place of that side less their mean around it, is
// correlated with itself, and at its multiples, too. Without such a distance it is the length of
// the side, 0 where that is. Some shapes of few lumps seem to repeat. Random is uniform on 0 to 1.
func (s *Shape) Period(random func() float64) (float64, error) {
	points := s.Points
	if s.Faces != nil || len(points) > periodPoints {
		bare := &Shape{Points: s.Points, Faces: s.Faces}
		drawn, err := bare.Draw(context.Background(), periodPoints, random)
		if err != nil {
			return 0, err
		}
		points = drawn.Points
	}
	axis, low, length := longestSide(points)
	if length == 0 {
		return 0, nil
	}
	profile := make([]float64, profileBins)
	for _, p := range points {
		profile[min(int((p[axis]-low)/length*profileBins), profileBins-1)]++
	}
	if lag := repeatingLag(profile); lag > 0 {
		return length * float64(lag) / profileBins, nil
	}
	return length, nil
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

// repeatingLag is by how many places a profile repeats; 0: it does not.
func repeatingLag(profile []float64) int {
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
	// The thickness of a wall is a peak as well, but its multiples are none.
	scores := make([]float64, len(correlation)/(repetitions-1))
	best := 0.0
	for lag := from; lag < len(scores); lag++ {
		n := 0
		for k := 1; k <= repetitions && k*lag+k < len(correlation); k++ {
			scores[lag] += slices.Max(correlation[k*lag-k+1 : k*lag+k]) // a lag is rounded
			n++
		}
		scores[lag] /= float64(n)
		best = max(best, scores[lag])
	}
	if best < leastCorrelation*correlation[0] || best == 0 {
		return 0
	}
	for lag := from; lag+1 < len(scores); lag++ {
		if s := scores[lag]; s >= nearBest*best && s >= scores[lag-1] && s >= scores[lag+1] {
			return lag
		}
	}
	return 0
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
