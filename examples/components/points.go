package main

import (
	"errors"
	"math"
	"slices"
	"sort"
)

type vec [3]float64

func (a vec) minus(b vec) vec     { return vec{a[0] - b[0], a[1] - b[1], a[2] - b[2]} }
func (a vec) times(s float64) vec { return vec{a[0] * s, a[1] * s, a[2] * s} }
func (a vec) norm() float64       { return math.Sqrt(a[0]*a[0] + a[1]*a[1] + a[2]*a[2]) }
func (a vec) cross(b vec) vec {
	return vec{a[1]*b[2] - a[2]*b[1], a[2]*b[0] - a[0]*b[2], a[0]*b[1] - a[1]*b[0]}
}

// point is a point drawn from a surface.
type point struct {
	at, normal vec
	material
}

// sample draws n points uniformly from the surface. random returns uniform numbers from 0 to 1.
func (s *surface) sample(n int, random func() float64) ([]point, error) {
	areas := make([]float64, len(s.triangles)) // cumulative
	directions := make([]vec, len(s.triangles))
	total := 0.0
	for i, t := range s.triangles {
		a := s.points[t.corners[0]]
		directions[i] = s.points[t.corners[1]].minus(a).cross(s.points[t.corners[2]].minus(a))
		total += directions[i].norm()
		areas[i] = total
	}
	if !(total > 0) || math.IsInf(total, 0) {
		return nil, errors.New("expected a surface with a finite area above 0")
	}
	out := make([]point, n)
	for i := range out {
		at := random() * total
		k := min(sort.Search(len(areas), func(k int) bool { return areas[k] > at }), len(areas)-1)
		for k > 0 && directions[k].norm() == 0 {
			k--
		}
		t, u, v := s.triangles[k], random(), random()
		if u+v > 1 {
			u, v = 1-u, 1-v
		}
		a, b, c := s.points[t.corners[0]], s.points[t.corners[1]], s.points[t.corners[2]]
		p := point{material: t.material}
		for axis := range 3 {
			p.at[axis] = a[axis] + u*(b[axis]-a[axis]) + v*(c[axis]-a[axis])
			p.normal[axis] = directions[k][axis] / directions[k].norm()
		}
		p.normal = p.normal.times(1 / p.normal.norm())
		out[i] = p
	}
	return out, nil
}

// normalize subtracts the mean from points, divides them by their largest distance from the mean
// and returns this distance.
func normalize(points []point) (radius float64) {
	var center vec
	for i := range points {
		for axis, x := range points[i].at.times(1 / float64(len(points))) {
			center[axis] += x
		}
	}
	for i := range points {
		points[i].at = points[i].at.minus(center)
		radius = max(radius, points[i].at.norm())
	}
	for i := range points {
		points[i].at = points[i].at.times(1 / radius)
	}
	return radius
}

// alignment returns 1 for a normal within eight degrees of an axis, in either direction, and 0
// otherwise.
func alignment(n vec) float32 {
	if max(math.Abs(n[0]), math.Abs(n[1]), math.Abs(n[2])) > 0.99 {
		return 1
	}
	return 0
}

// spacings returns log(d + 0.001) for each point, where d is the distance to its eighth nearest
// neighbour. d measures the local density of points (Loftsgaarden and Quesenberry, Annals of
// Mathematical Statistics 36, 1965): it is larger on thin wires, and smaller where surfaces are close
// to each other.
func spacings(points []point) []float32 {
	out, squares := make([]float32, len(points)), make([]float64, len(points))
	for i := range points {
		for j := range points {
			d := points[i].at.minus(points[j].at)
			squares[j] = d[0]*d[0] + d[1]*d[1] + d[2]*d[2]
		}
		slices.Sort(squares) // the first is the point itself
		out[i] = float32(math.Log(math.Sqrt(squares[min(8, len(squares)-1)]) + 1e-3))
	}
	return out
}
