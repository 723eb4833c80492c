package cloud

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// periodOf is that of points, drawn alike each time.
func periodOf(t *testing.T, points []Vec) float64 {
	t.Helper()
	p, err := (&Shape{Points: points}).Period(rand.New(rand.NewPCG(1, 2)).Float64)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// connector are points of n cells that repeat after pitch, along an axis: pins that are a quarter as
// wide, walls between the cells that are a tenth as thick, and a body as long as all, with as many
// points as the parts say.
func connector(n int, pitch float64, axis int, pins, walls, body int) []Vec {
	r := rand.New(rand.NewPCG(3, uint64(n)))
	var points []Vec
	add := func(along float64) {
		var p Vec
		p[axis], p[(axis+1)%3], p[(axis+2)%3] = along, pitch*r.Float64(), pitch*r.Float64()
		points = append(points, p)
	}
	for range pins * n {
		add(pitch * (float64(r.IntN(n)) + 0.375 + 0.25*r.Float64()))
	}
	for range walls * (n + 1) {
		add(pitch * (float64(r.IntN(n+1)) + 0.1*(r.Float64()-0.5)))
	}
	for range body * n {
		add(pitch * float64(n) * r.Float64())
	}
	return points
}

// TestPeriod: the distance at which pins and walls repeat, along any axis and in any unit, whatever
// the body has that does not repeat.
func TestPeriod(t *testing.T) {
	// Many points and few, pins that a body nearly hides, and walls alone.
	for _, parts := range [][3]int{{400, 0, 0}, {30, 0, 0}, {400, 0, 800}, {600, 0, 2400}, {0, 400, 0}, {0, 400, 200}, {300, 300, 600}} {
		for i, n := range []int{5, 6, 13, 30, 60} {
			for _, pitch := range []float64{1e-6, 0.5, 1.27, 2.54e7} {
				got := periodOf(t, connector(n, pitch, i%3, parts[0], parts[1], parts[2]))
				if math.Abs(got/pitch-1) > 0.03 {
					t.Errorf("%d cells of %v (%v): %v", n, pitch, parts, got)
				}
			}
		}
	}
}

// TestPeriodOfNone: what repeats nowhere has its length, and what has none 0.
func TestPeriodOfNone(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	shapes := map[string]func() Vec{
		"box":    func() Vec { return Vec{3 * r.Float64(), r.Float64(), r.Float64()} },
		"ball":   func() Vec { return Vec{r.NormFloat64(), r.NormFloat64(), r.NormFloat64()} },
		"ends":   func() Vec { return Vec{math.Sqrt(r.Float64()), 0, 0} },
		"points": func() Vec { return Vec{float64(r.IntN(2)), 0, 0} },
	}
	for name, draw := range shapes {
		points := make([]Vec, 20_000)
		for i := range points {
			points[i] = draw()
		}
		_, _, length := longestSide(points)
		if got := periodOf(t, points); got != length {
			t.Errorf("%s: %v, expected its length, %v", name, got, length)
		}
	}
	for n := 1; n <= 3; n++ {
		if got := periodOf(t, make([]Vec, n)); got != 0 {
			t.Errorf("%d points at one place: %v", n, got)
		}
		points := make([]Vec, n+1)
		points[n] = Vec{0, 2, 0}
		if got := periodOf(t, points); got != 2 {
			t.Errorf("%d points at two places: %v", n+1, got)
		}
	}
}

// TestPeriodOfSurface: faces are drawn by their area, whatever their number.
func TestPeriodOfSurface(t *testing.T) {
	s := &Shape{}
	for i := range 9 { // pins, of two faces or of many
		y, strips := 2.5*float64(i), 1+i%3*10
		for k := range strips {
			at, x0, x1 := len(s.Points), 4*float64(k)/float64(strips), 4*float64(k+1)/float64(strips)
			s.Points = append(s.Points, Vec{x0, y, 0}, Vec{x0, y + 0.6, 0}, Vec{x1, y, 0}, Vec{x1, y + 0.6, 0})
			s.Faces = append(s.Faces, [3]int{at, at + 1, at + 2}, [3]int{at + 1, at + 2, at + 3})
		}
	}
	got, err := s.Period(rand.New(rand.NewPCG(1, 2)).Float64)
	if err != nil || math.Abs(got-2.5) > 0.05 {
		t.Errorf("%v, error %v", got, err)
	}
	if _, err := (&Shape{Points: []Vec{{}, {}, {}}, Faces: s.Faces[:1]}).Period(rand.New(rand.NewPCG(1, 2)).Float64); err == nil {
		t.Error("a surface without an area has a period")
	}
}

func BenchmarkPeriod(b *testing.B) {
	for _, n := range []int{1000, periodPoints} {
		points := connector(20, 1, 0, n/40, n/80, n/80)
		b.Run(fmt.Sprint(len(points)), func(b *testing.B) {
			for b.Loop() {
				(&Shape{Points: points}).Period(rand.New(rand.NewPCG(1, 2)).Float64)
			}
		})
	}
}
