// Package superpixel cuts gray images into superpixels: connected pieces of about one size, whose
// pixels are alike.
//
// The algorithm is SLIC: Achanta, Shaji, Smith, Lucchi, Fua and Süsstrunk, "SLIC Superpixels Compared
// to State-of-the-Art Superpixel Methods", IEEE Transactions on Pattern Analysis and Machine
// Intelligence 34, 2012.
package superpixel

import "math"

// Options say how an image is cut.
type Options struct {
	Pieces      int     // about so many
	Compactness float64 // how much places count beside light: what the distance of two centres is worth, of 100 for black and white
}

// rounds is how often centres move; the paper's.
const rounds = 10

// A Cut is an image in pieces.
type Cut struct {
	Width, Height int
	Piece         []int32 // of each pixel, row by row
	Pieces        int
	Step          float64 // between the centres at first
}

// centre is the mean of what belongs to it.
type centre struct{ light, x, y float64 }

// Slice cuts an image of so many pixels in a row, whose rows follow each other. Equal distances are
// decided by the order of the centres, which is that of their places at first.
func Slice(pixels []byte, width int, o Options) *Cut {
	c := &Cut{Width: width, Height: len(pixels) / width, Piece: make([]int32, len(pixels))}
	c.Step = math.Sqrt(float64(len(pixels)) / float64(o.Pieces))
	light := make([]float64, len(pixels))
	for i, p := range pixels {
		light[i] = float64(p) * (100. / 255)
	}
	centres := c.grid(light)
	weight := (o.Compactness / c.Step) * (o.Compactness / c.Step)
	nearest := make([]float64, len(pixels))
	for range rounds {
		for i := range nearest {
			nearest[i] = math.Inf(1)
		}
		for k, at := range centres {
			for y := max(0, int(at.y-c.Step)); y <= min(c.Height-1, int(at.y+c.Step)); y++ {
				for x := max(0, int(at.x-c.Step)); x <= min(width-1, int(at.x+c.Step)); x++ {
					i := y*width + x
					dl, dx, dy := light[i]-at.light, float64(x)-at.x, float64(y)-at.y
					if d := float64(dl*dl) + weight*(float64(dx*dx)+float64(dy*dy)); d < nearest[i] {
						nearest[i], c.Piece[i] = d, int32(k)
					}
				}
			}
		}
		c.move(centres, light)
	}
	c.connect()
	return c
}

// grid places centres at equal distances, each moved to the pixel of the 9 around it where light changes
// least, so that none is on an edge.
func (c *Cut) grid(light []float64) (out []centre) {
	columns := max(1, int(math.Round(float64(c.Width)/c.Step)))
	rows := max(1, int(math.Round(float64(c.Height)/c.Step)))
	at := func(x, y int) float64 {
		return light[min(max(y, 0), c.Height-1)*c.Width+min(max(x, 0), c.Width-1)]
	}
	for row := range rows {
		for column := range columns {
			x, y := (2*column+1)*c.Width/(2*columns), (2*row+1)*c.Height/(2*rows)
			best, least := centre{}, math.Inf(1)
			for j := max(0, y-1); j <= min(c.Height-1, y+1); j++ {
				for i := max(0, x-1); i <= min(c.Width-1, x+1); i++ {
					dx, dy := at(i+1, j)-at(i-1, j), at(i, j+1)-at(i, j-1)
					if g := float64(dx*dx) + float64(dy*dy); g < least {
						best, least = centre{at(i, j), float64(i), float64(j)}, g
					}
				}
			}
			out = append(out, best)
		}
	}
	return out
}

// move makes centres the means of their pixels; one without pixels stays.
func (c *Cut) move(centres []centre, light []float64) {
	sums, count := make([]centre, len(centres)), make([]float64, len(centres))
	for i, k := range c.Piece {
		sums[k].light += light[i]
		sums[k].x += float64(i % c.Width)
		sums[k].y += float64(i / c.Width)
		count[k]++
	}
	for k, n := range count {
		if n > 0 {
			centres[k] = centre{sums[k].light / n, sums[k].x / n, sums[k].y / n}
		}
	}
}

// connect makes each connected part a piece of its own. One of less than a quarter of the usual size goes
// to the piece to the left of its first pixel, or above it; the very first part is always a piece.
func (c *Cut) connect() {
	old := c.Piece
	c.Piece = make([]int32, len(old))
	for i := range c.Piece {
		c.Piece[i] = -1
	}
	var part []int
	for first := range old {
		if c.Piece[first] >= 0 {
			continue
		}
		before := int32(-1)
		if first%c.Width > 0 {
			before = c.Piece[first-1]
		} else if first > 0 {
			before = c.Piece[first-c.Width]
		}
		c.Piece[first] = int32(c.Pieces)
		part = append(part[:0], first)
		for n := 0; n < len(part); n++ {
			c.Neighbours(part[n], func(j int) {
				if c.Piece[j] < 0 && old[j] == old[first] {
					c.Piece[j] = int32(c.Pieces)
					part = append(part, j)
				}
			})
		}
		if before < 0 || float64(len(part)) >= c.Step*c.Step/4 {
			c.Pieces++
			continue
		}
		for _, i := range part {
			c.Piece[i] = before
		}
	}
}

// Neighbours visits the pixels to the left and right, above and below of one.
func (c *Cut) Neighbours(i int, visit func(j int)) {
	if i%c.Width > 0 {
		visit(i - 1)
	}
	if i%c.Width < c.Width-1 {
		visit(i + 1)
	}
	if i >= c.Width {
		visit(i - c.Width)
	}
	if i+c.Width < len(c.Piece) {
		visit(i + c.Width)
	}
}
