package lra

import (
	"math"

	"github.com/sftseq/sftseq/seq"
)

// A PathfinderRule says what is drawn.
type PathfinderRule struct {
	Contour     int `json:"contour"`     // dashes of a contour: 6, 9 or 14
	Distractors int `json:"distractors"` // short contours beside the two, 5 officially

	// Shortest orders the training split from easy to hard: contours of that many dashes
	// come first, then of one dash more, and so on up to Contour, in equal numbers. 0: its
	// images are like those of the other splits.
	Shortest int `json:"-"`
}

// LRAPathfinder is the split that is commonly reported.
var LRAPathfinder = PathfinderRule{Contour: 14, Distractors: 5}

// Measures of an image.
const (
	padding      = 1   // pixels at the edge, where no dash may be
	seedDistance = 7   // pixels between the beginnings of the two contours
	continuity   = 1.0 // how sharply a contour may turn
	markerRadius = 1.5
	contrast     = 1.5 // of every dash: brightness must not tell contours apart
	freeBelow    = 0.3 // of the mask, for a beginning
	touching     = 1.8 // two masks that sum to this overlap
	leastWeight  = 1e-4
	paddleTries  = 3
	snakeTries   = 5
	freeCells    = size * size / 100 // below which no more distractors begin
	mostRestarts = 1 << 16
)

// pathfinderDraw draws images: image n is a function of (seed, n, rule) alone.
type pathfinderDraw struct {
	random
	rule    PathfinderRule
	paddles map[point]*paddle // by where they lead
	image   grid
	mask    grid // room that dashes take, but for the last of each contour
}

// bordered is the room that the padding takes.
var bordered = func() (g grid) {
	for y := range size {
		for x := range size {
			if p := (point{y, x}); !p.inside(padding) {
				*g.at(p) = 1
			}
		}
	}
	return g
}()

// snake is a contour that grows.
type snake struct {
	origin, head, pivot point
	angle               float64
	last                *paddle // whose room is not taken yet, at lastAt
	lastAt              point
}

// draw makes an image and says whether its marks are on one contour.
func (d *pathfinderDraw) draw(n uint64) seq.Example {
	d.begin(n)
	var pair [2]snake
	for restarts := 0; !d.pair(&pair); restarts++ {
		if restarts == mostRestarts {
			panic("lra: no two contours of Pathfinder fit into an image")
		}
	}
	for i := range pair {
		d.commit(&pair[i])
	}
	for range d.rule.Distractors {
		if !d.distractor() {
			break
		}
	}
	label, one := d.below(2), d.below(2)
	other := one
	if label == 0 {
		other = 1 - one
	}
	d.disc(pair[one].origin)
	d.disc(pair[other].head)
	return seq.Example{A: d.pixels(), Label: label}
}

// pair draws the two contours, which grow in turn; false if they do not fit.
func (d *pathfinderDraw) pair(pair *[2]snake) bool {
	d.image, d.mask = grid{}, bordered
	angle := d.angle()
	tail, ok := d.seed(angle, 2*seedDistance, 1)
	if !ok {
		return false
	}
	d.start(&pair[0], tail, angle)
	a := 2 * math.Pi * float64(d.uniform())
	second := point{tail.y + int(math.Round(seedDistance*math.Sin(a))),
		tail.x + int(math.Round(seedDistance*math.Cos(a)))}
	angle = d.angle()
	if !second.inside(padding) || !second.step(paddleLength, angle).inside(padding) {
		return false
	}
	d.start(&pair[1], second, angle)
	for range d.rule.Contour - 1 {
		for i := range pair {
			if !d.grow(&pair[i]) {
				return false
			}
		}
	}
	return true
}

// distractor draws a short contour; false if there is no room for any. One that does
// not fit is left out.
func (d *pathfinderDraw) distractor() bool {
	image, mask := d.image, d.mask
	for range snakeTries {
		angle := d.angle()
		tail, ok := d.seed(angle, padding, freeCells)
		if !ok {
			return false
		}
		var s snake
		d.start(&s, tail, angle)
		fits := true
		for i := 1; i < d.rule.Contour/3 && fits; i++ {
			fits = d.grow(&s)
		}
		if fits {
			d.commit(&s)
			return true
		}
		d.image, d.mask = image, mask
	}
	return true
}

// angle is a whole number of degrees.
func (d *pathfinderDraw) angle() float64 { return float64(d.below(360)) * math.Pi / 180 }

// seed is where a contour may begin in a direction, away from the border and from what
// is there; false if there are fewer than least such places.
func (d *pathfinderDraw) seed(angle float64, border, least int) (point, bool) {
	var free []point
	for y := range size {
		for x := range size {
			tail := point{y, x}
			if d.free(tail, tail.step(paddleLength, angle), border) {
				free = append(free, tail)
			}
		}
	}
	if len(free) < least {
		return point{}, false
	}
	return free[d.below(len(free))], true
}

func (d *pathfinderDraw) free(tail, head point, border int) bool {
	for _, p := range lineTo(head.minus(tail)) {
		p = p.plus(tail)
		if !p.inside(border) || *d.mask.at(p) > freeBelow {
			return false
		}
	}
	return true
}

// start draws the first dash of a contour.
func (d *pathfinderDraw) start(s *snake, tail point, angle float64) {
	head := tail.step(paddleLength, angle)
	*s = snake{origin: tail, head: head, angle: angle, last: d.paddle(tail, head), lastAt: tail}
	s.pivot = head.step(paddleLength+paddleMargin, angle+math.Pi)
	d.stamp(s.last, tail)
}

// grow adds a dash to a contour: its head is on a ring ahead, the likelier the
// straighter and the freer the way. False if there is no room.
func (d *pathfinderDraw) grow(s *snake) bool {
	pivot := s.pivot.step(paddleLength+2*paddleMargin, s.angle)
	heads, angles, weights, sum := d.ring(pivot, s.angle)
	if sum < leastWeight {
		return false
	}
	for range paddleTries {
		u, i := d.uniform()*sum, 0
		for ; i < len(weights)-1 && u >= weights[i]; i++ {
			u -= weights[i]
		}
		head, angle := heads[i], angles[i]
		tail := head.step(paddleLength, angle+math.Pi)
		p := d.paddle(tail, head)
		if d.touches(p, tail) {
			continue
		}
		d.commit(s)
		s.head, s.pivot, s.angle, s.last, s.lastAt = head, pivot, angle, p, tail
		d.stamp(p, tail)
		return true
	}
	return false
}

// ring is where the next head may be: pixels on a circle around the pivot, their
// directions and weights.
func (d *pathfinderDraw) ring(pivot point, angle float64) (heads []point, angles []float64,
	weights []float32, sum float32) {
	const radius = paddleLength + paddleMargin
	n := int(math.Floor(2 * math.Pi * radius)) // steps of a pixel
	seen := map[point]bool{}
	for i := range n {
		phi := 2 * math.Pi * float64(i) / float64(n)
		y, x := float64(pivot.y)+radius*math.Sin(phi), float64(pivot.x)+radius*math.Cos(phi)
		head := point{int(math.Trunc(y)), int(math.Trunc(x))}
		if !head.inside(padding) || seen[head] {
			continue
		}
		seen[head] = true
		turn := math.Abs(math.Remainder(phi-angle, 2*math.Pi))
		c := math.Cos(min(continuity*turn, math.Pi/2))
		w := float32(c*c) * (1 - d.crowded(head))
		heads, angles, weights, sum = append(heads, head), append(angles, phi), append(weights, w), sum+w
	}
	return heads, angles, weights, sum
}

// crowded is the largest mask within the margin of a pixel.
func (d *pathfinderDraw) crowded(p point) float32 {
	most := float32(0)
	for dy := -paddleMargin; dy <= paddleMargin; dy++ {
		for dx := -paddleMargin; dx <= paddleMargin; dx++ {
			if q := p.plus(point{dy, dx}); dy*dy+dx*dx <= paddleMargin*paddleMargin && q.inside(0) {
				most = max(most, *d.mask.at(q))
			}
		}
	}
	return most
}

// paddle is the dash from one pixel to another.
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

// stamp draws a dash.
func (d *pathfinderDraw) stamp(p *paddle, tail point) {
	p.image.each(tail, func(at point, v float32) {
		pixel := d.image.at(at)
		*pixel = max(*pixel, contrast*v)
	})
}

// touches reports whether a dash overlaps the room of others.
func (d *pathfinderDraw) touches(p *paddle, tail point) (yes bool) {
	p.mask.each(tail, func(at point, v float32) { yes = yes || *d.mask.at(at)+v >= touching })
	return yes
}

// commit takes the room of a contour's last dash.
func (d *pathfinderDraw) commit(s *snake) {
	s.last.mask.each(s.lastAt, func(at point, v float32) {
		cell := d.mask.at(at)
		*cell = max(*cell, v)
	})
}

// disc draws a mark.
func (d *pathfinderDraw) disc(p point) {
	for y := range size {
		for x := range size {
			if dy, dx := float64(y-p.y), float64(x-p.x); dy*dy+dx*dx <= markerRadius*markerRadius {
				pixel := d.image.at(point{y, x})
				*pixel = max(*pixel, 1)
			}
		}
	}
}

// pixels are the gray levels, from 0 for the least to 255 for the most.
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
