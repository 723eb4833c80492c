package lra

import (
	"math"

	"github.com/sftseq/sftseq/internal/cloud"
)

// vec is a point or a direction.
type vec = cloud.Vec

// surface is a section of a shape's surface, and belongs to one part of the shape. The function
// pointAt maps two uniform numbers in [0, 1) to a uniform point on this section and the normal there.
type surface struct {
	part    int
	area    float64
	pointAt func(u, v float64) (point, normal vec)
}

// disc returns a disc perpendicular to z. Its normal points up if up is 1, and down if up is −1.
func disc(part int, center vec, radius, up float64) surface {
	return surface{part, math.Pi * radius * radius, func(u, v float64) (vec, vec) {
		sin, cos := math.Sincos(2 * math.Pi * u)
		r := radius * math.Sqrt(v)
		return center.Plus(vec{r * cos, r * sin, 0}), vec{0, 0, up}
	}}
}

// cylinderSide returns the side of a cylinder along z; center is in the middle of its height.
func cylinderSide(part int, center vec, radius, height float64) surface {
	return surface{part, 2 * math.Pi * radius * height, func(u, v float64) (vec, vec) {
		sin, cos := math.Sincos(2 * math.Pi * u)
		return center.Plus(vec{radius * cos, radius * sin, (v - 0.5) * height}), vec{cos, sin, 0}
	}}
}

// coneSide returns the side of a cone along z whose base is at the origin.
func coneSide(part int, radius, height float64) surface {
	slant := math.Hypot(radius, height)
	return surface{part, math.Pi * radius * slant, func(u, v float64) (vec, vec) {
		sin, cos := math.Sincos(2 * math.Pi * u)
		r := math.Sqrt(v) // radius as a fraction of the base's radius
		return vec{radius * r * cos, radius * r * sin, height * (1 - r)},
			vec{height / slant * cos, height / slant * sin, radius / slant}
	}}
}

// sphere returns a sphere.
func sphere(part int, center vec, radius float64) surface {
	return surface{part, 4 * math.Pi * radius * radius, func(u, v float64) (vec, vec) {
		sin, cos := math.Sincos(2 * math.Pi * u)
		z := 2*v - 1
		r := math.Sqrt(1 - z*z)
		n := vec{r * cos, r * sin, z}
		return center.Plus(n.Times(radius)), n
	}}
}

// torusArc returns a section of a torus whose circle is in the plane of x and z. The parameter arc is
// the section's angle in radians, from −z towards x. The circle has the given radius, and thickness is
// the radius of the tube.
func torusArc(part int, center vec, radius, thickness, arc float64) surface {
	return surface{part, arc * radius * 2 * math.Pi * thickness, func(u, v float64) (vec, vec) {
		// The outer side has more area: the cumulative distribution of the angle around the tube is
		// (φ + (t/R)·sin φ)/2π, which Newton's method inverts.
		phi := 2 * math.Pi * v
		for range 20 {
			sin, cos := math.Sincos(phi)
			phi -= (phi + thickness/radius*sin - 2*math.Pi*v) / (1 + thickness/radius*cos)
		}
		sin, cos := math.Sincos(u*arc - math.Pi/2)
		out := vec{cos, 0, sin}
		s, c := math.Sincos(phi)
		n := out.Times(c).Plus(vec{0, s, 0})
		return center.Plus(out.Times(radius)).Plus(n.Times(thickness)), n
	}}
}

// cuboid returns the six faces of a box of the given size.
func cuboid(part int, center, size vec) (out []surface) {
	for axis := range 3 {
		a, b := (axis+1)%3, (axis+2)%3
		for _, side := range []float64{-1, 1} {
			out = append(out, surface{part, size[a] * size[b], func(u, v float64) (vec, vec) {
				var p, n vec
				p[axis], p[a], p[b] = side*size[axis]/2, (u-0.5)*size[a], (v-0.5)*size[b]
				n[axis] = side
				return center.Plus(p), n
			}})
		}
	}
	return out
}

// closedCylinder returns a closed cylinder along z; side and cap are the parts of its surfaces.
func closedCylinder(side, cap int, center vec, radius, height float64) []surface {
	return []surface{cylinderSide(side, center, radius, height),
		disc(cap, center.Plus(vec{0, 0, height / 2}), radius, 1),
		disc(cap, center.Plus(vec{0, 0, -height / 2}), radius, -1)}
}

// shape is a class of solids: its parts, and a function that returns the surfaces of a solid of
// random size. The parameter of draw is a function that returns a uniform number between lo and hi.
type shape struct {
	name  string
	parts []string
	draw  func(between func(lo, hi float64) float64) []surface
}

// shapes lists the classes in the order of their labels.
var shapes = []shape{
	{"ball", []string{"ball"}, func(func(lo, hi float64) float64) []surface { return []surface{sphere(0, vec{}, 1)} }},
	{"bolt", []string{"head", "shaft"}, func(between func(lo, hi float64) float64) []surface {
		head, r, l := between(0.2, 0.4), between(0.2, 0.35), between(0.8, 1.6)
		return append(closedCylinder(0, 0, vec{0, 0, head / 2}, between(0.5, 0.7), head), cylinderSide(1,
			vec{0, 0, -l / 2}, r, l),
			disc(1, vec{0, 0, -l}, r, -1))
	}},
	{"box", []string{"box"}, func(between func(lo, hi float64) float64) []surface {
		return cuboid(0, vec{}, vec{between(0.5, 1), between(0.5, 1), between(0.5, 1)})
	}},
	{"cone", []string{"side", "base"}, func(between func(lo, hi float64) float64) []surface {
		r := between(0.4, 0.8)
		return []surface{coneSide(0, r, between(0.8, 1.6)), disc(1, vec{}, r, -1)}
	}},
	{"cylinder", []string{"side", "cap"}, func(between func(lo, hi float64) float64) []surface {
		return closedCylinder(0, 1, vec{}, between(0.3, 0.6), between(0.8, 1.6))
	}},
	{"dumbbell", []string{"weight", "bar"}, func(between func(lo, hi float64) float64) []surface {
		l, r := between(0.8, 1.4), between(0.25, 0.4)
		return []surface{sphere(0, vec{0, 0, l / 2}, r), sphere(0, vec{0, 0, -l / 2}, r),
			cylinderSide(1, vec{}, between(0.05, 0.12), l-2*r)}
	}},
	{"mug", []string{"body", "handle"}, func(between func(lo, hi float64) float64) []surface {
		r, h := between(0.4, 0.6), between(0.8, 1.2)
		return []surface{cylinderSide(0, vec{}, r, h), disc(0, vec{0, 0, -h / 2}, r, -1),
			torusArc(1, vec{r, 0, 0}, h*between(0.25, 0.35), between(0.05, 0.1), math.Pi)}
	}},
	{"table", []string{"top", "leg"}, func(between func(lo, hi float64) float64) []surface {
		w, d, h, leg := between(0.8, 1.4), between(0.6, 1), between(0.5, 0.9), between(0.06, 0.12)
		out := cuboid(0, vec{0, 0, h / 2}, vec{w, d, between(0.05, 0.12)})
		for _, x := range []float64{-1, 1} {
			for _, y := range []float64{-1, 1} {
				out = append(out, cuboid(1, vec{x * (w - leg) / 2, y * (d - leg) / 2, 0}, vec{leg, leg, h})...)
			}
		}
		return out
	}},
	{"torus", []string{"ring"}, func(between func(lo, hi float64) float64) []surface {
		return []surface{torusArc(0, vec{}, 1, between(0.15, 0.45), 2*math.Pi)}
	}},
}
