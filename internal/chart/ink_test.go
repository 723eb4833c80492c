package chart

import (
	"image/color"
	"math"
	"testing"
)

// visionMatrices has matrices on linear RGB that simulate normal vision, and vision without red, green
// or blue cones (Machado, Oliveira and Fernandes, 2009, severity 1).
var visionMatrices = map[string][3][3]float64{
	"normal sight": {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
	"protanopia":   {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
	"deuteranopia": {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
	"tritanopia":   {{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}},
}

func linear(c color.RGBA) (out [3]float64) {
	for i, v := range []uint8{c.R, c.G, c.B} {
		if out[i] = float64(v) / 255; out[i] <= 0.04045 {
			out[i] /= 12.92
		} else {
			out[i] = math.Pow((out[i]+0.055)/1.055, 2.4)
		}
	}
	return out
}

func simulate(v [3]float64, sight [3][3]float64) (out [3]float64) {
	for i := range out {
		for j := range v {
			out[i] += sight[i][j] * v[j]
		}
		out[i] = min(1, max(0, out[i]))
	}
	return out
}

func luminance(v [3]float64) float64 { return 0.2126*v[0] + 0.7152*v[1] + 0.0722*v[2] }

// lab converts linear RGB to CIE L*a*b* under illuminant D65.
func lab(v [3]float64) [3]float64 {
	f := func(t float64) float64 {
		if t > 0.008856 {
			return math.Cbrt(t)
		}
		return 7.787*t + 16./116
	}
	x, y, z := f((0.4124*v[0]+0.3576*v[1]+0.1805*v[2])/0.95047), f(luminance(v)),
		f((0.0193*v[0]+0.1192*v[1]+0.9505*v[2])/1.08883)
	return [3]float64{116*y - 16, 500 * (x - y), 200 * (y - z)}
}

// contrast returns the contrast ratio of WCAG 2, which requires 3 for graphics and 4.5 for text.
func contrast(a, b color.RGBA) float64 {
	x, y := luminance(linear(a)), luminance(linear(b))
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// TestPalette checks the contrast of colours with the background, and that colours are
// distinguishable from each other in all simulated kinds of vision. The 24 styles must differ.
func TestPalette(t *testing.T) {
	white, dark := color.RGBA{0xff, 0xff, 0xff, 0xff}, color.RGBA{0x14, 0x18, 0x1e, 0xff}
	var light [len(palette)]color.RGBA
	for i, p := range palette {
		light[i] = p.Color
	}
	const minDistance = 20 // distance ΔE*ab; 2.3 is just noticeable
	for _, c := range []struct {
		colors [len(palette)]color.RGBA
		behind color.RGBA
	}{{light, white}, {darkPalette, dark}} {
		for i, a := range c.colors {
			if v := contrast(a, c.behind); v < 3 {
				t.Errorf("%v: got contrast %.2f, want at least 3", a, v)
			}
			for _, b := range c.colors[:i] {
				for name, sight := range visionMatrices {
					x, y := lab(simulate(linear(a), sight)), lab(simulate(linear(b), sight))
					if d := math.Hypot(math.Hypot(x[0]-y[0], x[1]-y[1]), x[2]-y[2]); d < minDistance {
						t.Errorf("%v and %v have a distance of %.1f with %s, want at least 20", a, b, d, name)
					}
				}
			}
		}
	}
	for _, ink := range []Ink{TextInk, NoteInk} {
		if v := contrast(ink.Color, white); v < 4.5 {
			t.Errorf("text in %v: got contrast %.2f, want at least 4.5", ink, v)
		}
	}
	type look struct {
		ink   string
		dash  int
		shape Shape
	}
	styles := map[look]bool{}
	for n := range 24 {
		s := StyleOf(n)
		styles[look{s.Ink.Class, len(s.Dash)*100 + int(append(s.Dash, 0)[0]), s.Shape}] = true
	}
	if len(styles) != 24 {
		t.Errorf("got %d distinct styles, want 24", len(styles))
	}
}
