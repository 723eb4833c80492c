package cloud

import "math"

// Vec is a point or a direction.
type Vec [3]float64

// Plus returns a + b.
func (a Vec) Plus(b Vec) Vec { return Vec{a[0] + b[0], a[1] + b[1], a[2] + b[2]} }

// Minus returns a − b.
func (a Vec) Minus(b Vec) Vec { return Vec{a[0] - b[0], a[1] - b[1], a[2] - b[2]} }

// Times returns s·a.
func (a Vec) Times(s float64) Vec { return Vec{a[0] * s, a[1] * s, a[2] * s} }

// Norm returns the length.
func (a Vec) Norm() float64 { return math.Sqrt(a[0]*a[0] + a[1]*a[1] + a[2]*a[2]) }

// Unit returns the vector scaled to length 1; false if its length is 0 or infinite.
func (a Vec) Unit() (Vec, bool) {
	if largest := max(math.Abs(a[0]), math.Abs(a[1]), math.Abs(a[2])); largest < 1e-100 { // its square could underflow
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

// Cross returns the cross product.
func (a Vec) Cross(b Vec) Vec {
	return Vec{a[1]*b[2] - a[2]*b[1], a[2]*b[0] - a[0]*b[2], a[0]*b[1] - a[1]*b[0]}
}

// float32 returns the coordinates as features of a token.
func (a Vec) float32() []float32 { return []float32{float32(a[0]), float32(a[1]), float32(a[2])} }

// minExtent is the minimum extent of a cloud as a fraction of its largest absolute coordinate. In a
// smaller cloud, the rounding error of the mean is about as large as the distances from the mean.
const minExtent = 1e-13

// areEqual reports whether all points are equal up to rounding.
func areEqual(points []Vec) bool {
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
	return extent <= minExtent*largest
}

// Normalize centres points at their mean, divides them by their largest distance from it, and
// returns this distance. If all points are equal up to rounding, it returns 0 and moves them to the
// origin. If the squared distances underflow, it returns 0 and only centres the points.
func Normalize(points []Vec) (radius float64) {
	if len(points) == 0 || areEqual(points) {
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
	if radius == 0 { // the squared distances underflow
		return 0
	}
	for i := range points {
		points[i] = points[i].Times(1 / radius)
	}
	return radius
}
