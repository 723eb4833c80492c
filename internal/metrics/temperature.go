package metrics

import (
	"math"
	"slices"
)

// MinTemperature and MaxTemperature bound the result of [LogitSample.Temperature]. The optimum
// approaches 0 if almost all rows are classified correctly, and infinity if the logits carry no
// information.
const (
	MinTemperature = 0.25
	MaxTemperature = 64.0
)

// maxSampled bounds the number of logits that a sample keeps.
const maxSampled = 1 << 20

// LogitSample keeps the logits and classes of rows. When it exceeds maxSampled logits, it drops every
// second row and halves the fraction of the following rows that it keeps. The same rows in the same order
// result in the same sample. A nil sample keeps nothing.
type LogitSample struct {
	logits  []float32
	classes []int32
	every   int // sampling interval in rows: Add keeps one row per interval; 0 means 1
	seen    int // number of added rows
}

// Add adds a row: its class and the model's logits.
func (s *LogitSample) Add(class int, logits []float32) {
	if s == nil {
		return
	}
	s.every = max(1, s.every)
	if s.seen++; (s.seen-1)%s.every != 0 {
		return
	}
	s.logits, s.classes = append(s.logits, logits...), append(s.classes, int32(class))
	if n := len(logits); len(s.logits) > maxSampled && len(s.classes) > 1 {
		kept := 0
		for i := 0; i < len(s.classes); i += 2 {
			s.classes[kept] = s.classes[i]
			copy(s.logits[kept*n:(kept+1)*n], s.logits[i*n:(i+1)*n])
			kept++
		}
		s.logits, s.classes, s.every = s.logits[:kept*n], s.classes[:kept], 2*s.every
	}
}

// Temperature returns the T, from [MinTemperature] to [MaxTemperature], for which the probabilities
// softmax(logits/T) minimise the mean cross-entropy on the rows. The cross-entropy is convex in
// 1/T, and a bisection over ln(1/T) finds the zero of its derivative. T is 1 without rows. It is
// also 1 if every row is classified correctly, because the cross-entropy then has no minimum.
func (s *LogitSample) Temperature() float64 {
	if s == nil || len(s.classes) == 0 {
		return 1
	}
	n, wrong := len(s.logits)/len(s.classes), false
	for i, class := range s.classes {
		row := s.logits[i*n : (i+1)*n]
		wrong = wrong || row[class] < slices.Max(row)
	}
	if !wrong {
		return 1
	}
	low, high := -math.Log(MaxTemperature), -math.Log(MinTemperature)
	for range 40 {
		middle := (low + high) / 2
		slope, inverse := 0.0, math.Exp(middle)
		for i, class := range s.classes {
			slope += slopeOf(s.logits[i*n:(i+1)*n], int(class), inverse)
		}
		if slope < 0 {
			low = middle
		} else {
			high = middle
		}
	}
	return math.Exp(-(low + high) / 2)
}

// Loss returns the mean cross-entropy of softmax(logits/temperature) on the rows, and 0 without
// rows.
func (s *LogitSample) Loss(temperature float64) float64 {
	if s == nil || len(s.classes) == 0 {
		return 0
	}
	n, sum := len(s.logits)/len(s.classes), 0.0
	z := make([]float32, n)
	for i, class := range s.classes {
		for c := range z {
			z[c] = float32(float64(s.logits[i*n+c]) / temperature)
		}
		sum += CrossEntropy(z, int(class))
	}
	return sum / float64(len(s.classes))
}

// slopeOf returns the derivative with respect to b of the cross-entropy of a row with the logits b·z. The
// derivative is Σ p_c z_c − z_class.
func slopeOf(logits []float32, class int, b float64) float64 {
	top := float64(logits[0])
	for _, z := range logits {
		top = max(top, float64(z))
	}
	sum, mean := 0.0, 0.0
	for _, z := range logits {
		p := math.Exp(b * (float64(z) - top))
		sum += p
		mean += p * float64(z)
	}
	return mean/sum - float64(logits[class])
}
