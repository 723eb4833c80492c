package ngram

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// TestMutualInformation checks known values: of features that determine the class, are independent of it, or occur in
// all rows or none.
func TestMutualInformation(t *testing.T) {
	rows := []uint32{30, 10}
	entropy := -(0.75*math.Log(0.75) + 0.25*math.Log(0.25))
	for _, c := range []struct {
		counts []uint32
		want   float64
	}{{[]uint32{0, 10}, entropy}, {[]uint32{30, 0}, entropy}, {[]uint32{15, 5}, 0}, {[]uint32{30, 10}, 0},
		{[]uint32{0, 0}, 0}, {[]uint32{0, 5}, entropy - 35./40*-(30./35*math.Log(30./35)+5./35*math.Log(5./35))}} {
		if got := mutualInformation(c.counts, rows); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%v: got %v, want %v", c.counts, got, c.want)
		}
	}
}

// TestSelect checks the chosen slots of random rows: two tokens determine the class, one of them with a
// companion that occurs in the same rows, and rows without a class do not count.
func TestSelect(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var rows [][]int32
	var classes []int
	for i := range 300 {
		class := i % 3
		row := []int32{int32(100 + random.IntN(50)), int32(100 + random.IntN(50))}
		switch class {
		case 1:
			row = append(row, 7)
		case 2:
			row = append(row, 8, 9)
		}
		if i%10 == 0 {
			row, class = append(row, 99), -1 // only rows without a class have this token
		}
		rows, classes = append(rows, row), append(classes, class)
	}
	o := Options{Units: Tokens, MinN: 1, MaxN: 1, Slots: 1 << 20, MinCount: 1}
	all := must.Get(Collect(context.Background(), o, len(rows), 2, func(b int, add func(a, b []int32)) error {
		add(rows[b], nil)
		return nil
	}))(t)
	choose := func(n, threads int) *Vocabulary {
		return must.Get(all.Select(context.Background(), n, 3, len(rows), threads,
			func(b int, add func(a []int32, class int)) error {
				add(rows[b], classes[b])
				return nil
			}))(t)
	}
	feature := func(v *Vocabulary, token int32) bool {
		return len(v.Features(NewExtractor(o), []int32{token}, nil, nil)) == 1
	}
	two := choose(2, 1)
	if two.Size() != 2 || !feature(two, 7) || feature(two, 8) == feature(two, 9) {
		t.Errorf("of 2 features, tokens 7, 8 and 9 have %v, %v, %v, want 7 and one of the others", feature(two, 7),
			feature(two, 8), feature(two, 9))
	}
	for _, threads := range []int{1, 4} {
		v := choose(20, threads)
		if v.Size() != 20 || feature(v, 99) || !slices.Equal(v.Used, choose(20, 2).Used) {
			t.Errorf("%d threads: %d features, token 99 %v, or another set than with two threads", threads, v.Size(),
				feature(v, 99))
		}
	}
	if v := choose(1<<20, 2); v.Size() >= all.Size() || v.Size() < 40 {
		t.Errorf("without a limit %d of %d features remain", v.Size(), all.Size())
	}
}
