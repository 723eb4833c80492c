package ngram

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// TestMutualInformation checks known values for features that determine the class, are independent of it, occur in
// all rows or none, or occur in half the rows of a class.
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
		t.Errorf("2 features: got tokens 7, 8 and 9 selected: %v, %v, %v; want true for 7 and for exactly "+
			"one of 8 and 9", feature(two, 7), feature(two, 8), feature(two, 9))
	}
	for _, threads := range []int{1, 4} {
		v := choose(20, threads)
		if v.Size() != 20 || feature(v, 99) || !slices.Equal(v.Used, choose(20, 2).Used) {
			t.Errorf("%d threads: got %d features, token 99 selected: %v; want 20, false and the same slots as with 2 threads", threads,
				v.Size(), feature(v, 99))
		}
	}
	must.Fail(t, "expected at most 1 used slots for 268435456 classes")(
		all.Select(context.Background(), 2, maxCounts, 0, 1, nil))
	if v := choose(1<<20, 2); v.Size() >= all.Size() || v.Size() < 40 {
		t.Errorf("without a limit %d of %d features remain, want at least 40 but not all", v.Size(), all.Size())
	}
}

// TestSelectFeatures checks that the features with the largest information are chosen. Of features with equal counts
// only the first is chosen; features with the same information but different counts remain.
func TestSelectFeatures(t *testing.T) {
	rows := []uint32{10, 10}
	counts := []uint32{1, 1, 0, 9, 5, 0, 0, 5, 5, 0, 0, 9, 8, 0}
	for n, want := range map[int][]int{1: {1}, 2: {1, 6}, 4: {1, 2, 3, 6}, 9: {0, 1, 2, 3, 6}} {
		if got := selectFeatures(counts, rows, n); !slices.Equal(got, want) {
			t.Errorf("%d features: got %v, want %v", n, got, want)
		}
	}
}

// TestSelectKeepsCells checks that a selected vocabulary still omits rare n-grams. Threads count the same n-grams
// concurrently, so the race detector finds counts that are not atomic.
func TestSelectKeepsCells(t *testing.T) {
	o := Options{Units: Tokens, MinN: 1, MaxN: 1, Slots: 1 << 12, MinCount: 2}
	rows := [][]int32{{1, 2, 3}, {1, 4}, {2, 5}, {1, 2, 6}}
	visit := func(b int, add func(a []int32)) error {
		for range 500 {
			add(rows[b])
		}
		return nil
	}
	all := must.Get(Collect(context.Background(), o, len(rows), 1, func(b int, add func(a, b []int32)) error {
		add(rows[b], nil)
		return nil
	}))(t)
	for range 20 {
		v := must.Get(all.Select(context.Background(), 1, 2, len(rows), 8,
			func(b int, add func(a []int32, class int)) error {
				return visit(b, func(a []int32) { add(a, b/2) })
			}))(t)
		// Token 1 is in both rows of class 0 and one of class 1, token 2 in one of class 0 and both of class 1: the
		// information is equal, so the first slot is chosen.
		x := NewExtractor(o)
		features := func(v *Vocabulary, token int32) int { return len(v.Features(x, []int32{token}, nil, nil)) }
		if v.Size() != 1 || features(v, 1)+features(v, 2) != 1 || features(v, 3) != 0 || features(v, 6) != 0 {
			t.Fatalf("got %d features, of which tokens 1, 2, 3 and 6 have %d, %d, %d and %d; want 1 feature, of token 1 or 2",
				v.Size(), features(v, 1), features(v, 2), features(v, 3), features(v, 6))
		}
	}
}
