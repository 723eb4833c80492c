package cloud

import "math"

// Vec is a point or a direction.
type Vec [3]float64

// Plus is a sum.
func (a Vec) Plus(b Vec) Vec { return Vec{a[0] + b[0], a[1] + b[1], a[2] + b[2]} }

// Minus is a difference.
func (a Vec) Minus(b Vec) Vec { return Vec{a[0] - b[0], a[1] - b[1], a[2] - b[2]} }

// Times is a multiple.
func (a Vec) Times(s float64) Vec { return Vec{a[0] * s, a[1] * s, a[2] * s} }

// Norm is the length.
func (a Vec) Norm() float64 { return math.Sqrt(a[0]*a[0] + a[1]*a[1] + a[2]*a[2]) }

// Unit is the direction of a vector whose length is neither 0 nor infinite.
func (a Vec) Unit() (Vec, bool) {
	if largest := max(math.Abs(a[0]), math.Abs(a[1]), math.Abs(a[2])); largest < 1e-100 { // its square could be 0
		_, exponent := math.Frexp(largest)
		for i, x := range a {
			a[i] = math.Ldexp(x, -exponent)
		}
	}
	length := a.Norm()
	if length == 0 || math.IsInf(length, 0) {
		return Vec{}, false
	}
	return a.Times(1 / length), true
}

// Cross is perpendicular to both.
func (a Vec) Cross(b Vec) Vec {
	return Vec{a[1]*b[2] - a[2]*b[1], a[2]*b[0] - a[0]*b[2], a[0]*b[1] - a[1]*b[0]}
}

// float32 are the numbers as features of a token.
func (a Vec) float32() []float32 { return []float32{float32(a[0]), float32(a[1]), float32(a[2])} }

// leastExtent is the least extent of a cloud, as a part of its largest coordinate. The rounding of the mean of
// points that are closer together is about as large as their distances from it.
const leastExtent = 1e-13

// atOnePlace reports whether points are as close together as rounding makes equal ones.
func atOnePlace(points []Vec) bool {
	low, high := points[0], points[0]
	for _, p := range points {
		for k, x := range p {
			low[k], high[k] = min(low[k], x), max(high[k], x)
		}
	}
	extent, largest := 0.0, 0.0
	for k := range low {
		extent = max(extent, high[k]-low[k])
		largest = max(largest, math.Abs(low[k]), math.Abs(high[k]))
	}
	return extent <= leastExtent*largest
}

// Normalize moves points to their mean and divides them by their largest distance from it, which
// it returns: 0 where all are at one place but for rounding. Equal points move to the origin.
func Normalize(points []Vec) (radius float64) {
	if len(points) == 0 || atOnePlace(points) {
		clear(points)
		return 0
	}
	var center Vec
	for _, p := range points {
		center = center.Plus(p.Times(1 / float64(len(points))))
	}
	for i := range points {
		points[i] = points[i].Minus(center)
		radius = max(radius, points[i].Norm())
	}
	if radius == 0 { // the squares of the distances underflow
		return 0
	}
	for i := range points {
		points[i] = points[i].Times(1 / radius)
	}
	return radius
}
