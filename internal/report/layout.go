package report

import (
	"math/rand/v2"

	"gonum.org/v1/gonum/graph"
	"gonum.org/v1/gonum/graph/iterator"
	"gonum.org/v1/gonum/graph/layout"
	"gonum.org/v1/gonum/graph/simple"
	"gonum.org/v1/gonum/spatial/r2"

	"github.com/sftseq/sftseq/internal/chart"
	"github.com/sftseq/sftseq/seq"
)

// mostDrawn is how many nodes a graph may have for a picture in which something can be seen.
const mostDrawn = 500

// laidOut lays the nodes of a graph out by Eades's springs (A heuristic for graph drawing, 1984):
// neighbours near each other, others apart. The same graph always looks the same.
func laidOut(nodes int, edges []seq.Edge) *chart.Plane {
	g := ordered{near: make([][]graph.Node, nodes), joined: map[[2]int64]bool{}}
	p := &chart.Plane{}
	for _, e := range edges {
		from, to := int64(e.Source), int64(e.Target)
		if from == to || g.joined[[2]int64{from, to}] {
			continue
		}
		g.joined[[2]int64{from, to}], g.joined[[2]int64{to, from}] = true, true
		g.near[from], g.near[to] = append(g.near[from], simple.Node(to)), append(g.near[to], simple.Node(from))
		p.Edges = append(p.Edges, [2]int{int(from), int(to)})
	}
	const updates, repulsion, rate, theta = 100, 1, 0.05, 0.1
	at := layout.NewOptimizerR2(g, (&layout.EadesR2{Updates: updates, Repulsion: repulsion, Rate: rate, Theta: theta, Src: rand.NewPCG(1, 1)}).Update)
	for at.Update() {
	}
	for n := range nodes {
		place := r2.Vec{}
		if nodes > 1 {
			place = at.Coord2(int64(n))
		}
		p.Points = append(p.Points, chart.Point{X: place.X, Y: place.Y})
	}
	return p
}

// ordered is an undirected graph whose nodes have an order, which those of gonum have not, so
// that a layout always begins alike.
type ordered struct {
	near   [][]graph.Node
	joined map[[2]int64]bool
}

func (g ordered) Node(id int64) graph.Node { return simple.Node(id) }

func (g ordered) Nodes() graph.Nodes {
	all := make([]graph.Node, len(g.near))
	for n := range all {
		all[n] = simple.Node(n)
	}
	return iterator.NewOrderedNodes(all)
}

func (g ordered) From(id int64) graph.Nodes { return iterator.NewOrderedNodes(g.near[id]) }

func (g ordered) HasEdgeBetween(x, y int64) bool { return g.joined[[2]int64{x, y}] }

func (g ordered) Edge(x, y int64) graph.Edge {
	if !g.HasEdgeBetween(x, y) {
		return nil
	}
	return simple.Edge{F: simple.Node(x), T: simple.Node(y)}
}
