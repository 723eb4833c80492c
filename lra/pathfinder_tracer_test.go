package lra

import (
	"cmp"
	"math"
	"slices"
)

// Parameters of the tracer. The cost of a step from dash to dash is −ln of its probability, up to a
// constant. The tracer assumes a normal distribution of the length and of the turns of a step. The
// rule rounds the coordinates of a step up, so a step is half a pixel too long downwards and to the
// right. Tight limits on gap and turn would exclude some of the steps.
const (
	contourDashes = 14
	roundingBias  = 0.5     // px that the rounding adds to each coordinate of a step
	stepLength    = 3.65    // px between the middles of adjacent dashes: dash plus two margins, minus effect of turns
	stepSpread    = 0.6     // px, standard deviation of the length of a step
	turnSpread    = 0.5     // radians, standard deviation of a turn between a dash and a step
	maxGap        = 4.5     // maximum px between the ends of linked dashes
	maxLink       = 14.0    // maximum cost of a link
	shortCost     = 4.0     // cost of each missing dash of a contour
	darkCost      = 1. / 60 // cost per level of the light that a dash at a mark leaves unexplained
	startDistance = 7.0     // px between the starts of the contours
	startCost     = 3.0     // cost of another distance between the starts
	tracedChains  = 60      // maximum number of chains followed at a time
)

// contourStep leads from the end of a dash to the far end of another dash.
type contourStep struct {
	dash, end int
	cost      float64
}

// tracedDash is a node of the tracer's search.
type tracedDash struct {
	dash
	bits  uint64              // bits of this dash and of the dashes that exclude it
	mark  int                 // index of the mark where the dash begins, or −1
	cost  float64             // cost of light that a dash at a mark leaves unexplained; 0 elsewhere
	steps [2][2][]contourStep // steps along and against the growth of the contour, from either end of the dash
}

// tracer searches for the two contours of an image.
type tracer struct {
	marks  [2]spot
	dashes []tracedDash
}

func newTracer(pixels []int32, marks [2]spot) *tracer {
	t := &tracer{marks: marks}
	dashes, atMark, deficits := readDashes(pixels, marks)
	dashes = dashes[:min(len(dashes), 62)]
	for i, d := range dashes {
		t.dashes = append(t.dashes, tracedDash{dash: d, bits: 1 << i, mark: -1})
	}
	for m := range marks {
		for i, d := range atMark[m] {
			bits := uint64(1) << (62 + m)
			for j, e := range dashes {
				if e == d || e == d.backwards() {
					bits |= 1 << j
				}
			}
			t.dashes = append(t.dashes, tracedDash{dash: d, bits: bits, mark: m, cost: darkCost * deficits[m][i]})
		}
	}
	for i := range t.dashes {
		for j := range t.dashes {
			t.link(i, j)
		}
	}
	return t
}

// link adds the steps from one dash to another.
func (t *tracer) link(i, j int) {
	from, to := &t.dashes[i], &t.dashes[j]
	if from.bits&to.bits != 0 {
		return
	}
	for end := range 2 {
		for far := range 2 {
			if from.dash[end].to(to.dash[1-far]).length() > maxGap || from.mark >= 0 && end == 0 ||
				to.mark >= 0 && far != 0 {
				continue
			}
			a, b := from.dash, to.dash
			if end == 0 {
				a = a.backwards()
			}
			if far == 0 {
				b = b.backwards()
			}
			for direction, bias := range [2]float64{roundingBias, -roundingBias} {
				if cost := stepCost(a, b, bias); cost < maxLink {
					from.steps[direction][end] = append(from.steps[direction][end], contourStep{j, far, cost + to.cost})
				}
			}
		}
	}
}

func stepCost(a, b dash, bias float64) float64 {
	y := float64(b[0][0]+b[1][0]-a[0][0]-a[1][0])/2 - bias
	x := float64(b[0][1]+b[1][1]-a[0][1]-a[1][1])/2 - bias
	length := (math.Hypot(y, x) - stepLength) / stepSpread
	before := math.Remainder(math.Atan2(y, x)-a.along().direction(), 2*math.Pi) / turnSpread
	after := math.Remainder(math.Atan2(y, x)-b.along().direction(), 2*math.Pi) / turnSpread
	return (length*length + before*before + after*after) / 2
}

// chain is a path along dashes.
type chain struct {
	used  uint64
	cost  float64
	begin spot
	end   int // end of the last dash where the path continues
	n     int // number of dashes
	path  [contourDashes]uint8
}

func (c *chain) last() int { return int(c.path[c.n-1]) }

// with returns the chain extended by a dash.
func (c chain) with(dash int, d *tracedDash, end int, cost float64) chain {
	c.path[c.n] = uint8(dash)
	c.used, c.end, c.cost, c.n = c.used|d.bits, end, c.cost+cost, c.n+1
	return c
}

// contourCost returns the cost of the chain as a whole contour, with the cost of missing dashes.
func (c *chain) contourCost() float64 { return c.cost + shortCost*float64(contourDashes-c.n) }

// startChains returns chains of one unused dash. They begin at the given mark. If mark is −1, they
// begin at either end of any dash that was read without a mark.
func (t *tracer) startChains(mark int, used uint64) (all []chain) {
	for i := range t.dashes {
		d := &t.dashes[i]
		if d.mark != mark || d.bits&used != 0 {
			continue
		}
		all = append(all, chain{used: used, begin: d.dash[0]}.with(i, d, 1, d.cost))
		if mark < 0 {
			all = append(all, chain{used: used, begin: d.dash[1]}.with(i, d, 0, d.cost))
		}
	}
	return all
}

// extendChains extends chains dash by dash while they cost less than the limit, and keeps the
// cheapest. It returns the cheapest chains that end at the other mark, and the cheapest that end
// elsewhere.
func (t *tracer) extendChains(from []chain, direction int, limit float64) (joined, apart []chain) {
	for len(from) > 0 {
		var next []chain
		for _, c := range from {
			d := &t.dashes[c.last()]
			end := c
			end.cost = c.contourCost()
			if c.n > 1 && d.mark >= 0 {
				joined = append(joined, end)
				continue
			}
			if end.cost < limit {
				apart = append(apart, end)
			}
			if c.n == contourDashes {
				continue
			}
			for _, s := range d.steps[direction][c.end] {
				if e := &t.dashes[s.dash]; c.used&e.bits == 0 && c.cost+s.cost < limit {
					next = append(next, c.with(s.dash, e, s.end, s.cost))
				}
			}
		}
		from = cheapest(next, tracedChains)
	}
	return cheapest(joined, tracedChains), cheapest(apart, tracedChains)
}

// cheapest returns the n cheapest chains without duplicates. Duplicates have the same dashes and
// the same end.
func cheapest(chains []chain, n int) (best []chain) {
	slices.SortFunc(chains, func(a, b chain) int {
		return cmp.Or(cmp.Compare(a.cost, b.cost), slices.Compare(a.path[:], b.path[:]), a.end-b.end)
	})
	for _, c := range chains {
		if len(best) < n && !slices.ContainsFunc(best, func(o chain) bool {
			return o.used == c.used &&
				o.last() == c.last() && o.end == c.end
		}) {
			best = append(best, c)
		}
	}
	return best
}

// reading is two contours that explain an image, with their cost.
type reading struct {
	cost     float64
	contours [2]chain
}

// search returns the best reading with the marks apart, and the best reading with the marks joined.
func (t *tracer) search() (best [2]reading) {
	for label := range best {
		best[label].cost = 4 * shortCost * contourDashes
	}
	for direction := range 2 { // 0: along the growth from the first mark, 1: against the growth
		joined, apart := t.extendChains(t.startChains(0, 0), direction, best[0].cost)
		for label, firsts := range [2][]chain{apart, joined} {
			b := &best[label]
			for _, c := range firsts {
				mark, secondDirection := 1, 1-direction
				if label == 1 {
					mark, secondDirection = -1, 0
				}
				_, seconds := t.extendChains(t.startChains(mark, c.used), secondDirection, b.cost-c.cost)
				seconds = append(seconds, chain{cost: shortCost * contourDashes})
				for _, s := range seconds {
					if cost := c.cost + s.cost + t.startDistanceCost(direction, label, &c, &s); cost < b.cost {
						*b = reading{cost, [2]chain{c, s}}
					}
				}
			}
		}
	}
	return best
}

// startDistanceCost returns the cost of the distance between the starts of two contours. One start is at
// the first mark if the first contour is traced along its growth, and at the other mark otherwise.
func (t *tracer) startDistanceCost(direction, label int, first, second *chain) float64 {
	if second.n == 0 {
		return startCost
	}
	other := []spot{t.end(second), second.begin}
	if label == 0 {
		other = []spot{t.end([2]*chain{second, first}[direction])}
	}
	for _, o := range other {
		if math.Abs(t.marks[direction].to(o).length()-startDistance) < 0.6 { // the rule rounds the distance to a pixel
			return 0
		}
	}
	return startCost
}

func (t *tracer) end(c *chain) spot { return t.dashes[c.last()].dash[c.end] }

// predictLabel returns the label of the better reading.
func predictLabel(best [2]reading) int32 {
	if best[1].cost < best[0].cost {
		return 1
	}
	return 0
}
