package cloud

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// periodOf is that of points, drawn alike each time.
func periodOf(t *testing.T, points []Vec) (period, strength float64) {
	t.Helper()
	period, strength, err := (&Shape{Points: points}).Period(rand.New(rand.NewPCG(1, 2)).Float64)
	if err != nil {
		t.Fatal(err)
	}
	return period, strength
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
// the body has that does not repeat; and pins alone repeat strongly.
func TestPeriod(t *testing.T) {
	// Many points and few, pins that a body nearly hides, and walls alone.
	for _, parts := range [][3]int{{400, 0, 0}, {30, 0, 0}, {400, 0, 800}, {600, 0, 2400}, {0, 400, 0}, {0, 400, 200}, {300, 300, 600}} {
		for i, n := range []int{5, 6, 13, 30, 60} {
			for _, pitch := range []float64{1e-6, 0.5, 1.27, 2.54e7} {
				got, strength := periodOf(t, connector(n, pitch, i%3, parts[0], parts[1], parts[2]))
				least := leastCorrelation * nearBest
				if parts == [3]int{400, 0, 0} {
					least = 0.85
				}
				if math.Abs(got/pitch-1) > 0.03 || strength < least || strength > 1 {
					t.Errorf("%d cells of %v (%v): %v, strength %v, want at least %v", n, pitch, parts, got, strength, least)
				}
			}
		}
	}
}

// TestPeriodStrength: pins among half as many points at other places repeat less strongly than alone.
func TestPeriodStrength(t *testing.T) {
	points := connector(20, 1, 0, 400, 0, 0)
	r := rand.New(rand.NewPCG(5, 5))
	for range 20 {
		at := 20 * r.Float64()
		for range 200 {
			points = append(points, Vec{at + 0.25*r.Float64(), 0, 0})
		}
	}
	if period, strength := periodOf(t, points); math.Abs(period-1) > 0.03 || strength < 0.2 || strength > 0.8 {
		t.Errorf("%v, strength %v, want a weak period of 1", period, strength)
	}
}

// TestPeriodOfFew: what repeats too few times has no period, and not half of one.
func TestPeriodOfFew(t *testing.T) {
	for _, parts := range [][3]int{{400, 0, 0}, {30, 0, 0}, {400, 0, 800}, {0, 400, 0}, {0, 400, 200}} {
		for n := 2; n <= 4; n++ {
			if period, strength := periodOf(t, connector(n, 1, 0, parts[0], parts[1], parts[2])); period != 0 && math.Abs(period-1) > 0.03 {
				t.Errorf("%d cells of 1 (%v): %v, strength %v", n, parts, period, strength)
			}
		}
	}
}

// TestPeriodOfNone: what repeats nowhere has neither a period nor a strength.
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
		if got, strength := periodOf(t, points); got != 0 || strength != 0 {
			t.Errorf("%s: %v, strength %v", name, got, strength)
		}
	}
	for n := 1; n <= 3; n++ {
		if got, strength := periodOf(t, make([]Vec, n)); got != 0 || strength != 0 {
			t.Errorf("%d points at one place: %v, strength %v", n, got, strength)
		}
		points := make([]Vec, n+1)
		points[n] = Vec{0, 2, 0}
		if got, strength := periodOf(t, points); got != 0 || strength != 0 {
			t.Errorf("%d points at two places: %v, strength %v", n+1, got, strength)
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
	got, strength, err := s.Period(rand.New(rand.NewPCG(1, 2)).Float64)
	if err != nil || math.Abs(got-2.5) > 0.05 || strength < 0.8 {
		t.Errorf("%v, strength %v, error %v", got, strength, err)
	}
	if _, _, err := (&Shape{Points: []Vec{{}, {}, {}}, Faces: s.Faces[:1]}).Period(rand.New(rand.NewPCG(1, 2)).Float64); err == nil {
		t.Error("a surface without an area has a period")
	}
}

// TestPeriodFeatures: waves as high as the strength, which come back after 4, 2, 1 and half an octave,
// and 0 where nothing repeats.
func TestPeriodFeatures(t *testing.T) {
	diagonal := math.Sqrt2 / 2
	for _, c := range []struct {
		octaves, strength float64
		want              []float64
	}{
		{0, 1, []float64{1, 0, 1, 0, 1, 0, 1, 0}}, {1, 1, []float64{0, 1, -1, 0, 1, 0, 1, 0}}, {0.5, 1, []float64{diagonal, diagonal, 0, 1, -1, 0, 1, 0}},
		{-0.5, 0.5, []float64{diagonal / 2, -diagonal / 2, 0, -0.5, -0.5, 0, 0.5, 0}}, {0.125, 1, []float64{0.98078528, 0.19509032, 0.92387953, 0.38268343, diagonal, diagonal, 0, 1}},
		{math.Inf(-1), 0, make([]float64, 8)},
	} {
		got := periodFeatures(math.Exp2(c.octaves), c.strength)
		if names := strings.Join(PeriodNames, " "); len(got) != len(PeriodNames) || names != "period_cos_4_octaves period_sin_4_octaves period_cos_2_octaves "+
			"period_sin_2_octaves period_cos_octave period_sin_octave period_cos_half_octave period_sin_half_octave" {
			t.Fatalf("%d features, called %s", len(got), names)
		}
		for i, v := range got {
			if !(math.Abs(float64(v)-c.want[i]) < 1e-6) {
				t.Errorf("%v octaves, strength %v: %s is %v, want %v", c.octaves, c.strength, PeriodNames[i], v, c.want[i])
			}
		}
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
