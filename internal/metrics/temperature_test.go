package metrics

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestTemperature checks that Temperature recovers T from rows whose class frequencies are
// softmax(z/T).
func TestTemperature(t *testing.T) {
	for _, want := range []float64{0.5, 1, 3, 20} {
		var s LogitSample
		for _, odds := range []int{1, 3, 9} { // odds to 1
			z := float32(want * math.Log(float64(odds)))
			for range odds {
				s.Add(1, []float32{7, 7 + z})
			}
			s.Add(0, []float32{7, 7 + z})
		}
		if got := s.Temperature(); math.Abs(got/want-1) > 1e-5 {
			t.Errorf("got temperature %g, want %g", got, want)
		}
	}
}

// TestTemperatureIsOptimal checks on rows of three classes that the cross-entropy is higher at
// temperatures 2% above and below the result, and at 1.
func TestTemperatureIsOptimal(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var s LogitSample
	for range 500 {
		z := []float32{float32(5 * random.NormFloat64()), float32(5 * random.NormFloat64()),
			float32(5 * random.NormFloat64())}
		class := random.IntN(3)
		if random.IntN(4) > 0 { // usually the class of the largest logit
			for c := range z {
				if z[c] > z[class] {
					class = c
				}
			}
		}
		s.Add(class, z)
	}
	loss := func(temperature float64) (sum float64) {
		for i, class := range s.classes {
			z := make([]float32, 3)
			for c := range z {
				z[c] = s.logits[3*i+c] / float32(temperature)
			}
			sum += CrossEntropy(z, int(class))
		}
		return sum
	}
	best := s.Temperature()
	if !(loss(best) < loss(1.02*best) && loss(best) < loss(best/1.02) && loss(best) < loss(1)) {
		t.Errorf("temperature %g: got loss %g, want less than the nearby %g and %g, and %g at temperature 1", best,
			loss(best), loss(best/1.02), loss(1.02*best), loss(1))
	}
}

// TestTemperatureBounds checks that the temperature is 1 without rows or if all rows are classified
// correctly, and MaxTemperature if all rows are classified wrongly.
func TestTemperatureBounds(t *testing.T) {
	var none *LogitSample
	none.Add(0, []float32{1, 2})
	if loss := none.Loss(1); loss != 0 {
		t.Errorf("got loss %v without a sample, want 0", loss)
	}
	correct, wrong := &LogitSample{}, &LogitSample{}
	for range 10 {
		correct.Add(0, []float32{1, 0})
		wrong.Add(1, []float32{1, 0})
	}
	for _, c := range []struct {
		sample *LogitSample
		want   float64
	}{{none, 1}, {&LogitSample{}, 1}, {correct, 1}, {wrong, MaxTemperature}} {
		if got := c.sample.Temperature(); math.Abs(got/c.want-1) > 1e-9 {
			t.Errorf("%+v: got %g, want %g", c.sample, got, c.want)
		}
	}
}

// TestLogitSampleIsBounded checks that a sample keeps a bounded number of logits, at equal intervals.
func TestLogitSampleIsBounded(t *testing.T) {
	var s LogitSample
	const rows = 3 * maxSampled
	for i := range rows {
		s.Add(i&1, []float32{float32(i), 0})
	}
	if n := len(s.classes); len(s.logits) != 2*n || 2*n > maxSampled || n < maxSampled/4 {
		t.Fatalf("got %d rows of %d, want 2 logits per row and from maxSampled/4 to maxSampled/2 rows", n, rows)
	}
	for i := range s.classes {
		if want := i * s.every; s.logits[2*i] != float32(want) || int(s.classes[i]) != want&1 {
			t.Fatalf("row %d: got %g of class %d, want %d", i, s.logits[2*i], s.classes[i], want)
		}
	}
}
