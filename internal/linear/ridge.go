package linear

import (
	"context"
	"math"

	"github.com/sftseq/sftseq/internal/parallel"
	"github.com/sftseq/sftseq/seq"
)

// penalties lists the values of λ that a ridge regression tries in this order until the validation
// loss stops decreasing. Without validation rows, λ is defaultPenalty.
var penalties = []float64{10, 3, 1, 0.3, 0.1, 0.03, 0.01}

const (
	defaultPenalty = 1.0
	ridgeSteps     = 50   // maximum iterations per penalty
	ridgeTolerance = 1e-6 // the iteration ends at this relative squared norm of the residual
)

// ridge fits standardised numbers by minimising
//
//	Σ (w·(x − m) − y)² + λ |w|²
//
// over the training rows (Hoerl and Kennard, Technometrics 12, 1970), where x is a row's feature vector,
// scaled to norm 1, and m is the mean of x over the rows. Conjugate gradients minimise it (Hestenes and
// Stiefel, Journal of Research of the NBS 49, 1952), starting from the solution for the previous penalty.
func (f *fitting) ridge(ctx context.Context, m *Model) error {
	if err := f.standardise(ctx); err != nil {
		return err
	}
	s, err := f.newSolver(ctx)
	if err != nil {
		return err
	}
	tried := penalties
	if f.val == nil {
		tried = []float64{defaultPenalty}
	}
	f.report.Kept = -1
	minLoss := math.Inf(1)
	for i, penalty := range tried {
		if err := s.solve(ctx, penalty); err != nil {
			return err
		}
		loss, rows, err := s.validate(ctx, f.val)
		if err != nil {
			return err
		}
		if rows == 0 && penalty != defaultPenalty {
			continue
		}
		if rows > 0 {
			if f.report.Losses = append(f.report.Losses, loss); loss >= minLoss {
				break
			}
			minLoss, f.report.Kept = loss, i
		}
		f.report.Penalty = penalty
		s.store(m)
	}
	return nil
}

// standardise sets the mean and the deviation of each number in the configuration.
func (f *fitting) standardise(ctx context.Context) error {
	d, n := f.train, len(f.config.Numbers)
	type moments struct {
		rows         int
		sum, squares []float64
	}
	byBlock := make([]moments, len(d.blocks))
	err := parallel.Do(ctx, d.workers, len(d.blocks), func(_, b int) error {
		m := moments{0, make([]float64, n), make([]float64, n)}
		err := d.forEachRow(b, func(e *seq.Example) {
			m.rows++
			for c, v := range e.Numbers {
				m.sum[c] += float64(v)
				m.squares[c] += float64(v) * float64(v)
			}
		})
		byBlock[b] = m
		return err
	})
	if err != nil {
		return err
	}
	all := moments{0, make([]float64, n), make([]float64, n)}
	for _, m := range byBlock {
		all.rows += m.rows
		for c := range n {
			all.sum[c] += m.sum[c]
			all.squares[c] += m.squares[c]
		}
	}
	if all.rows == 0 {
		return ErrNothingToLearn
	}
	f.report.Rows = all.rows
	for c := range f.config.Numbers {
		v, square := &f.config.Numbers[c], all.squares[c]/float64(all.rows)
		v.Mean = all.sum[c] / float64(all.rows)
		v.Deviation = 1
		if variance := square - float64(v.Mean*v.Mean); variance > 1e-12*square {
			v.Deviation = math.Sqrt(variance)
		}
	}
	return nil
}

// solver is the state of conjugate gradients for all numbers. In vectors, feature j of number c has
// the index j·columns + c.
type solver struct {
	data    *data
	columns int
	ratios  []float32 // ratio of each feature
	mean    []float64 // mean value of each feature over the rows
	rhs     []float64 // Xᵀy; y has mean 0, so m contributes nothing
	weights []float64
	r, p, q []float64 // residual, search direction, and the matrix times the direction
}

// newSolver counts the rows of each feature and computes the means and the right-hand side.
func (f *fitting) newSolver(ctx context.Context) (*solver, error) {
	n, size := len(f.config.Numbers), f.train.vocabulary.Size()
	counts := make([]uint32, size)
	err := f.train.inOrder(ctx, func(rows []row) error {
		for i := range rows {
			for _, j := range rows[i].features {
				counts[j]++
			}
		}
		return ctx.Err()
	})
	if err != nil {
		return nil, err
	}
	s := &solver{data: f.train, columns: n, ratios: make([]float32, size), mean: make([]float64, size)}
	for _, v := range []*[]float64{&s.rhs, &s.weights, &s.r, &s.p, &s.q} {
		*v = make([]float64, size*n)
	}
	for j, n := range counts {
		s.ratios[j] = roundRatio(1 + math.Log(float64(1+f.report.Rows)/float64(1+n)))
	}
	return s, f.train.inOrder(ctx, func(rows []row) error {
		for i := range rows {
			r := &rows[i]
			scale := s.scale(r)
			for _, j := range r.features {
				x := scale * float64(s.ratios[j])
				s.mean[j] += x / float64(f.report.Rows)
				for c, y := range r.numbers {
					s.rhs[int(j)*n+c] += float64(x * float64(y))
				}
			}
		}
		return ctx.Err()
	})
}

// scale returns 1 divided by the norm of a row's features, or 0 without features.
func (s *solver) scale(r *row) float64 {
	squares := 0.0
	for _, j := range r.features {
		squares += float64(s.ratios[j]) * float64(s.ratios[j])
	}
	if squares == 0 {
		return 0
	}
	return 1 / math.Sqrt(squares)
}

// multiply writes (XᵀX + λI)·v to out, where λ is the penalty and the rows of X are the centred feature
// vectors x − m.
func (s *solver) multiply(ctx context.Context, v, out []float64, penalty float64) error {
	for i, x := range v {
		out[i] = penalty * x
	}
	centre, projected := s.centre(v), make([]float64, s.columns)
	return s.data.inOrder(ctx, func(rows []row) error {
		for i := range rows {
			s.project(&rows[i], v, centre, projected)
			scale := s.scale(&rows[i])
			for _, j := range rows[i].features {
				x := scale * float64(s.ratios[j])
				for c, a := range projected { // the sum over the rows is 0, so m contributes nothing
					out[int(j)*s.columns+c] += float64(x * a)
				}
			}
		}
		return ctx.Err()
	})
}

// project writes v·(x − m) of a row to out, for each number.
func (s *solver) project(r *row, v, centre, out []float64) {
	clear(out)
	for _, j := range r.features {
		for c := range out {
			out[c] += float64(float64(s.ratios[j]) * v[int(j)*s.columns+c])
		}
	}
	scale := s.scale(r)
	for c := range out {
		out[c] = float64(out[c]*scale) - centre[c]
	}
}

// centre returns v·m for each number.
func (s *solver) centre(v []float64) []float64 {
	out := make([]float64, s.columns)
	for i, x := range v {
		out[i%s.columns] += float64(s.mean[i/s.columns] * x)
	}
	return out
}

// dot returns the dot product of two vectors for each number.
func (s *solver) dot(a, b []float64) []float64 {
	out := make([]float64, s.columns)
	for i, v := range b {
		out[i%s.columns] += float64(a[i] * v)
	}
	return out
}

// solve minimises the loss with a penalty, starting from the current weights.
func (s *solver) solve(ctx context.Context, penalty float64) error {
	if err := s.multiply(ctx, s.weights, s.q, penalty); err != nil {
		return err
	}
	for i := range s.r {
		s.r[i] = s.rhs[i] - s.q[i]
	}
	copy(s.p, s.r)
	norm, scale := s.dot(s.r, s.r), s.dot(s.rhs, s.rhs)
	alpha, beta := make([]float64, s.columns), make([]float64, s.columns)
	for range ridgeSteps {
		converged := true
		for c := range norm {
			converged = converged && !(norm[c] > ridgeTolerance*scale[c]) // also ends on NaN
		}
		if converged {
			return nil
		}
		if err := s.multiply(ctx, s.p, s.q, penalty); err != nil {
			return err
		}
		curvature, before := s.dot(s.p, s.q), norm
		for c := range alpha {
			if alpha[c] = 0; curvature[c] > 0 {
				alpha[c] = before[c] / curvature[c]
			}
		}
		for i := range s.p {
			c := i % s.columns
			s.weights[i] += float64(alpha[c] * s.p[i])
			s.r[i] -= float64(alpha[c] * s.q[i])
		}
		norm = s.dot(s.r, s.r)
		for c := range beta {
			if beta[c] = 0; before[c] > 0 {
				beta[c] = norm[c] / before[c]
			}
		}
		for i := range s.p {
			s.p[i] = s.r[i] + float64(beta[i%s.columns]*s.p[i])
		}
	}
	return nil
}

// validate returns the mean squared error of the standardised numbers of validation rows, and the
// number of rows.
func (s *solver) validate(ctx context.Context, val *data) (loss float64, rows int, err error) {
	if val == nil {
		return 0, 0, nil
	}
	centre, predicted := s.centre(s.weights), make([]float64, s.columns)
	err = val.inOrder(ctx, func(all []row) error {
		for i := range all {
			s.project(&all[i], s.weights, centre, predicted)
			for c, v := range predicted {
				d := v - float64(all[i].numbers[c])
				loss += float64(d * d)
			}
		}
		rows += len(all)
		return ctx.Err()
	})
	return loss / float64(max(1, rows*s.columns)), rows, err
}

// store writes the weights in fixed point, and the biases, to the model.
func (s *solver) store(m *Model) {
	for i, w := range s.weights {
		ratio := s.ratios[i/s.columns]
		m.cells[i] = cell{fixedPoint(w * float64(ratio)), int32(math.Round(float64(ratio) * ratioUnit))}
	}
	for c, v := range s.centre(s.weights) {
		m.bias[c] = float32(-v)
	}
}
