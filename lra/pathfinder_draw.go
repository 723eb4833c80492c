package lra

import (
	"math"
	"slices"

	"github.com/sftseq/sftseq/seq"
)

// PathfinderRule determines which images are drawn.
type PathfinderRule struct {
	Contour     int `json:"contour"`     // dashes per contour; 6, 9 or 14 officially
	Distractors int `json:"distractors"` // maximum number of short contours; 5 officially

	// Shortest orders the training split from easy to hard. Its contours have Shortest dashes at
	// first, then one dash more, and so on up to Contour, each for about the same number of
	// images. If Shortest is 0, the training images follow the same rule as the other splits.
	Shortest int `json:"-"`
}

// LRAPathfinder is the rule of the data that published results usually use.
var LRAPathfinder = PathfinderRule{Contour: 14, Distractors: 5}

// Parameters of the drawing.
const (
	padding      = 1                 // width of the border without dashes, in pixels
	seedDistance = 7                 // pixels between the starts of the two contours
	continuity   = 1.0               // factor of turning angles; a larger factor makes straighter contours
	markerRadius = 1.5               // in pixels
	contrast     = 1.5               // factor of all dashes' levels; brightness must not distinguish contours
	maxStartMask = 0.3               // maximum value of the mask at the start of a contour
	overlapSum   = 1.8               // minimum sum of two masks for which their dashes overlap
	minWeight    = 1e-4              // minimum sum of the weights of the candidates for a dash
	paddleTries  = 3                 // attempts to draw a dash
	snakeTries   = 5                 // attempts to draw a distractor
	freeCells    = size * size / 100 // minimum number of free pixels for another distractor
	maxRestarts  = 1 << 16           // maximum number of new attempts to draw the two contours
)

// pathfinderDraw draws images. Image n is a function of only seed, n and rule.
type pathfinderDraw struct {
	random
	rule    PathfinderRule
	paddles map[point]*paddle // cache of dashes; the key is the head relative to the tail
	image   grid
	mask    grid // area occupied by dashes, except the last dash of each growing contour

	free       []point     // buffer of chooseStart
	candidates []candidate // buffer of possibleHeads
}

// borderMask is the mask of an image without dashes: 1 in the padding, 0 elsewhere.
var borderMask = func() (g grid) {
	for y := range size {
		for x := range size {
			if p := (point{y, x}); !p.inside(padding) {
				*g.at(p) = 1
			}
		}
	}
	return g
}()

// snake is a growing contour.
type snake struct {
	origin, head point   // first and last pixel
	pivot        point   // centre of the ring of possible heads of the last dash
	randomAngle  float64 // direction of the last dash, in radians
	last         *paddle // last dash, at lastAt; the mask does not include it yet
	lastAt       point
}

// draw returns image n. Its label states whether the marks are on the same contour.
func (d *pathfinderDraw) draw(n uint64) seq.Example {
	d.begin(n)
	var pair [2]snake
	for restarts := 0; !d.drawPair(&pair); restarts++ {
		if restarts == maxRestarts {
			panic("lra: no two contours of Pathfinder fit into an image")
		}
	}
	for i := range pair {
		d.commit(&pair[i])
	}
	for range d.rule.Distractors {
		if !d.drawDistractor() {
			break
		}
	}
	label, first := d.below(2), d.below(2)
	second := first
	if label == 0 {
		second = 1 - first
	}
	d.drawMark(pair[first].origin)
	d.drawMark(pair[second].head)
	return seq.Example{A: d.pixels(), Label: label}
}

// drawPair draws the two contours, alternately dash by dash. It returns false if they do not fit.
func (d *pathfinderDraw) drawPair(pair *[2]snake) bool {
	d.image, d.mask = grid{}, borderMask
	angle := d.randomAngle()
	tail, ok := d.chooseStart(angle, 2*seedDistance, 1)
	if !ok {
		return false
	}
	d.start(&pair[0], tail, angle)
	a := 2 * math.Pi * float64(d.uniform())
	second := point{tail.y + int(math.Round(seedDistance*math.Sin(a))),
		tail.x + int(math.Round(seedDistance*math.Cos(a)))}
	angle = d.randomAngle()
	if !second.inside(padding) || !second.step(paddleLength, angle).inside(padding) {
		return false
	}
	d.start(&pair[1], second, angle)
	for range d.rule.Contour - 1 {
		for i := range pair {
			if !d.addDash(&pair[i]) {
				return false
			}
		}
	}
	return true
}

// drawDistractor draws a short contour, or nothing if no attempt fits. It returns false if fewer than
// freeCells pixels are possible as the start.
func (d *pathfinderDraw) drawDistractor() bool {
	image, mask := d.image, d.mask
	for range snakeTries {
		angle := d.randomAngle()
		tail, ok := d.chooseStart(angle, padding, freeCells)
		if !ok {
			return false
		}
		var s snake
		d.start(&s, tail, angle)
		fits := true
		for i := 1; i < d.rule.Contour/3 && fits; i++ {
			fits = d.addDash(&s)
		}
		if fits {
			d.commit(&s)
			return true
		}
		d.image, d.mask = image, mask
	}
	return true
}

// randomAngle returns a random angle of whole degrees, in radians.
func (d *pathfinderDraw) randomAngle() float64 { return float64(d.below(360)) * math.Pi / 180 }

// chooseStart returns a random pixel where a contour in the given direction can start, away from the
// border and from existing dashes. It returns false if fewer than minFree pixels are possible.
func (d *pathfinderDraw) chooseStart(angle float64, border, minFree int) (point, bool) {
	var heads [size]point // head of the dash that starts at (i, i); its coordinates are independent of each other
	sin, cos := math.Sincos(angle)
	for i := range heads {
		heads[i] = point{i, i}.move(paddleLength*sin, paddleLength*cos)
	}
	free := d.free[:0]
	for y := range size {
		for x := range size {
			if tail := (point{y, x}); d.isFree(tail, point{heads[y].y, heads[x].x}, border) {
				free = append(free, tail)
			}
		}
	}
	d.free = free
	if len(free) < minFree {
		return point{}, false
	}
	return free[d.below(len(free))], true
}

// isFree reports whether a dash from tail to head stays away from the border and from existing
// dashes.
func (d *pathfinderDraw) isFree(tail, head point, border int) bool {
	for _, p := range dashLine(head.minus(tail)) {
		p = p.plus(tail)
		if !p.inside(border) || *d.mask.at(p) > maxStartMask {
			return false
		}
	}
	return true
}

// start draws the first dash of a contour.
func (d *pathfinderDraw) start(s *snake, tail point, angle float64) {
	head := tail.step(paddleLength, angle)
	*s = snake{origin: tail, head: head, randomAngle: angle, last: d.paddle(tail, head), lastAt: tail}
	s.pivot = head.step(paddleLength+paddleMargin, angle+math.Pi)
	d.stamp(s.last, tail)
}

// addDash adds a dash to a contour. The head of the dash is on a ring around the new pivot, which is
// paddleMargin beyond the previous dash. Straight and free directions are more likely. addDash
// returns false if it finds no room.
func (d *pathfinderDraw) addDash(s *snake) bool {
	pivot := s.pivot.step(paddleLength+2*paddleMargin, s.randomAngle)
	candidates, sum := d.possibleHeads(pivot, s.randomAngle)
	if sum < minWeight {
		return false
	}
	for range paddleTries {
		u, i := d.uniform()*sum, 0
		for ; i < len(candidates)-1 && u >= candidates[i].weight; i++ {
			u -= candidates[i].weight
		}
		head, angle := candidates[i].head, candidates[i].angle
		tail := head.step(paddleLength, angle+math.Pi)
		p := d.paddle(tail, head)
		if d.overlaps(p, tail) {
			continue
		}
		d.commit(s)
		s.head, s.pivot, s.randomAngle, s.last, s.lastAt = head, pivot, angle, p, tail
		d.stamp(p, tail)
		return true
	}
	return false
}

// candidate is a possible head of the next dash.
type candidate struct {
	head   point
	angle  float64 // direction of the dash
	weight float32 // proportional to the probability
}

// ring has the directions to the candidates around a pivot, in steps of about one pixel on a circle.
var ring = func() (out [ringSteps]struct{ angle, dy, dx float64 }) {
	for i := range out {
		phi := 2 * math.Pi * float64(i) / ringSteps
		out[i].angle, out[i].dy, out[i].dx = phi, ringRadius*math.Sin(phi), ringRadius*math.Cos(phi)
	}
	return out
}()

const (
	ringRadius = paddleLength + paddleMargin
	ringSteps  = 18 // floor(2π·ringRadius)
)

// possibleHeads returns the candidates for the next dash, and the sum of their weights. The result is valid until
// the next call.
func (d *pathfinderDraw) possibleHeads(pivot point, angle float64) (candidates []candidate, sum float32) {
	candidates = d.candidates[:0]
	for _, r := range &ring {
		head := point{int(math.Trunc(float64(pivot.y) + r.dy)), int(math.Trunc(float64(pivot.x) + r.dx))}
		if !head.inside(padding) || slices.ContainsFunc(candidates, func(c candidate) bool { return c.head == head }) {
			continue
		}
		turn := math.Abs(math.Remainder(r.angle-angle, 2*math.Pi))
		c := math.Cos(min(continuity*turn, math.Pi/2))
		w := float32(c*c) * (1 - d.maxMaskNear(head))
		candidates, sum = append(candidates, candidate{head, r.angle, w}), sum+w
	}
	d.candidates = candidates
	return candidates, sum
}

// maxMaskNear returns the largest value of the mask at a distance of at most paddleMargin from a pixel.
func (d *pathfinderDraw) maxMaskNear(p point) float32 {
	highest := float32(0)
	for dy := -paddleMargin; dy <= paddleMargin; dy++ {
		for dx := -paddleMargin; dx <= paddleMargin; dx++ {
			if q := p.plus(point{dy, dx}); dy*dy+dx*dx <= paddleMargin*paddleMargin && q.inside(0) {
				highest = max(highest, *d.mask.at(q))
			}
		}
	}
	return highest
}

// paddle returns the dash from one pixel to another.
func (d *pathfinderDraw) paddle(tail, head point) *paddle {
	to := head.minus(tail)
	p := d.paddles[to]
	if p == nil {
		if d.paddles == nil {
			d.paddles = map[point]*paddle{}
		}
		p = newPaddle(to)
		d.paddles[to] = p
	}
	return p
}

// stamp draws a dash into the image. Where dashes overlap, the brighter pixel remains.
func (d *pathfinderDraw) stamp(p *paddle, tail point) {
	p.image.forEachPixel(tail, func(at point, v float32) {
		pixel := d.image.at(at)
		*pixel = max(*pixel, contrast*v)
	})
}

// overlaps reports whether a dash overlaps the area of other dashes.
func (d *pathfinderDraw) overlaps(p *paddle, tail point) (overlap bool) {
	p.mask.forEachPixel(tail, func(at point, v float32) { overlap = overlap || *d.mask.at(at)+v >= overlapSum })
	return overlap
}

// commit adds the area of a contour's last dash to the mask.
func (d *pathfinderDraw) commit(s *snake) {
	s.last.mask.forEachPixel(s.lastAt, func(at point, v float32) {
		cell := d.mask.at(at)
		*cell = max(*cell, v)
	})
}

// drawMark draws a mark at p.
func (d *pathfinderDraw) drawMark(p point) {
	for y := range size {
		for x := range size {
			if dy, dx := float64(y-p.y), float64(x-p.x); dy*dy+dx*dx <= markerRadius*markerRadius {
				pixel := d.image.at(point{y, x})
				*pixel = max(*pixel, 1)
			}
		}
	}
}

// pixels returns the gray levels, scaled so that the minimum is 0 and the maximum is 255.
func (d *pathfinderDraw) pixels() []int32 {
	low, high := d.image[0], d.image[0]
	for _, v := range d.image {
		low, high = min(low, v), max(high, v)
	}
	out := make([]int32, len(d.image))
	for i, v := range d.image {
		out[i] = int32((v - low) / (high - low) * 255)
	}
	return out
}
