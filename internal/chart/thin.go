package chart

// maxPoints is the maximum number of points of a drawn curve, because more points are not
// distinguishable.
const maxPoints = 1200

// thin returns at most maxPoints points. It reduces a longer curve to its ends, and to the points with
// the minimum and the maximum Y in each of many parts of nearly equal size.
func thin(points []Datum) []Datum {
	if len(points) <= maxPoints {
		return points
	}
	const parts = maxPoints/2 - 1
	inner := points[1 : len(points)-1]
	out := []Datum{points[0]}
	for i := range parts {
		part := inner[i*len(inner)/parts : (i+1)*len(inner)/parts]
		low, high := 0, 0
		for j, p := range part {
			if p.Y < part[low].Y {
				low = j
			}
			if p.Y > part[high].Y {
				high = j
			}
		}
		out = append(out, part[min(low, high)], part[max(low, high)])
	}
	return append(out, points[len(points)-1])
}
