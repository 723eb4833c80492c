// Package sparse keeps embedding tables, such as tables of n-grams, in the host's memory. A batch
// reads only a few of their rows. A device computes with these rows (see [Bags] and
// tensor.EmbedBag); the host sums gradients and updates the tables. Every sum has the same order
// for any number of threads.
package sparse

import (
	"math"
	"sync"
)

// Gradient is the gradient of some rows of a table.
type Gradient struct {
	Rows   []uint32  // ascending
	Values []float32 // values of the rows, concatenated
}

// Add returns a + b. Both must be gradients of tables with the same width.
func Add(a, b Gradient) Gradient {
	switch {
	case len(a.Rows) == 0:
		return b
	case len(b.Rows) == 0:
		return a
	}
	width := len(a.Values) / len(a.Rows)
	out := Gradient{make([]uint32, 0, len(a.Rows)+len(b.Rows)), make([]float32, 0, len(a.Values)+len(b.Values))}
	moveRow := func(g *Gradient) []float32 {
		row := g.Values[:width]
		out.Rows, out.Values = append(out.Rows, g.Rows[0]), append(out.Values, row...)
		g.Rows, g.Values = g.Rows[1:], g.Values[width:]
		return out.Values[len(out.Values)-width:]
	}
	for len(a.Rows) > 0 && len(b.Rows) > 0 {
		switch {
		case a.Rows[0] < b.Rows[0]:
			moveRow(&a)
		case a.Rows[0] > b.Rows[0]:
			moveRow(&b)
		default:
			sum := moveRow(&a)
			for c, v := range b.Values[:width] {
				sum[c] += v
			}
			b.Rows, b.Values = b.Rows[1:], b.Values[width:]
		}
	}
	out.Rows, out.Values = append(append(out.Rows, a.Rows...), b.Rows...), append(append(out.Values, a.Values...),
		b.Values...)
	return out
}

// Finite reports whether all numbers of the gradient are finite.
func (g *Gradient) Finite() bool {
	for _, v := range g.Values {
		if v-v != 0 { // NaN or infinite
			return false
		}
	}
	return true
}

// Table is an embedding table with the state of its optimizer.
type Table struct {
	Width   int
	Values  []float32 // values of the rows, concatenated
	Squares []float32 // per row, the sum over updates of the gradient's mean square; nil without an optimizer
}

// NewTable returns a table of zeros with optimizer state.
func NewTable(rows, width int) *Table {
	return &Table{Width: width, Values: make([]float32, rows*width), Squares: make([]float32, rows)}
}

// Lookup copies the given rows to out, in order.
func (t *Table) Lookup(rows []uint32, out []float32) {
	for i, r := range rows {
		copy(out[i*t.Width:(i+1)*t.Width], t.Values[int(r)*t.Width:])
	}
}

// epsilon is added to the sum of mean squares of a row.
const epsilon = 1e-12

// Adagrad updates the table's rows that g lists. It divides g by divisor; rate is the learning rate:
//
//	s ← s + mean_c (g_c/divisor)²,  w_c ← w_c − rate·(g_c/divisor)/√(s + 10⁻¹²)
//
// Each row has a single accumulator s. Source: Duchi, Hazan and Singer, Adaptive Subgradient
// Methods, JMLR 2011, which has one accumulator per element.
func (t *Table) Adagrad(g Gradient, divisor, rate float64, threads int) {
	const block = 1 << 10 // rows that a thread processes at a time
	var wg sync.WaitGroup
	for thread := range min(threads, (len(g.Rows)+block-1)/block) {
		wg.Go(func() {
			for from := thread * block; from < len(g.Rows); from += threads * block {
				to := min(from+block, len(g.Rows))
				t.adagrad(Gradient{g.Rows[from:to], g.Values[from*t.Width : to*t.Width]}, divisor, rate)
			}
		})
	}
	wg.Wait()
}

func (t *Table) adagrad(g Gradient, divisor, rate float64) {
	for i, r := range g.Rows {
		gradient := g.Values[i*t.Width : (i+1)*t.Width]
		sum := 0.0
		for _, v := range gradient {
			x := float64(v) / divisor
			sum += float64(x * x)
		}
		if sum == 0 {
			continue
		}
		s := float64(t.Squares[r]) + sum/float64(t.Width)
		t.Squares[r] = float32(min(s, math.MaxFloat32)) // a checkpoint with an infinity could not be resumed
		if s < math.MaxFloat32 {
			s = float64(t.Squares[r])
		}
		step := rate / math.Sqrt(s+epsilon) / divisor
		row := t.Values[int(r)*t.Width:][:t.Width]
		for c, v := range gradient {
			row[c] = float32(float64(row[c]) - float64(step*float64(v)))
		}
	}
}
