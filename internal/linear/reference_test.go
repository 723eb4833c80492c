package linear

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/ngram"
	"github.com/sftseq/sftseq/seq"
)

// reference computes the model by its definition in float64 with maps, without fixed point, rounded
// ratios or threads.
type reference struct {
	options ngram.Options
	classes int
	sigmoid bool           // multi-label
	kept    map[uint64]int // number of training rows by cell
	used    map[uint64]bool
	ratio   []map[uint64]float64 // one per column
	weight  []map[uint64]float64
	bias    []float64
}

// slots returns the distinct slots of a row's frequent n-grams, in the order of their first
// occurrence.
func (f *reference) slots(e *seq.Example) (out []uint64) {
	for _, h := range ngram.NewExtractor(f.options).Hashes(e.A, e.B) {
		slot := h >> 48 // 2¹⁶ slots
		if f.kept[h%(1<<24)] >= f.options.MinCount && (f.used == nil || f.used[slot]) && !slices.Contains(out, slot) {
			out = append(out, slot)
		}
	}
	return out
}

func (f *reference) logits(slots []uint64) (z, norm []float64) {
	for c := range f.bias {
		sum, squares := 0.0, 0.0
		for _, s := range slots {
			sum += f.weight[c][s] * f.ratio[c][s]
			squares += f.ratio[c][s] * f.ratio[c][s]
		}
		norm = append(norm, math.Sqrt(squares))
		z = append(z, f.bias[c])
		if squares > 0 {
			z[c] += sum / norm[c]
		}
	}
	return z, norm
}

// has reports whether a row has the class of a column.
func (f *reference) has(e *seq.Example, c int) bool {
	switch {
	case f.sigmoid:
		return slices.Contains(e.Labels, int32(c))
	case f.classes == 2:
		return e.Label == 1
	}
	return int(e.Label) == c
}

// loss returns a row's cross-entropy, for multi-label the mean over the labels. residuals has the
// derivatives with respect to the logits, for multi-label the derivatives of the sum over the labels.
func (f *reference) loss(e *seq.Example, z []float64) (loss float64, residuals []float64) {
	softmax := 0.0
	for _, v := range z {
		softmax += math.Exp(v)
	}
	for c, v := range z {
		p, y := 1/(1+math.Exp(-v)), 0.0
		if len(z) > 1 && !f.sigmoid {
			p = math.Exp(v) / softmax
		}
		if f.has(e, c) {
			y = 1
			loss -= math.Log(p)
		} else if len(z) == 1 || f.sigmoid {
			loss -= math.Log(1 - p)
		}
		residuals = append(residuals, p-y)
	}
	if f.sigmoid {
		loss /= float64(len(z))
	}
	return loss, residuals
}

// fit trains on the labelled rows of train, and keeps the learning rate, epoch and scale with the
// lowest loss on val.
func (f *reference) fit(train, val made, columns int, rate float64, seed uint64) {
	train = slices.DeleteFunc(slices.Clone(train), func(e seq.Example) bool { return e.Label < 0 && e.Labels == nil })
	f.kept, f.used = map[uint64]int{}, nil
	for i := range train {
		cells := map[uint64]bool{}
		for _, h := range ngram.NewExtractor(f.options).Hashes(train[i].A, train[i].B) {
			cells[h%(1<<24)] = true
		}
		for c := range cells {
			f.kept[c]++
		}
	}
	rows, used := make([][]uint64, len(train)), map[uint64]bool{}
	for i := range train {
		rows[i] = f.slots(&train[i])
		for _, s := range rows[i] {
			used[s] = true
		}
	}
	f.used = used
	f.bias = make([]float64, columns)
	squares, biasSquares := make([]map[uint64]float64, columns), make([]float64, columns)
	for c := range columns {
		p, q, ps, qs := map[uint64]float64{}, map[uint64]float64{}, 0.0, 0.0
		for i := range train {
			for _, s := range rows[i] {
				if f.has(&train[i], c) {
					p[s]++
					ps++
				} else {
					q[s]++
					qs++
				}
			}
		}
		m := float64(len(used))
		f.ratio = append(f.ratio, map[uint64]float64{})
		f.weight = append(f.weight, map[uint64]float64{})
		squares[c], biasSquares[c] = map[uint64]float64{}, 1e-8
		for s := range used {
			f.ratio[c][s] = math.Log((p[s]+1)/(ps+m)) - math.Log((q[s]+1)/(qs+m))
			squares[c][s] = 1e-8
		}
	}
	best, minLoss := (*reference)(nil), math.Inf(1)
	for _, rate := range []float64{rate, 0.4 * rate, 0.2 * rate} {
		before := minLoss
		clear(f.bias)
		for c := range columns {
			biasSquares[c] = 1e-8
			clear(f.weight[c])
			for s := range used {
				squares[c][s] = 1e-8
			}
		}
		for t, epoch := 0, 0; epoch < 5; epoch++ {
			random := rand.New(rand.NewPCG(seed, uint64(epoch)))
			random.Perm(1) // the order of one block
			order := make([]int, len(train))
			for i := range order {
				order[i] = i
			}
			random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
			for _, i := range order {
				z, norm := f.logits(rows[i])
				_, residuals := f.loss(&train[i], z)
				step := rate*(1-float64(t)/float64(5*len(train))) + 1e-5
				for c, e := range residuals {
					for _, s := range rows[i] {
						g := e * f.ratio[c][s] / norm[c]
						squares[c][s] += g * g
						f.weight[c][s] -= step * g / math.Sqrt(squares[c][s])
					}
					biasSquares[c] += e * e
					f.bias[c] -= 0.1 * step * e / math.Sqrt(biasSquares[c])
				}
				t++
			}
			if loss, scale := f.scale(val); loss < minLoss {
				best, minLoss = f.scaled(scale), loss
			}
		}
		if minLoss == before {
			break
		}
	}
	*f = *best
}

// scale returns the lowest summed loss on the labelled rows, and the factor of the logits with this
// loss. It tries a grid of factors and returns the vertex of the parabola through the best factor and
// both neighbours. At an end of the grid, it returns the loss and the factor of the best grid point.
func (f *reference) scale(rows made) (loss, scale float64) {
	at := func(k int) (sum float64) {
		for i := range rows {
			if rows[i].Label < 0 && rows[i].Labels == nil {
				continue
			}
			z, _ := f.logits(f.slots(&rows[i]))
			for c := range z {
				z[c] *= math.Pow(2, float64(k)/2)
			}
			l, _ := f.loss(&rows[i], z)
			sum += l
		}
		return sum
	}
	k := 0
	for i := -6; i <= 6; i++ {
		if at(i) < at(k) {
			k = i
		}
	}
	if k == -6 || k == 6 {
		return at(k), math.Pow(2, float64(k)/2)
	}
	l, m, r := at(k-1), at(k), at(k+1)
	a, b := (l+r)/2-m, (r-l)/2 // a·x² + b·x + m, x in steps of the grid
	x := -b / (2 * a)
	return a*x*x + b*x + m, math.Pow(2, (float64(k)+x)/2)
}

// scaled returns a copy with logits multiplied by a factor.
func (f *reference) scaled(factor float64) *reference {
	out := *f
	out.weight, out.bias = nil, nil
	for c, weights := range f.weight {
		w := map[uint64]float64{}
		for s, v := range weights {
			w[s] = factor * v
		}
		out.weight, out.bias = append(out.weight, w), append(out.bias, factor*f.bias[c])
	}
	return &out
}

// TestReference compares logits with the float64 reference for two classes, three classes and three
// labels.
func TestReference(t *testing.T) {
	for _, classes := range []int{2, 3, -3} {
		n := max(classes, -classes)
		train, val, test := moods(1, 700, n), moods(2, 200, n), moods(3, 200, n)
		s := classSpec(n)
		f := &reference{options: wordOptions, classes: classes, sigmoid: classes < 0}
		columns := max(1, classes)
		if classes == 2 {
			columns = 1
		}
		if f.sigmoid {
			s.Task, columns = seq.MultiLabel, -classes
			for _, rows := range []made{train, val, test} {
				for i := range rows {
					if l := rows[i].Label; l >= 0 {
						rows[i].Labels = [][]int32{{}, {0, 2}, {1}}[l]
					}
					rows[i].Label = seq.NoLabel
				}
			}
		}
		f.fit(train, val, columns, WordsRate, 7)
		m, _ := fitted(t, s, wordOptions, train, val, Options{Seed: 7})
		if m.Features() != len(f.used) {
			t.Fatalf("%d classes: %d features, expected %d", classes, m.Features(), len(f.used))
		}
		p, largest := m.NewPredictor(), 0.0
		for i := range test {
			want, _ := f.logits(f.slots(&test[i]))
			got := p.Logits(&test[i])
			for c, z := range got[len(got)-columns:] {
				largest = max(largest, math.Abs(z))
				if math.Abs(z-want[c]) > 0.005 {
					t.Errorf("%d classes: row %d, column %d: logit %v, expected %v", classes, i, c, z, want[c])
				}
			}
			if columns == 1 && got[0] != 0 {
				t.Errorf("the first of two logits is %v, want 0", got[0])
			}
		}
		if largest < 1.5 {
			t.Errorf("%d classes: the largest logit is %v, the comparison needs at least 1.5", classes, largest)
		}
	}
}
