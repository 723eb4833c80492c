package model

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/seq"
)

// packEdges returns the packed edges of one example.
func packEdges(edges []seq.Edge, n, width int) *packedEdges {
	var p packedEdges
	p.pack([]seq.Example{{Edges: edges}}, []int32{0, int32(n)}, width, 1)
	return &p
}

// TestParallelEdges checks that parallel edges are joined: features are added, with sums clamped to
// the range of float32, and the last number counts the edges.
func TestParallelEdges(t *testing.T) {
	p := packEdges([]seq.Edge{
		{Source: 1, Target: 0, Features: []float32{3e38}},
		{Source: 0, Target: 0, Features: []float32{0.5}},
		{Source: 1, Target: 0, Features: []float32{3e38}},
		{Source: 0, Target: 0, Features: []float32{0.25}},
		{Source: 0, Target: 0, Features: []float32{-2}},
	}, 2, 1)
	if want := []float32{-1.25, 3, math.MaxFloat32, 2}; !slices.Equal(p.features, want) ||
		!slices.Equal(p.source, []int32{0, 1}) || !slices.Equal(p.first, []int32{0, 2, 2}) {
		t.Errorf("%+v, expected the features %v, the sources [0 1] and the first edges [0 2 2]", p, want)
	}
}

// TestPackedEdges compares the packed edges with a stable comparison sort and sums in the order of
// the edges. Features must be bitwise identical, and negative zeros must become positive.
func TestPackedEdges(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 3))
	for _, n := range []int{1, 2, 3, 64, 65, 2048, 2049, 70_000, 1 << 22, 1<<22 + 1} {
		edges := make([]seq.Edge, 3000)
		for i := range edges {
			edges[i] = seq.Edge{Source: random.Int32N(int32(n)), Target: random.Int32N(int32(n)),
				Features: []float32{random.Float32() - 0.5, math.Float32frombits(1 << 31)}}
			if i%5 == 4 {
				edges[i].Source, edges[i].Target = edges[i-3].Source, edges[i-3].Target
			}
		}
		p, want := packEdges(edges, n, 2), packedEdges{first: make([]int32, n+1)}
		sorted := slices.Clone(edges)
		slices.SortStableFunc(sorted, func(a, b seq.Edge) int {
			return cmp.Or(cmp.Compare(a.Target, b.Target), cmp.Compare(a.Source, b.Source))
		})
		for len(sorted) > 0 {
			sums, e := [3]float64{}, sorted[0]
			for ; len(sorted) > 0 && sorted[0].Target == e.Target && sorted[0].Source == e.Source; sorted = sorted[1:] {
				for c, v := range append(slices.Clone(sorted[0].Features), 1) {
					sums[c] += float64(v)
				}
			}
			want.first[e.Target+1]++
			want.source = append(want.source, e.Source)
			want.features = append(want.features, float32(sums[0]), float32(sums[1]), float32(sums[2]))
		}
		for i := range n {
			want.first[i+1] += want.first[i]
		}
		// fmt shows the sign of a zero
		got, expected := fmt.Sprint(p.first, p.source, p.features), fmt.Sprint(want.first, want.source, want.features)
		if got != expected {
			t.Errorf("%d tokens: the packed edges differ: found %d joined edges, expected %d", n, len(p.source),
				len(want.source))
		}
	}
}
