package cloud

import (
	"fmt"
	"math"
)

// transform moves points: x becomes m·x + t.
type transform struct {
	m [3]Vec // rows
	t Vec
}

var identityTransform = transform{m: [3]Vec{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}}

func (a transform) apply(x Vec) (y Vec) {
	for i, row := range a.m {
		y[i] = row[0]*x[0] + row[1]*x[1] + row[2]*x[2] + a.t[i]
	}
	return y
}

// after is a of what b has made.
func (a transform) after(b transform) (c transform) {
	for i, row := range a.m {
		for j := range 3 {
			c.m[i][j] = row[0]*b.m[0][j] + row[1]*b.m[1][j] + row[2]*b.m[2][j]
		}
	}
	c.t = a.apply(b.t)
	return c
}

// transformOf is that of a node Transform: x becomes R·S·(x − center) + center + translation.
func transformOf(n *vrmlNode) (transform, error) {
	out := identityTransform
	scale, center, shift := Vec{1, 1, 1}, Vec{}, Vec{}
	for name, v := range map[string]*Vec{"scale": &scale, "center": &center, "translation": &shift} {
		switch numbers := n.numbers[name]; len(numbers) {
		case 0:
		case 3:
			*v = Vec(numbers)
		default:
			return out, fmt.Errorf("%s: %d numbers, expected 3", name, len(numbers))
		}
	}
	if o := n.numbers["scaleOrientation"]; len(o) == 4 && o[3] != 0 {
		return out, fmt.Errorf("scaleOrientation %v, expected none", o)
	}
	switch r := n.numbers["rotation"]; len(r) {
	case 0:
	case 4:
		out.m = about(Vec(r[:3]), r[3])
	default:
		return out, fmt.Errorf("rotation: %d numbers, expected 4", len(r))
	}
	for i := range out.m {
		for j := range 3 {
			out.m[i][j] *= scale[j]
		}
	}
	moved := out.apply(center)
	for i := range out.t {
		out.t[i] = center[i] - moved[i] + shift[i]
	}
	return out, nil
}

// about is the rotation about an axis by an angle in radians (Rodrigues); without a direction
// there is none.
func about(axis Vec, angle float64) [3]Vec {
	length := axis.Norm()
	if length == 0 {
		return identityTransform.m
	}
	x, y, z := axis[0]/length, axis[1]/length, axis[2]/length
	s, c := math.Sincos(angle)
	k := 1 - c
	return [3]Vec{
		{c + x*x*k, x*y*k - z*s, x*z*k + y*s},
		{y*x*k + z*s, c + y*y*k, y*z*k - x*s},
		{z*x*k - y*s, z*y*k + x*s, c + z*z*k},
	}
}
