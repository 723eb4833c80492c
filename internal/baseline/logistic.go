package baseline

import (
	"math"

	"github.com/sftseq/sftseq/internal/metrics"
)

// logistic is softmax regression, p(c | x) ∝ exp(w_c·x + b_c). AdaGrad (Duchi, Hazan and Singer,
// JMLR 12, 2011) trains it on one row at a time, so a sparse row updates few weights.
type logistic struct {
	classes int
	weights []float32 // [bucket][class], followed by the biases
	squares []float32 // sums of squared gradients
}

func newLogistic(classes int) *logistic {
	n := (buckets + 1) * classes
	return &logistic{classes, make([]float32, n), make([]float32, n)}
}

// Training settings. Training makes at least minPasses passes. Small data get more passes, about
// wantedSteps steps in total, if the limit of updates allows.
const (
	rate        = 0.5
	minPasses   = 4
	wantedSteps = 100000
	negligible  = 1e-6 // smaller errors of a probability update no weight
)

// train makes several passes over the first rows, within the limit of updates. It returns the
// number of rows used.
func (l *logistic) train(w *work, rows [][]feature, labels []int32, updates int) (int, error) {
	n, pass := 0, 0 // pass counts the updates per pass
	for n < len(rows) && pass < updates/minPasses {
		pass += len(rows[n]) * l.classes
		n++
	}
	passes := max(minPasses, min(wantedSteps/n, updates/max(1, pass)))
	p := make([]float64, l.classes)
	for range passes {
		for i, row := range rows[:n] {
			if i%256 == 0 && w.ctx.Err() != nil {
				return 0, w.ctx.Err()
			}
			l.step(row, int(labels[i]), p)
			w.done(1)
		}
	}
	return n, nil
}

// step performs an AdaGrad step on −ln p(label | row). The buffer p has one element per class.
func (l *logistic) step(row []feature, label int, p []float64) {
	l.scores(row, p)
	metrics.SoftmaxInto(p, p)
	p[label]--
	for _, f := range row {
		l.update(int(f.bucket), p, f.weight)
	}
	l.update(buckets, p, 1)
}

func (l *logistic) update(bucket int, residual []float64, weight float32) {
	w, s := l.weights[bucket*l.classes:][:l.classes], l.squares[bucket*l.classes:][:l.classes]
	for c, r := range residual {
		if math.Abs(r) < negligible {
			continue
		}
		g := float32(r) * weight
		s[c] += g * g
		w[c] -= rate * g / (float32(math.Sqrt(float64(s[c]))) + 1e-6)
	}
}

// scores sets out[c] to w_c·x + b_c.
func (l *logistic) scores(row []feature, out []float64) {
	for c := range out {
		out[c] = float64(l.weights[buckets*l.classes+c])
	}
	for _, f := range row {
		w := l.weights[int(f.bucket)*l.classes:][:l.classes]
		for c, v := range w {
			out[c] += float64(v) * float64(f.weight)
		}
	}
}

// class returns the class with the largest score, the first if several tie.
func (l *logistic) class(row []feature, scores []float64) int {
	l.scores(row, scores)
	best := 0
	for c, v := range scores {
		if v > scores[best] {
			best = c
		}
	}
	return best
}
