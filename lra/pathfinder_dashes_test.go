package lra

import "math"

// The files pathfinder_dashes_test.go and pathfinder_tracer_test.go read an image of Pathfinder
// from its pixels, to measure the generator's output. They share no code with the generator. They
// use only constants of the rule: the radius of a mark, the pixels of a dash drawn at twice the
// size, and the number and spacing of dashes.

const (
	traceSide      = 32
	traceTolerance = 3  // maximum difference in level between a pixel and the dash that explains it
	traceDim       = 20 // minimum level of a dash's pixel that counts; lower levels are ringing of the filter
	traceMinLight  = 60 // minimum sum of the levels that a dash must explain
)

// spot is a pixel or a difference of two pixels: row and column.
type spot [2]int

func (s spot) plus(o spot) spot   { return spot{s[0] + o[0], s[1] + o[1]} }
func (s spot) to(o spot) spot     { return spot{o[0] - s[0], o[1] - s[1]} }
func (s spot) length() float64    { return math.Hypot(float64(s[0]), float64(s[1])) }
func (s spot) direction() float64 { return math.Atan2(float64(s[0]), float64(s[1])) }
func (s spot) index() int         { return s[0]*traceSide + s[1] }
func (s spot) inImage() bool      { return min(s[0], s[1]) >= 0 && max(s[0], s[1]) < traceSide }

// spots is a set of pixels.
type spots [traceSide * traceSide]bool

// markPixels returns the pixels of a disc of radius 1.5.
func markPixels(centre spot) (pixels []spot) {
	for y := -1; y <= 1; y++ {
		for x := -1; x <= 1; x++ {
			if p := centre.plus(spot{y, x}); p.inImage() {
				pixels = append(pixels, p)
			}
		}
	}
	return pixels
}

// readMarks returns two centres whose discs are exactly the pixels of the largest level. It returns
// false if no such centres exist. Two equal centres mean a single disc.
func readMarks(pixels []int32) (marks [2]spot, ok bool) {
	white := 0
	var centres []spot
	for i, v := range pixels {
		isMark := true
		for _, p := range markPixels(spot{i / traceSide, i % traceSide}) {
			isMark = isMark && pixels[p.index()] == 255
		}
		if isMark {
			centres = append(centres, spot{i / traceSide, i % traceSide})
		}
		if v == 255 {
			white++
		}
	}
	for i, a := range centres {
		for _, b := range centres[i:] {
			var covered spots
			n := 0
			for _, p := range append(markPixels(a), markPixels(b)...) {
				if !covered[p.index()] {
					covered[p.index()] = true
					n++
				}
			}
			if n == white {
				return [2]spot{a, b}, true
			}
		}
	}
	return marks, false
}

// dash is a short line between two pixels.
type dash [2]spot

func (d dash) backwards() dash { return dash{d[1], d[0]} }
func (d dash) along() spot     { return d[0].to(d[1]) }

// dashPixel is the level that a dash adds to a pixel. The pixel is relative to the start of the
// dash.
type dashPixel struct {
	offset spot
	level  float64
}

// dashShapes maps the end of a dash, relative to its start, to the pixels of the dash. It has all
// ends within 2 pixels in each direction.
var dashShapes = func() map[spot][]dashPixel {
	all := map[spot][]dashPixel{}
	for y := -2; y <= 2; y++ {
		for x := -2; x <= 2; x++ {
			if y != 0 || x != 0 {
				all[spot{y, x}] = dashShape(spot{y, x})
			}
		}
	}
	return all
}()

// dashShape returns the pixels of a dash: a line one pixel wide at twice the resolution, reduced by a
// Lanczos filter with three lobes, clipped to 1, and multiplied by 1.5 times the level of a mark.
func dashShape(to spot) (shape []dashPixel) {
	weight := func(fine, pixel int) float64 {
		lobes := func(j int) float64 {
			x := (float64(j-2*pixel) - 0.5) / 2 // distance from the centre in pixels
			if math.Abs(x) >= 3 {
				return 0
			}
			return sinc(x) * sinc(x/3)
		}
		sum := 0.
		for j := 2*pixel - 6; j <= 2*pixel+7; j++ {
			sum += lobes(j)
		}
		return lobes(fine) / sum
	}
	n := 2 * max(to[0], -to[0], to[1], -to[1])
	for y := -5; y <= 5; y++ {
		for x := -5; x <= 5; x++ {
			v := 0.
			for i := 0; i <= n; i++ {
				v += weight(int(math.Round(float64(2*to[0]*i)/float64(n))), y) *
					weight(int(math.Round(float64(2*to[1]*i)/float64(n))), x)
			}
			if v = math.Floor(1.5 * 255 * min(v, 1)); v > 0 {
				shape = append(shape, dashPixel{spot{y, x}, v})
			}
		}
	}
	return shape
}

func sinc(x float64) float64 {
	if x == 0 {
		return 1
	}
	return math.Sin(math.Pi*x) / (math.Pi * x)
}

// possibleDash is a dash that is nowhere brighter than the image, up to traceTolerance.
type possibleDash struct {
	dash
	explains []int // pixels as bright as the dash, up to traceTolerance, where its level is at least traceDim
}

// light returns the sum of the levels of the pixels that only this dash explains: the pixels in
// explained do not count.
func (d *possibleDash) light(pixels []int32, explained *spots) (sum float64) {
	for _, i := range d.explains {
		if !explained[i] {
			sum += float64(pixels[i])
		}
	}
	return sum
}

// possibleDashes returns the possible dashes that begin at a pixel. Pixels hidden by a mark may
// have any value.
func possibleDashes(pixels []int32, from spot, hidden *spots) (all []possibleDash) {
	for y := -2; y <= 2; y++ {
	next:
		for x := -2; x <= 2; x++ {
			to := spot{y, x}
			if to == (spot{}) || !from.plus(to).inImage() {
				continue
			}
			d := possibleDash{dash: dash{from, from.plus(to)}}
			for _, s := range dashShapes[to] {
				p := from.plus(s.offset)
				if !p.inImage() || hidden[p.index()] {
					continue
				}
				level := float64(pixels[p.index()])
				if level < s.level-traceTolerance {
					continue next
				}
				if level <= s.level+traceTolerance && s.level >= traceDim {
					d.explains = append(d.explains, p.index())
				}
			}
			all = append(all, d)
		}
	}
	return all
}

// readDashes explains an image by few dashes: it repeatedly takes the dash that explains the most
// light. One dash ends at each mark, which may hide the dash. For each mark, readDashes returns all
// candidates for this dash, and how much less light each candidate explains than the best one.
func readDashes(pixels []int32, marks [2]spot) (dashes []dash, atMark [2][]dash, deficits [2][]float64) {
	var hidden, explained spots
	for _, m := range marks {
		for _, p := range markPixels(m) {
			hidden[p.index()] = true
		}
	}
	markDashes := [2][]possibleDash{possibleDashes(pixels, marks[0], &hidden), possibleDashes(pixels, marks[1],
		&hidden)}
	// The dashes at marks come first, so that they win against other dashes of equal light.
	candidates := append(append([]possibleDash{}, markDashes[0]...), markDashes[1]...)
	for i := range pixels {
		candidates = append(candidates, possibleDashes(pixels, spot{i / traceSide, i % traceSide}, &hidden)...)
	}
	var chosen []possibleDash
	for {
		best, maxLight := -1, 0.
		for i := range candidates {
			if light := candidates[i].light(pixels, &explained); light > maxLight {
				best, maxLight = i, light
			}
		}
		if maxLight < traceMinLight {
			break
		}
		chosen, dashes = append(chosen, candidates[best]), append(dashes, candidates[best].dash)
		for _, p := range candidates[best].explains {
			explained[p] = true
		}
	}
	for m, mark := range marks {
		var elsewhere spots
		for _, d := range chosen {
			if d.dash[0] != mark && d.dash[1] != mark {
				for _, p := range d.explains {
					elsewhere[p] = true
				}
			}
		}
		maxLight := 0.
		for i := range markDashes[m] {
			maxLight = max(maxLight, markDashes[m][i].light(pixels, &elsewhere))
		}
		for i := range markDashes[m] {
			atMark[m] = append(atMark[m], markDashes[m][i].dash)
			deficits[m] = append(deficits[m], maxLight-markDashes[m][i].light(pixels, &elsewhere))
		}
	}
	return dashes, atMark, deficits
}
