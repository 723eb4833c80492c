package cloud

import (
	"context"
	"errors"
	"math"
	"sort"
)

// Sample returns n points. From a surface it draws uniformly distributed points with the normals of
// their faces. From a point set it selects n points by farthest point sampling, or all points if
// there are at most n. random returns uniform numbers in [0, 1).
func (s *Shape) Sample(ctx context.Context, n int, random func() float64) (*Shape, error) {
	if s.Faces != nil {
		return s.onSurface(n, random)
	}
	indices, err := s.farthest(ctx, n, random)
	if err != nil {
		return nil, err
	}
	return s.subset(indices), nil
}

// oversampling is the number of points that Farthest draws from a surface for each point that it
// keeps.
const oversampling = 8

// Farthest returns n points selected by farthest point sampling. It samples a point set like
// [Shape.Sample]. On a surface it selects the points from a denser uniform sample, so that thin parts
// get more points than in proportion to their area. random returns uniform numbers in [0, 1).
func (s *Shape) Farthest(ctx context.Context, n int, random func() float64) (*Shape, error) {
	if s.Faces != nil {
		var err error
		if s, err = s.onSurface(oversampling*n, random); err != nil {
			return nil, err
		}
	}
	indices, err := s.farthest(ctx, n, random)
	if err != nil {
		return nil, err
	}
	return s.subset(indices), nil
}

// Draw returns n points. It samples a surface like [Shape.Sample], and draws from a point set at
// random with replacement. random returns uniform numbers in [0, 1).
func (s *Shape) Draw(_ context.Context, n int, random func() float64) (*Shape, error) {
	if s.Faces != nil {
		return s.onSurface(n, random)
	}
	drawn := make([]int, n)
	for i := range drawn {
		drawn[i] = min(int(random()*float64(len(s.Points))), len(s.Points)-1)
	}
	return s.subset(drawn), nil
}

// subset returns the shape with only the points at the given indices, with their normals and parts.
func (s *Shape) subset(indices []int) *Shape {
	out := &Shape{}
	for _, i := range indices {
		out.Points = append(out.Points, s.Points[i])
		if s.Normals != nil {
			out.Normals = append(out.Normals, s.Normals[i])
		}
		if s.Parts != nil {
			out.Parts = append(out.Parts, s.Parts[i])
		}
	}
	return out
}

// direction returns the normal of triangle i, scaled to twice the area of the triangle.
func (s *Shape) direction(i int) Vec {
	f := s.Faces[i]
	return s.Points[f[1]].Minus(s.Points[f[0]]).Cross(s.Points[f[2]].Minus(s.Points[f[0]]))
}

// onSurface draws n faces with probabilities proportional to their area, and a uniformly
// distributed point on each.
func (s *Shape) onSurface(n int, random func() float64) (*Shape, error) {
	areas := make([]float64, len(s.Faces)) // cumulative areas, doubled
	total := 0.0
	for i := range s.Faces {
		total += s.direction(i).Norm()
		areas[i] = total
	}
	if !(total > 0) || math.IsInf(total, 0) {
		return nil, errors.New("expected a surface with a finite area above 0")
	}
	out := &Shape{Points: make([]Vec, 0, n), Normals: make([]Vec, 0, n)}
	for range n {
		at := random() * total
		i := min(sort.Search(len(areas), func(i int) bool { return areas[i] > at }), len(areas)-1)
		for i > 0 && s.direction(i).Norm() == 0 {
			i--
		}
		f, u, v := s.Faces[i], random(), random()
		if u+v > 1 {
			u, v = 1-u, 1-v
		}
		a, b, c := s.Points[f[0]], s.Points[f[1]], s.Points[f[2]]
		var p, normal Vec
		direction := s.direction(i)
		for k := range 3 {
			p[k] = a[k] + u*(b[k]-a[k]) + v*(c[k]-a[k])
			normal[k] = direction[k] / direction.Norm()
		}
		out.Points, out.Normals = append(out.Points, p), append(out.Normals, normal)
	}
	return out, nil
}

// farthest selects a random point, and then repeatedly the point that is farthest from all selected
// points. Of equally far points, it selects the first. It returns the indices of the points, or all
// indices if there are at most n points.
//
// Source: Eldar, Lindenbaum, Porat and Zeevi, "The Farthest Point Strategy for Progressive
// Image Sampling", IEEE Transactions on Image Processing 6, 1997.
func (s *Shape) farthest(ctx context.Context, n int, random func() float64) (selected []int, err error) {
	if n >= len(s.Points) {
		for i := range s.Points {
			selected = append(selected, i)
		}
		return selected, nil
	}
	nearest := make([]float64, len(s.Points)) // squared distance to the nearest selected point
	for i := range nearest {
		nearest[i] = math.Inf(1)
	}
	next := min(int(random()*float64(len(s.Points))), len(s.Points)-1)
	for len(selected) < n {
		if err := ctx.Err(); err != nil { // a step takes a long time for ten million points
			return nil, err
		}
		selected = append(selected, next)
		nearest[next] = -1 // exclude this point, but not other points at the same position
		at, farthest := s.Points[next], -1.0
		for i, p := range s.Points {
			x, y, z := p[0]-at[0], p[1]-at[1], p[2]-at[2]
			d := min(nearest[i], float64(x*x)+float64(y*y)+float64(z*z))
			if nearest[i] = d; d > farthest {
				next, farthest = i, d
			}
		}
	}
	return selected, nil
}
