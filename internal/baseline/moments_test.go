package baseline

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
)

// TestMoments: shells and balls of points, which have the same mean, are told apart by how far
// their points are from the center, and clouds with random labels are not.
func TestMoments(t *testing.T) {
	for _, told := range []bool{true, false} {
		spec := seq.Spec{Task: seq.Classification, LabelNames: []string{"ball", "shell"}, FeatureNames: seq.PositionNames}
		b := must.Get(seq.CreateDataset(filepath.Join(t.TempDir(), "data"), spec, false))(t)
		random := rand.New(rand.NewPCG(4, 4))
		for _, split := range []string{"train", "test"} {
			w := must.Get(b.Split(split))(t)
			for i := range 200 {
				e := seq.Example{Label: int32(i % 2)}
				if !told {
					e.Label = random.Int32N(2)
				}
				for range 30 {
					p := []float32{float32(random.NormFloat64()), float32(random.NormFloat64()), float32(random.NormFloat64())}
					radius := float32(math.Sqrt(float64(p[0]*p[0] + p[1]*p[1] + p[2]*p[2])))
					for c := range p {
						if i%2 == 1 {
							p[c] *= 1.7 / radius
						}
					}
					e.Features = append(e.Features, p)
				}
				must.Succeed(t, w.Write(e))
			}
			must.Succeed(t, w.Close())
		}
		d := must.Get(b.Finish(nil))(t)
		results, err := Measure(t.Context(), d, nil, "test")
		if err != nil || len(results[0].Models) != 1 || results[0].Models[0].Name != Moments {
			t.Fatalf("%+v, %v", results, err)
		}
		if accuracy := results[0].Models[0].Accuracy; told != (accuracy > 0.95) || !told && accuracy > 0.65 {
			t.Errorf("labels told %v: accuracy %v", told, accuracy)
		}
	}
	if m := (summed{points: []int{0, 1, 2}}).of(seq.Example{Features: [][]float32{{1, 2, 3}}}); len(m) != 6+radii || m[6] != 1 {
		t.Errorf("a single point: %v", m)
	}
}
