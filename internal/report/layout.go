package report

import (
	"math"

	"github.com/sftseq/sftseq/internal/chart"
	"github.com/sftseq/sftseq/seq"
)

// Maximum size of a graph that is drawn. Larger drawings would be illegible.
const (
	maxNodes = 500
	maxEdges = 4000
)

// layoutGraph places the nodes of a graph by a force-directed layout. With d the distance between two
// nodes and ℓ the spacing of evenly spread nodes, all nodes repel each other with ℓ²/d, and edges
// attract with d²/ℓ. A weak force towards the centre keeps disconnected parts near each other. A
// temperature that falls to 0 limits the movement per step. The layout starts from a circle and takes a
// fixed number of steps, so it is deterministic.
//
// Source: Fruchterman, Reingold, "Graph Drawing by Force-directed Placement", Software: Practice
// and Experience 21, 1991.
func layoutGraph(nodes int, edges []seq.Edge) *chart.Plane {
	p := &chart.Plane{Points: make([]chart.Point, nodes), Edges: uniqueEdges(edges)}
	for n := range p.Points {
		sin, cos := math.Sincos(2 * math.Pi * float64(n) / float64(nodes))
		p.Points[n] = chart.Point{X: cos, Y: sin}
	}
	spacing := 2 / math.Sqrt(float64(nodes))
	moves := make([]chart.Point, nodes)
	pull := func(a, b int, force func(d float64) float64) {
		x, y := p.Points[b].X-p.Points[a].X, p.Points[b].Y-p.Points[a].Y
		d := max(math.Hypot(x, y), 1e-9)
		f := force(d) / d
		moves[a] = chart.Point{X: moves[a].X + f*x, Y: moves[a].Y + f*y}
		moves[b] = chart.Point{X: moves[b].X - f*x, Y: moves[b].Y - f*y}
	}
	const steps, middle = 200, 0.1
	for step := range steps {
		for n, at := range p.Points {
			moves[n] = chart.Point{X: -middle * at.X, Y: -middle * at.Y}
		}
		for a := range nodes {
			for b := range a {
				pull(a, b, func(d float64) float64 { return -spacing * spacing / d })
			}
		}
		for _, e := range p.Edges {
			pull(e[0], e[1], func(d float64) float64 { return d * d / spacing })
		}
		temperature := 0.2 * (1 - float64(step)/steps)
		for n, move := range moves {
			length := max(math.Hypot(move.X, move.Y), 1e-12)
			scale := min(length, temperature) / length
			p.Points[n].X += scale * move.X
			p.Points[n].Y += scale * move.Y
		}
	}
	return p
}

// uniqueEdges returns the pairs of nodes with an edge, without duplicates and self-loops.
func uniqueEdges(edges []seq.Edge) (out [][2]int) {
	seen := map[[2]int]bool{}
	for _, e := range edges {
		pair := [2]int{int(min(e.Source, e.Target)), int(max(e.Source, e.Target))}
		if pair[0] != pair[1] && !seen[pair] {
			seen[pair] = true
			out = append(out, pair)
		}
	}
	return out
}
