package cloud

import (
	"context"
	"math"

	"gonum.org/v1/gonum/spatial/kdtree"
)

// SpacingName is the feature of a point that has log(d + 0.001), where d is the distance to its
// eighth nearest neighbour in its cloud, whose radius is 1. Of n points that are uniform on a surface of
// area A, d is about √(8A/πn) where it is flat, more along an edge or a thin part, and less where
// surfaces are close to each other. Of farthest points it is nearly the same everywhere.
//
// Source: Loftsgaarden and Quesenberry, "A Nonparametric Estimate of a Multivariate Density Function", Annals of
// Mathematical Statistics 36 (1965): the distance to the k-th neighbour as a measure of density.
const SpacingName = "log_spacing"

// spacingNeighbors is which neighbour's distance tells; of clouds of fewer others the last one's.
const spacingNeighbors = 8

// spacings are [SpacingName] of points, whose radius is 1.
func spacings(ctx context.Context, points []Vec) ([]float32, error) {
	// Where many distances are 0, or their squares are, a search visits all of the tree. So it has each
	// place once, and places so near to 0 that their squares would be 0 are there.
	place := func(p Vec) Vec {
		for i, x := range p {
			if math.Abs(x) < 1e-100 {
				p[i] = 0
			}
		}
		return p
	}
	at := map[Vec]int{}
	for _, p := range points {
		at[place(p)]++
	}
	places := make(kdtree.Points, 0, len(at))
	for p := range at {
		places = append(places, p[:])
	}
	tree := kdtree.New(places, false)
	of := make(map[Vec]float32, len(at))
	for p := range at {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		nearest := kdtree.NewNKeeper(spacingNeighbors + 1) // with itself
		tree.NearestSet(nearest, kdtree.Point(p[:]))       // which sorts them
		others, squared := -1, 0.0
		for _, n := range nearest.Heap {
			if others >= spacingNeighbors {
				break
			}
			squared = n.Dist
			others += at[Vec(n.Comparable.(kdtree.Point))]
		}
		of[p] = float32(math.Log(math.Sqrt(squared) + 1e-3))
	}
	out := make([]float32, len(points))
	for i, p := range points {
		out[i] = of[place(p)]
	}
	return out, nil
}
