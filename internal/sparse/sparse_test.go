package sparse

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// toTable returns a gradient as a whole table of rows.
func toTable(g Gradient, rows, width int) []float32 {
	out := make([]float32, rows*width)
	for i, r := range g.Rows {
		copy(out[int(r)*width:], g.Values[i*width:(i+1)*width])
	}
	return out
}

// randomGradient returns a gradient of random rows.
func randomGradient(r *rand.Rand, rows, width int) (g Gradient) {
	for row := range rows {
		if r.IntN(3) == 0 {
			g.Rows = append(g.Rows, uint32(row))
			for range width {
				g.Values = append(g.Values, float32(r.NormFloat64()))
			}
		}
	}
	return g
}

// TestAdd checks the sum of gradients against the sum of whole tables.
func TestAdd(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		rows, width := 1+r.IntN(40), 1+r.IntN(5)
		a, b := randomGradient(r, rows, width), randomGradient(r, rows, width)
		wantA, wantB := toTable(a, rows, width), toTable(b, rows, width)
		sum := Add(a, b)
		if !slices.IsSorted(sum.Rows) || len(slices.Compact(slices.Clone(sum.Rows))) != len(sum.Rows) {
			t.Fatalf("got rows %v, want ascending distinct rows", sum.Rows)
		}
		if !slices.Equal(toTable(a, rows, width), wantA) || !slices.Equal(toTable(b, rows, width), wantB) {
			t.Fatal("Add changed a term")
		}
		for i, v := range toTable(sum, rows, width) {
			if v != wantA[i]+wantB[i] {
				t.Fatalf("element %d: got %v, want %v + %v", i, v, wantA[i], wantB[i])
			}
		}
	}
	if bad := (Gradient{[]uint32{1}, []float32{0, float32(math.Inf(1))}}); bad.Finite() {
		t.Errorf("Finite() = true for the values %v, want false", bad.Values)
	}
	if good := (Gradient{[]uint32{1}, []float32{0, 3}}); !good.Finite() {
		t.Errorf("Finite() = false for the values %v, want true", good.Values)
	}
}

// TestAdagrad checks several updates against the definition in float64, and that the number of
// threads does not change the result.
func TestAdagrad(t *testing.T) {
	const rows, width = 5000, 3
	r := rand.New(rand.NewPCG(3, 4))
	single, threaded := NewTable(rows, width), NewTable(rows, width)
	w, s := make([]float64, rows*width), make([]float64, rows)
	for range 5 {
		g := randomGradient(r, rows, width)
		copy(g.Values[:width], make([]float32, width)) // a row whose gradient is zero
		single.Adagrad(g, 8, 0.03, 1)
		threaded.Adagrad(g, 8, 0.03, 3)
		for i, row := range g.Rows {
			sum := 0.0
			for _, v := range g.Values[i*width : (i+1)*width] {
				sum += float64(v) / 8 * float64(v) / 8
			}
			s[row] += sum / width
			for c, v := range g.Values[i*width : (i+1)*width] {
				w[int(row)*width+c] -= 0.03 * float64(v) / 8 / math.Sqrt(s[row]+1e-12)
			}
		}
	}
	for i, v := range single.Values {
		if math.Abs(float64(v)-w[i]) > 1e-6 {
			t.Fatalf("element %d: got %v, want %v", i, v, w[i])
		}
	}
	if !slices.Equal(single.Values, threaded.Values) || !slices.Equal(single.Squares, threaded.Squares) {
		t.Errorf("updates with 1 and 3 threads: equal values: %v, equal squares: %v; want both equal",
			slices.Equal(single.Values, threaded.Values), slices.Equal(single.Squares, threaded.Squares))
	}
	out := make([]float32, 2*width)
	single.Lookup([]uint32{4, 4999}, out)
	if !slices.Equal(out[:width], single.Values[4*width:5*width]) || !slices.Equal(out[width:],
		single.Values[4999*width:]) {
		t.Errorf("Lookup returned %v, want rows 4 and 4999 of the table", out)
	}
}

// TestBags checks the fields of packed bags against their documentation.
func TestBags(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var b Bags
	for range 100 {
		tokens, groups, table := r.IntN(50), 1+r.IntN(6), 1+r.IntN(maxRow)
		if r.IntN(2) == 0 {
			table = 1 + r.IntN(20)
		}
		rows := make([]uint32, tokens*groups)
		for i := range rows {
			if rows[i] = None; r.IntN(4) > 0 {
				rows[i] = uint32(r.IntN(table))
			}
		}
		b.Pack(rows, groups)
		if !slices.IsSorted(b.Rows) || len(b.Offset) != len(b.Rows)+1 || len(b.Scale) != tokens {
			t.Fatalf("got %d rows, %d offsets and %d scales, want ascending rows, one offset per row plus 1, %d scales",
				len(b.Rows), len(b.Offset), len(b.Scale), tokens)
		}
		tokensOf := map[uint32][]int32{}
		for i, row := range rows {
			if index := b.Row[i]; row == None && index != -1 || row != None && b.Rows[index] != row {
				t.Fatalf("position %d: got index %d, want the index of row %d, or -1 for None", i, index, row)
			}
			if row != None {
				tokensOf[row] = append(tokensOf[row], int32(i/groups))
			}
		}
		for i, row := range b.Rows {
			if got := b.Token[b.Offset[i]:b.Offset[i+1]]; !slices.Equal(got, tokensOf[row]) {
				t.Fatalf("row %d: got tokens %v, want %v", row, got, tokensOf[row])
			}
		}
		for i, scale := range b.Scale {
			n := groups - len(slices.DeleteFunc(slices.Clone(rows[i*groups:(i+1)*groups]),
				func(v uint32) bool { return v != None }))
			if math.Abs(float64(scale)-1/math.Sqrt(float64(1+n))) > 1e-7 {
				t.Fatalf("got scale %v for %d rows, want %v", scale, n, 1/math.Sqrt(float64(1+n)))
			}
		}
		if len(tokensOf) != len(b.Rows) {
			t.Fatalf("got %d rows, want %d", len(b.Rows), len(tokensOf))
		}
	}
}

// TestAdagradOverflow checks a gradient whose mean square overflows float32. The state must stay
// finite, because checkpoints reject infinities, and the row must move by the learning rate.
func TestAdagradOverflow(t *testing.T) {
	table := NewTable(1, 2)
	table.Adagrad(Gradient{[]uint32{0}, []float32{1e30, -1e30}}, 1, 0.5, 1)
	if s := table.Squares[0]; s != math.MaxFloat32 {
		t.Errorf("got sum of squares %v, want the largest float32", s)
	}
	if v := table.Values; math.Abs(float64(v[0])+0.5) > 1e-6 || math.Abs(float64(v[1])-0.5) > 1e-6 {
		t.Errorf("got values %v, want -0.5 and 0.5", v)
	}
}
