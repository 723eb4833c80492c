package chart

// Figure is a standalone image: charts side by side below a title and a legend.
type Figure struct {
	Title  string
	Charts []Chart
}

// Spacing in pixels.
const (
	margin    = 16 // around a figure
	chartGap  = 28 // between charts
	swatch    = 30 // length of a line's sample in the legend
	entryGap  = 22
	titleRoom = 28
)

// Scene draws the figure.
func (f Figure) Scene() *Scene {
	s := &Scene{Width: 2*margin - chartGap, Name: f.Title}
	tallest := 0.0
	for _, c := range f.Charts {
		s.Width += c.Width + chartGap
		tallest = max(tallest, c.Height)
	}
	at := Point{margin, margin}
	if f.Title != "" {
		s.add(text{Point{at.X, at.Y + titleSize}, truncateText(f.Title, titleSize, s.Width-2*margin, true),
			titleSize, Start, TextInk, true})
		at.Y += titleRoom
	}
	at = f.legend(s, at)
	for _, c := range f.Charts {
		c.draw(s, at)
		at.X += c.Width + chartGap
	}
	s.Height = at.Y + tallest + margin
	return s
}

// legend lists the lines of all charts, each name once, and returns the position of the charts.
func (f Figure) legend(s *Scene, at Point) Point {
	left, right := at.X, s.Width-margin
	named := map[string]bool{}
	for _, c := range f.Charts {
		for _, l := range c.Series {
			if l.Name == "" || named[l.Name] {
				continue
			}
			named[l.Name] = true
			name := truncateText(l.Name, labelSize, right-left-swatch-6, false)
			width := swatch + 6 + widthOf(name, labelSize, false)
			if at.X > left && at.X+width > right {
				at = Point{left, at.Y + lineRoom + 4}
			}
			l.swatch(s, Point{at.X, at.Y + 8})
			s.add(text{Point{at.X + swatch + 6, at.Y + 12}, name, labelSize, Start, TextInk, false})
			at.X += width + entryGap
		}
	}
	if len(named) > 0 {
		at.Y += lineRoom + 12
	}
	return Point{left, at.Y}
}

// swatch draws a sample of a line.
func (l *Series) swatch(s *Scene, at Point) {
	s.add(stroke{[][]Point{{at, {at.X + swatch, at.Y}}}, l.Ink, l.width(), l.Dash, l.opacity(), ""})
	if l.Shape != None {
		s.add(mark{Point{at.X + swatch/2, at.Y}, l.Shape, l.Ink, ""})
	}
}

// Swatch returns a sample of a style for the legend of a page.
func Swatch(style Style, name string) *Scene {
	s := &Scene{Width: swatch, Height: 12, Name: name}
	(&Series{Style: style}).swatch(s, Point{0, 6})
	return s
}
