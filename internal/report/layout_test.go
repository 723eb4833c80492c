package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/seq"
)

// TestLayouts checks that the layout of a graph is finite and deterministic. In graphs of at least 12
// nodes with some but not all edges, it checks that no two nodes coincide. Except for stars, the median
// edge of these graphs must be shorter than the median distance between two nodes.
func TestLayouts(t *testing.T) {
	sizes := []int{1, 2, 3, 12, 100}
	if !testing.Short() {
		sizes = append(sizes, maxNodes)
	}
	r := rand.New(rand.NewPCG(1, 2))
	graphs := map[string]func(n int) []seq.Edge{
		"ring": func(n int) (out []seq.Edge) {
			for i := range n {
				out = append(out, seq.Edge{Source: int32(i), Target: int32((i + 1) % n)},
					seq.Edge{Source: int32(i), Target: int32(i)})
			}
			return out
		},
		"star": func(n int) (out []seq.Edge) {
			for i := range n - 1 {
				out = append(out, seq.Edge{Target: int32(i + 1)})
			}
			return out
		},
		"complete": func(n int) (out []seq.Edge) {
			for i := range min(n, 90) {
				for j := range i {
					out = append(out, seq.Edge{Source: int32(i), Target: int32(j)})
				}
			}
			return out
		},
		"random": func(n int) (out []seq.Edge) {
			for range 3 * n {
				out = append(out, seq.Edge{Source: int32(r.IntN(n)), Target: int32(r.IntN(n))})
			}
			return out
		},
		"pairs": func(n int) (out []seq.Edge) {
			for i := 0; i+1 < n; i += 2 {
				out = append(out, seq.Edge{Source: int32(i), Target: int32(i + 1)})
			}
			return out
		},
		"none": func(int) []seq.Edge { return nil },
	}
	for name, of := range graphs {
		for _, n := range sizes {
			t.Run(fmt.Sprint(name, " of ", n), func(t *testing.T) {
				edges := of(n)
				g := layoutGraph(n, edges)
				if !slices.Equal(g.Points, layoutGraph(n, edges).Points) {
					t.Error("got different layouts of the same graph")
				}
				for _, p := range g.Points {
					if v := p.X + p.Y; v-v != 0 || math.Abs(v) > 100 {
						t.Fatalf("got a node at %v, want finite coordinates below 100", p)
					}
				}
				distance := func(a, b int) float64 {
					return math.Hypot(g.Points[a].X-g.Points[b].X, g.Points[a].Y-g.Points[b].Y)
				}
				var near, all []float64
				for _, e := range g.Edges {
					near = append(near, distance(e[0], e[1]))
				}
				for a := range n {
					for b := range a {
						all = append(all, distance(a, b))
					}
				}
				if n < 12 || len(near) == 0 || len(near) == len(all) {
					return
				}
				slices.Sort(near)
				slices.Sort(all)
				if name != "star" && near[len(near)/2] >= all[len(all)/2] {
					t.Errorf("got a median edge length of %.3f, want less than the median distance %.3f",
						near[len(near)/2], all[len(all)/2])
				}
				if all[0] < 1e-3 {
					t.Errorf("got two nodes at a distance of %g, want at least 1e-3", all[0])
				}
			})
		}
	}
}
