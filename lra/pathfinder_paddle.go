package lra

import "math"

// size is the width and height of an image of Pathfinder in pixels.
const size = 32

// point is a pixel.
type point struct{ y, x int }

// inside reports whether a pixel is in the image, but not in its border of the given width in pixels.
func (p point) inside(border int) bool {
	return p.y >= border && p.x >= border && p.y < size-border && p.x < size-border
}

func (p point) plus(q point) point  { return point{p.y + q.y, p.x + q.x} }
func (p point) minus(q point) point { return point{p.y - q.y, p.x - q.x} }

// step returns the pixel at a distance d from p in the direction of an angle, with its coordinates
// rounded up.
func (p point) step(d, angle float64) point {
	sin, cos := math.Sincos(angle)
	return p.move(d*sin, d*cos)
}

// move returns the pixel at p + (dy, dx), with its coordinates rounded up.
func (p point) move(dy, dx float64) point {
	return point{int(math.Ceil(float64(p.y) + dy)), int(math.Ceil(float64(p.x) + dx))}
}

// grid holds a value for each pixel.
type grid [size * size]float32

func (g *grid) at(p point) *float32 { return &g[p.y*size+p.x] }

// patch is a small image around a pixel: its values other than 0, row by row.
type patch []patchPixel

// patchPixel is a value of a patch, at a position relative to its centre.
type patchPixel struct {
	at    point
	value float32
}

// newPatch returns the patch of a square image whose centre is at (reach, reach).
func newPatch(reach int, values []float32) (out patch) {
	side := 2*reach + 1
	for i, v := range values {
		if v != 0 {
			out = append(out, patchPixel{point{i/side - reach, i%side - reach}, v})
		}
	}
	return out
}

// forEachPixel calls visit for every pixel of the image where a patch at p is not zero.
func (t patch) forEachPixel(p point, visit func(at point, v float32)) {
	for _, x := range t {
		if at := p.plus(x.at); at.inside(0) {
			visit(at, x.value)
		}
	}
}

// paddle is a dash: its image, and the mask of the area that it occupies.
type paddle struct{ image, mask patch }

// Sizes of a dash, in pixels.
const (
	paddleLength = 2
	paddleMargin = 1
	paddleReach  = 8 // reach of a patch, which covers the dash, its margin and the margin of the filter
	antialias    = 2 // factor by which dashes are drawn larger
)

// newPaddle returns the dash from the origin to a pixel. It draws a line one pixel wide on a grid
// finer by the factor antialias, and reduces the grid with shrink.
func newPaddle(to point) *paddle {
	const side = antialias * (2*paddleReach + 1)
	line := make([]float32, side*side)
	mask := make([]float32, side*side)
	for _, p := range lineTo(point{antialias * to.y, antialias * to.x}) {
		p = p.plus(point{antialias * paddleReach, antialias * paddleReach})
		line[p.y*side+p.x] = 1
		const r = paddleMargin * antialias
		for dy := -r; dy <= r; dy++ {
			for dx := -r; dx <= r; dx++ {
				if dy*dy+dx*dx <= r*r {
					mask[(p.y+dy)*side+p.x+dx] = 1
				}
			}
		}
	}
	return &paddle{newPatch(paddleReach, shrink(line, side)), newPatch(paddleReach, shrink(mask, side))}
}

// dashLine returns the pixels on the line from the origin to the head of a dash. The head is at most
// paddleLength+1 away along each axis.
func dashLine(to point) []point {
	const reach = paddleLength + 1
	return dashLines[(to.y+reach)*(2*reach+1)+to.x+reach]
}

// dashLines has the results of dashLine.
var dashLines = func() (out [][]point) {
	for y := -paddleLength - 1; y <= paddleLength+1; y++ {
		for x := -paddleLength - 1; x <= paddleLength+1; x++ {
			out = append(out, lineTo(point{y, x}))
		}
	}
	return out
}()

// lineTo returns the pixels on the line from the origin to another pixel: the points at equal steps
// along the longer axis, rounded.
func lineTo(to point) (line []point) {
	n := max(abs(to.y), abs(to.x))
	for i := 0; i <= n; i++ {
		at := point{}
		if n > 0 {
			at = point{roundDivide(to.y*i, n), roundDivide(to.x*i, n)}
		}
		line = append(line, at)
	}
	return line
}

func abs(n int) int { return max(n, -n) }

// roundDivide returns a/b rounded to the nearest integer, halves away from 0.
func roundDivide(a, b int) int {
	if a < 0 {
		return -(-2*a + b) / (2 * b)
	}
	return (2*a + b) / (2 * b)
}

// shrink returns a square image, reduced by the factor antialias with a Lanczos filter of three
// lobes and clipped to 0 … 1.
func shrink(fine []float32, side int) []float32 {
	small := side / antialias
	rows := make([]float32, side*small) // reduced along x first
	for y := range side {
		for x := range small {
			rows[y*small+x] = filter(func(i int) float32 { return fine[y*side+i] }, x, side)
		}
	}
	out := make([]float32, small*small)
	for y := range small {
		for x := range small {
			v := filter(func(i int) float32 { return rows[i*small+x] }, y, side)
			out[y*small+x] = min(1, max(0, v))
		}
	}
	return out
}

// filter returns output i of the filter for a line of n fine values.
func filter(fine func(int) float32, i, n int) float32 {
	centre := (float64(i) + 0.5) * antialias
	var sum, weights float64
	for j := max(0, int(centre)-3*antialias); j < min(n, int(centre)+3*antialias); j++ {
		w := lanczos((float64(j) + 0.5 - centre) / antialias)
		sum += w * float64(fine(j))
		weights += w
	}
	return float32(sum / weights)
}

func lanczos(x float64) float64 {
	if x == 0 {
		return 1
	}
	if math.Abs(x) >= 3 {
		return 0
	}
	a := math.Pi * x
	return 3 * math.Sin(a) * math.Sin(a/3) / (a * a)
}
