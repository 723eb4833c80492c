package linear

import (
	"math"
	"slices"

	"github.com/sftseq/sftseq/seq"
)

// step computes gradient steps of rows and holds the buffers for them.
type step struct {
	config  *Config
	table   []parameter
	bias    []parameter
	logits  []float64 // one per column
	scales  []float64 // 1 divided by the row's norm, by column; 0 without features; update may overwrite them
	errors  []float64 // derivatives of the loss with respect to the logits
	targets []float64
	team    *team // nil means that one thread computes all columns
	shared  int   // minimum number of weights of a row whose columns are distributed to the team
}

func newStep(c *Config, table, bias []parameter) *step {
	n := len(bias)
	return &step{config: c, table: table, bias: bias, logits: make([]float64, n), scales: make([]float64, n),
		errors: make([]float64, n), targets: make([]float64, n)}
}

// forColumns calls f for ranges that cover all columns of a row, concurrently if the row is large.
func (s *step) forColumns(r *row, f func(from, to int)) {
	if s.team == nil {
		f(0, len(s.bias))
		return
	}
	s.team.run(len(r.features), s.shared, f)
}

// forward computes the logits and scales of a row.
func (s *step) forward(r *row) {
	if len(s.bias) == 1 {
		z, squares := 0.0, 0.0
		for _, j := range r.features {
			p := &s.table[j]
			z += float64(p.weight) * float64(p.ratio)
			squares += float64(p.ratio) * float64(p.ratio)
		}
		s.logits[0], s.scales[0] = z, squares
	} else {
		s.forColumns(r, func(from, to int) {
			logits, scales := s.logits[from:to], s.scales[from:to]
			clear(logits)
			clear(scales)
			for _, j := range r.features {
				for c, p := range s.table[int(j)*len(s.logits)+from:][:len(logits)] {
					logits[c] += float64(p.weight) * float64(p.ratio)
					scales[c] += float64(p.ratio) * float64(p.ratio)
				}
			}
		})
	}
	for c, squares := range s.scales {
		if squares > 0 {
			s.scales[c] = 1 / math.Sqrt(squares)
		}
		s.logits[c] = float64(s.logits[c]*s.scales[c]) + float64(s.bias[c].weight)
	}
}

// loss returns the cross-entropy of a row from its computed logits, for multi-label the mean over
// labels. It sets errors to the derivatives with respect to the logits, for multi-label to the
// derivatives of the sum over labels.
func (s *step) loss(r *row) (loss float64) {
	clear(s.targets)
	s.config.classes(r, func(c int) { s.targets[c] = 1 })
	if len(s.logits) > 1 && s.config.Task != seq.MultiLabel {
		top, sum := slices.Max(s.logits), 0.0
		for c, z := range s.logits {
			s.errors[c] = math.Exp(z - top)
			sum += s.errors[c]
		}
		for c := range s.errors {
			s.errors[c] = s.errors[c]/sum - s.targets[c]
		}
		return math.Log(sum) + top - s.logits[r.label]
	}
	for c, z := range s.logits {
		e := math.Exp(-math.Abs(z))
		p := 1 / (1 + e)
		if z < 0 {
			p = 1 - p
		}
		s.errors[c] = p - s.targets[c]
		loss += math.Log1p(e) + max(0, z) - float64(z*s.targets[c])
	}
	return loss / float64(len(s.logits))
}

// losses adds to sums[i] the loss of a row with its logits multiplied by factors[i].
func (s *step) losses(r *row, factors, sums []float64) {
	s.forward(r)
	logits := slices.Clone(s.logits)
	for i, factor := range factors {
		for c, z := range logits {
			s.logits[c] = factor * z
		}
		sums[i] += s.loss(r)
	}
	copy(s.logits, logits)
}

// isCorrect reports whether the row's label has the largest logit. Among equal logits, the first
// counts. The logits must have been computed.
func (s *step) isCorrect(r *row) bool {
	if len(s.logits) == 1 {
		return (s.logits[0] > 0) == (r.label == 1)
	}
	return slices.Index(s.logits, slices.Max(s.logits)) == int(r.label)
}

// update takes an Adagrad step that reduces the row's loss.
func (s *step) update(r *row, rate float32) {
	s.forward(r)
	s.loss(r)
	if len(s.bias) == 1 {
		g := float32(s.errors[0] * s.scales[0])
		for _, j := range r.features {
			s.table[j].descend(float32(g*s.table[j].ratio), rate)
		}
	} else {
		for c, e := range s.errors {
			s.scales[c] *= e
		}
		s.forColumns(r, func(from, to int) {
			for _, j := range r.features {
				for c, g := range s.scales[from:to] {
					p := &s.table[int(j)*len(s.scales)+from+c]
					p.descend(float32(float32(g)*p.ratio), rate)
				}
			}
		})
	}
	for c, e := range s.errors {
		s.bias[c].descend(float32(e), rate*biasRate)
	}
}

// descend updates a parameter with its gradient.
func (p *parameter) descend(gradient, rate float32) {
	p.squares += float32(gradient * gradient)
	p.weight -= float32(rate*gradient) / float32(math.Sqrt(float64(p.squares)))
}
