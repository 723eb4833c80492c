package chart

// mostPoints is how many points a curve is drawn with; more cannot be told apart.
const mostPoints = 1200

// thin keeps the least and the largest value of each of equal parts of a long curve, and
// its ends.
func thin(points []Datum) []Datum {
	if len(points) <= mostPoints {
		return points
	}
	const parts = mostPoints/2 - 1
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
