package chart

// Widths of lines in pixels.
const (
	lineWidth = 1.8
	paleWidth = 1.2
)

func (s *Style) width() float64 {
	switch {
	case s.Width > 0:
		return s.Width
	case s.Pale:
		return paleWidth
	}
	return lineWidth
}

func (s *Style) opacity() float64 {
	if s.Pale {
		return 0.6
	}
	return 0
}

// draw adds the line and the marks of its points. A line of one point is only a mark.
func (l *Series) draw(s *Scene, f frame) {
	points := l.Points
	if !l.Apart {
		points = thin(points)
	}
	if len(points) > 1 && !l.Apart {
		var line []Point
		for _, p := range points {
			line = append(line, Point{f.x.At(p.X), f.y.At(p.Y)})
		}
		s.add(stroke{[][]Point{line}, l.Ink, l.width(), l.Dash, l.opacity(), l.Name})
	}
	kind := l.Shape
	if kind == None && len(l.Points) == 1 {
		kind = Circle
	}
	if kind == None {
		return
	}
	for _, p := range points {
		s.add(mark{Point{f.x.At(p.X), f.y.At(p.Y)}, kind, l.Ink, p.Title})
	}
}

// drawBoxes adds the bars.
func (c *Chart) drawBoxes(s *Scene, f frame) {
	for _, b := range c.Boxes {
		left, right, top := f.x.At(b.From), f.x.At(b.To), f.y.At(b.Value)
		a := area{lines: [][]Point{{{left, f.bottom}, {left, top}, {right, top}, {right, f.bottom}}},
			ink: b.Ink, title: b.Title}
		if b.Pale {
			a.opacity = 0.45
		}
		s.add(a)
		if c.labelFitsBox(b, f) {
			s.add(text{Point{(left + right) / 2, top - 5}, b.Label, labelSize, Middle, TextInk, false})
		}
	}
}

func (c *Chart) labelFitsBox(b Box, f frame) bool {
	return b.Label != "" && f.x.At(b.To)-f.x.At(b.From) >= widthOf(b.Label, labelSize, false)
}
