package config_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
)

// TestOrdinalLogits: the softmax of the logits is the differences of cumulative probabilities that never increase, and
// the logits are finite for outputs of any size.
func TestOrdinalLogits(t *testing.T) {
	c, random := configtest.OfTask(configtest.TinyConfig(), config.Ordinal), rand.New(rand.NewPCG(1, 2))
	for classes := 1; classes < 7; classes++ {
		for range 50 {
			head := make([]float32, classes)
			for k := range head {
				head[k] = float32(3 * random.NormFloat64())
			}
			atLeast := 1.0
			for k, p := range metrics.Softmax(c.Logits(append([]float32{}, head...))) {
				next := 0.0
				if k+1 < classes {
					next = min(atLeast, 1/(1+math.Exp(-float64(head[k+1]))))
				}
				if want := atLeast - next; math.Abs(p-want) > 1e-6 {
					t.Errorf("%v: class %d has the probability %v, expected %v", head, k, p, want)
				}
				atLeast = next
			}
		}
	}
	for _, x := range []struct {
		head []float32
		want int32
	}{{[]float32{0, 1e9, 1e9, -1e9}, 2}, {[]float32{-1e30, -1e30, 1e30}, 0},
		{[]float32{0, math.MaxFloat32, math.MaxFloat32}, 2}, {[]float32{9, 5, 5, 5}, 3}} {
		logits := c.Logits(append([]float32{}, x.head...))
		for _, z := range logits {
			if math.IsNaN(float64(z)) || math.IsInf(float64(z), 0) {
				t.Errorf("%v: logits %v", x.head, logits)
			}
		}
		if metrics.Argmax(logits) != x.want {
			t.Errorf("%v: %v, expected class %d", x.head, logits, x.want)
		}
	}
}
