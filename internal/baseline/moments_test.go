package baseline

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sftseq/sftseq/seq"
)

// TestMoments checks that shells and balls of points with the same mean are distinguished by the
// distances from the centre, and that clouds with random labels are not.
func TestMoments(t *testing.T) {
	for _, related := range []bool{true, false} {
		spec := seq.Spec{Task: seq.Classification, LabelNames: []string{"ball", "shell"},
			FeatureNames: seq.PositionNames}
		row := 0
		d := dataset(t, spec, map[string]int{"train": 200, "test": 200}, func(random *rand.Rand) seq.Example {
			e := seq.Example{Label: int32(row % 2)}
			if !related {
				e.Label = random.Int32N(2)
			}
			for range 30 {
				p := []float32{float32(random.NormFloat64()), float32(random.NormFloat64()),
					float32(random.NormFloat64())}
				radius := float32(math.Sqrt(float64(p[0]*p[0] + p[1]*p[1] + p[2]*p[2])))
				for c := range p {
					if row%2 == 1 {
						p[c] *= 1.7 / radius
					}
				}
				e.Features = append(e.Features, p)
			}
			row++
			return e
		})
		results, err := Measure(t.Context(), d, nil, "test")
		if err != nil || len(results[0].Models) != 1 || results[0].Models[0].Name != Moments {
			t.Fatalf("got %+v, %v, want only "+Moments, results, err)
		}
		if accuracy := results[0].Models[0].Accuracy; related != (accuracy > 0.95) || !related && accuracy > 0.65 {
			t.Errorf("labels depend on the points: %v, got accuracy %v, want above 0.95 if true, at most 0.65 if false",
				related, accuracy)
		}
	}
	if m := (summed{points: []int{0, 1, 2}}).values(seq.Example{Features: [][]float32{{1, 2, 3}}}); len(m) != 6+radii ||
		m[6] != 1 {
		t.Errorf("a single point: got %d values %v, want %d, with 1 at index 6", len(m), m, 6+radii)
	}
}
