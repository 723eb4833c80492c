package report

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"html/template"
	"image"
	"image/color"
	"image/png"
	"math"

	"github.com/sftseq/sftseq/internal/chart"
	"github.com/sftseq/sftseq/sft"
)

// imagePanels shows an image as panels: the input, the pixels sampled by each layer, and the pooling weights.
type imagePanels struct {
	Side   int
	Panels []panel
}

type panel struct {
	Name  string
	Image template.URL // PNG with a pixel per token
}

// Colours of overlays on sequences.
var (
	sampledColor = color.RGBA{0x00, 0x5a, 0xb5, 0xff}
	poolingColor = color.RGBA{0xe6, 0x55, 0x00, 0xff}
	sampledInk   = chart.Ink{Class: "sampled", Color: sampledColor}
	poolingInk   = chart.Ink{Class: "pooling", Color: poolingColor}
)

func newImagePanels(tokens []int32, side int, e *sft.Explanation, s scale) (*imagePanels, error) {
	p := &imagePanels{Side: side}
	// add draws a panel. opacity has the opacity of the overlay at each pixel; nil draws the
	// unmodified image.
	add := func(name string, overlay color.RGBA, opacity []float64) error {
		img := image.NewRGBA(image.Rect(0, 0, side, side))
		for i, level := range tokens {
			gray := float64(level)
			if opacity == nil {
				img.SetRGBA(i%side, i/side, color.RGBA{uint8(gray), uint8(gray), uint8(gray), 0xff})
				continue
			}
			pale := 0.55*gray + 0.45*255 // pale, so that the colour stands out
			img.SetRGBA(i%side, i/side, blend(pale, overlay, opacity[i]))
		}
		var text bytes.Buffer
		if err := png.Encode(&text, img); err != nil {
			return err
		}
		url := template.URL("data:image/png;base64," + base64.StdEncoding.EncodeToString(text.Bytes()))
		p.Panels = append(p.Panels, panel{name, url})
		return nil
	}
	if err := add("input", color.RGBA{}, nil); err != nil {
		return nil, err
	}
	for n := range e.Layers {
		l := &e.Layers[n]
		opacity := make([]float64, len(tokens))
		for i, at := range l.Positions {
			opacity[at] = max(opacity[at], 0.3+0.7*relativeMass(l, i))
		}
		if err := add(fmt.Sprintf("layer %d sampled", n+1), sampledColor, opacity); err != nil {
			return nil, err
		}
	}
	opacity := make([]float64, len(tokens))
	for i, w := range e.Pooling {
		opacity[i] = s.fraction(w)
	}
	return p, add("pooling weights", poolingColor, opacity)
}

// blend returns a grey level with a colour over it.
func blend(gray float64, overlay color.RGBA, opacity float64) color.RGBA {
	mix := func(c uint8) uint8 { return uint8(math.Round(gray + opacity*(float64(c)-gray))) }
	return color.RGBA{mix(overlay.R), mix(overlay.G), mix(overlay.B), 0xff}
}
