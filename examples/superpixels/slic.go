package main

import "math"

// segmentation is a partition of an image into superpixels: connected regions of similar size and
// lightness.
type segmentation struct {
	width, height int
	superpixel    []int // index of each pixel's superpixel, row by row
	superpixels   int
	step          float64 // initial distance between the centres
}

// centre has the mean lightness and position of the pixels of a superpixel.
type centre struct{ light, x, y float64 }

// compactness is the weight of distance against lightness. A difference of 10 in lightness (0 to
// 100) weighs as much as the initial distance between two centres.
const compactness = 10

// slice segments an image into about the given number of superpixels by SLIC (Achanta, Shaji, Smith,
// Lucchi, Fua and Süsstrunk, "SLIC Superpixels Compared to State-of-the-Art Superpixel Methods",
// IEEE Transactions on Pattern Analysis and Machine Intelligence 34, 2012). A pixel with
// several nearest centres belongs to the first of them.
func slice(pixels []byte, width, superpixels int) *segmentation {
	c := &segmentation{width: width, height: len(pixels) / width, superpixel: make([]int, len(pixels))}
	c.step = math.Sqrt(float64(len(pixels)) / float64(superpixels))
	light := make([]float64, len(pixels))
	for i, p := range pixels {
		light[i] = float64(p) * (100. / 255)
	}
	centres := c.grid(light)
	weight := (compactness / c.step) * (compactness / c.step)
	nearest := make([]float64, len(pixels))
	for range 10 { // as in the paper
		for i := range nearest {
			nearest[i] = math.Inf(1)
		}
		for k, middle := range centres {
			for y := max(0, int(middle.y-c.step)); y <= min(c.height-1, int(middle.y+c.step)); y++ {
				for x := max(0, int(middle.x-c.step)); x <= min(width-1, int(middle.x+c.step)); x++ {
					i := y*width + x
					dl, dx, dy := light[i]-middle.light, float64(x)-middle.x, float64(y)-middle.y
					if d := float64(dl*dl) + weight*(float64(dx*dx)+float64(dy*dy)); d < nearest[i] {
						nearest[i], c.superpixel[i] = d, k
					}
				}
			}
		}
		c.move(centres, light)
	}
	c.connect()
	return c
}

// grid places centres at equal distances and moves each to the pixel in its 3×3 neighbourhood with
// the smallest change of lightness, away from edges.
func (c *segmentation) grid(light []float64) (out []centre) {
	columns := max(1, int(math.Round(float64(c.width)/c.step)))
	rows := max(1, int(math.Round(float64(c.height)/c.step)))
	lightAt := func(x, y int) float64 {
		return light[min(max(y, 0), c.height-1)*c.width+min(max(x, 0), c.width-1)]
	}
	for row := range rows {
		for column := range columns {
			x, y := (2*column+1)*c.width/(2*columns), (2*row+1)*c.height/(2*rows)
			best, minGradient := centre{}, math.Inf(1)
			for j := max(0, y-1); j <= min(c.height-1, y+1); j++ {
				for i := max(0, x-1); i <= min(c.width-1, x+1); i++ {
					dx, dy := lightAt(i+1, j)-lightAt(i-1, j), lightAt(i, j+1)-lightAt(i, j-1)
					if g := float64(dx*dx) + float64(dy*dy); g < minGradient {
						best, minGradient = centre{lightAt(i, j), float64(i), float64(j)}, g
					}
				}
			}
			out = append(out, best)
		}
	}
	return out
}

// move sets each centre to the mean of its pixels. A centre without pixels does not move.
func (c *segmentation) move(centres []centre, light []float64) {
	sums, count := make([]centre, len(centres)), make([]float64, len(centres))
	for i, k := range c.superpixel {
		sums[k].light += light[i]
		sums[k].x += float64(i % c.width)
		sums[k].y += float64(i / c.width)
		count[k]++
	}
	for k, n := range count {
		if n > 0 {
			centres[k] = centre{sums[k].light / n, sums[k].x / n, sums[k].y / n}
		}
	}
}

// connect makes each connected component a superpixel. A component of fewer than step²/4 pixels joins the
// superpixel to the left of its first pixel, or above this pixel in the first column. The first component is
// always a superpixel.
func (c *segmentation) connect() {
	old := c.superpixel
	c.superpixel = make([]int, len(old))
	for i := range c.superpixel {
		c.superpixel[i] = -1
	}
	for first := range old {
		if c.superpixel[first] >= 0 {
			continue
		}
		neighbour := -1
		if first%c.width > 0 {
			neighbour = c.superpixel[first-1]
		} else if first > 0 {
			neighbour = c.superpixel[first-c.width]
		}
		c.superpixel[first] = c.superpixels
		part := []int{first}
		for n := 0; n < len(part); n++ {
			for _, j := range c.neighbours(part[n]) {
				if c.superpixel[j] < 0 && old[j] == old[first] {
					c.superpixel[j] = c.superpixels
					part = append(part, j)
				}
			}
		}
		if neighbour < 0 || float64(len(part)) >= c.step*c.step/4 {
			c.superpixels++
			continue
		}
		for _, i := range part {
			c.superpixel[i] = neighbour
		}
	}
}

// neighbours returns the indices of the pixels to the left, to the right, above and below.
func (c *segmentation) neighbours(i int) (out []int) {
	if i%c.width > 0 {
		out = append(out, i-1)
	}
	if i%c.width < c.width-1 {
		out = append(out, i+1)
	}
	if i >= c.width {
		out = append(out, i-c.width)
	}
	if i+c.width < len(c.superpixel) {
		out = append(out, i+c.width)
	}
	return out
}
