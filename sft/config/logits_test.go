package config

import (
	"math"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/seq"
)

// logNumbers is a regression whose head predicts the logarithms of the standardised numbers.
type logNumbers struct{ regression }

func (logNumbers) targets(c *Config, e seq.Example) []float32 {
	return logNumbers{}.head(c, c.Standardised(e))
}

func (logNumbers) logits(_ *Config, head []float32) []float32 {
	for i, z := range head {
		head[i] = float32(math.Exp(float64(z)))
	}
	return head
}

func (logNumbers) head(_ *Config, logits []float32) []float32 {
	out := make([]float32, len(logits))
	for i, v := range logits {
		out[i] = float32(math.Log(float64(v)))
	}
	return out
}

// TestLossOfLogits checks a task whose logits differ from the outputs of the head.
// Predictions must read the logits, and LossOfLogits must equal LossOf.
func TestLossOfLogits(t *testing.T) {
	tasks["log-numbers"] = logNumbers{}
	t.Cleanup(func() { delete(tasks, "log-numbers") })
	c := &Config{Task: "log-numbers", Head: Head{NumLabels: 2,
		Numbers: []Number{{Name: "a", Mean: 1, Deviation: 2}, {Name: "b", Deviation: 1}}}}
	e, head := seq.Example{Numbers: []float32{3, 1}}, []float32{0, float32(math.Log(4))}
	want := c.LossOf(head, e)
	logits := c.Logits(slices.Clone(head))
	kept := slices.Clone(logits)
	if got := c.LossOfLogits(logits, e); math.Abs(got-want) > 1e-6 || want < 0.5 {
		t.Errorf("LossOfLogits returned %v, LossOf %v; want equal losses ± 1e-6, LossOf at least 0.5", got, want)
	}
	if got := c.Predictions(logits); got[0] != 3 || math.Abs(float64(got[1])-4) > 1e-6 || !slices.Equal(logits, kept) {
		t.Errorf("predictions %v of the logits %v, want [3 4] and unchanged logits", got, logits)
	}
}

// TestLossWithoutTerm checks that an unsupported loss panics with the name of its task and of the
// function.
func TestLossWithoutTerm(t *testing.T) {
	tasks["new"] = newLoss{}
	t.Cleanup(func() { delete(tasks, "new") })
	defer func() {
		if want := `sft: the loss 99 of the task "new" has no case in Config.lossTerm`; recover() != want {
			t.Errorf("want the panic %q", want)
		}
	}()
	c := &Config{Task: "new", Head: Head{NumLabels: 1, Numbers: []Number{{Name: "a"}}}}
	c.LossOf([]float32{0}, seq.Example{Numbers: []float32{1}})
}

// newLoss is a regression with an unknown loss.
type newLoss struct{ regression }

func (newLoss) loss() Loss { return 99 }
