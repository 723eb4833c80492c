package report

import (
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/sft/train"
)

// TestCurves checks that each recorded quantity has a chart over the steps, with a logarithmic axis only if
// the values span orders of magnitude.
func TestCurves(t *testing.T) {
	for _, values := range [][]float64{{1, 2, 3}, {0, 0, 0}, {5, 5, 5}, {1}, {1e-3, 1, 1e6}, {-1, 0, 1}} {
		m := &train.Metrics{Validation: []train.EvaluationReport{{Step: 10, Loss: 3, Accuracy: new(0.5)}}}
		for i, v := range values {
			m.Train = append(m.Train, train.StepReport{Step: 10 * (i + 1), GradNorm: v, Loss: v, Accuracy: new(0.25)})
		}
		curves := Curves([]Run{{Name: "r", Metrics: m}})
		if len(curves) != 5 || curves[0].Name != "Loss" || curves[1].Name != "Accuracy" || len(curves[1].Series) != 2 ||
			curves[1].Series[1].Points[0].Y != 50 {
			t.Errorf("got curves %+v, want 5, the second with the accuracy in training and validation", curves)
		}
		for _, c := range curves {
			for i, p := range c.Series[0].Points {
				if p.X != float64(10*(i+1)) || (c.Name == "Loss" || c.Name == "Gradient norm") && p.Y != values[i] {
					t.Errorf("%s of %v: got point %v, want X %d and, in the loss and the gradient norm, Y %v", c.Name,
						values, p, 10*(i+1), values[i])
				}
			}
			if logarithmic := strings.Contains(c.Y.Label, "logarithmic"); logarithmic != (c.Name == "Gradient norm" &&
				slices.Max(values) == 1e6) || logarithmic != c.Y.Logarithmic {
				t.Errorf("%s of %v: got axis %q, logarithmic %v; want both only for a wide range of gradient norms",
					c.Name, values, c.Y.Label, c.Y.Logarithmic)
			}
			if drawn := string(c.SVG()); !strings.Contains(drawn, `aria-label="`+c.Name+` over steps"`) {
				t.Errorf("got %.200s, want an accessible name", drawn)
			}
		}
	}
}

// TestShortIntervals checks that an interval is shown only if it has at least half the tokens of the
// interval before it, even if longer intervals follow.
func TestShortIntervals(t *testing.T) {
	for tokens, want := range map[int]int{100: 4, 50: 4, 49: 3} {
		m := &train.Metrics{Train: []train.StepReport{{Step: 10, Tokens: 40}, {Step: 20, Tokens: 100},
			{Step: 25, Tokens: tokens}, {Step: 35, Tokens: 100}}}
		if got := len(Curves([]Run{{Name: "r", Metrics: m}})[0].Series[0].Points); got != want {
			t.Errorf("an interval of %d tokens: got %d points, want %d", tokens, got, want)
		}
	}
}

// TestCurvesOfMaskedTokens checks that a task without classes has no accuracy chart, and that the
// summary shows the loss of the best evaluation.
func TestCurvesOfMaskedTokens(t *testing.T) {
	m := &train.Metrics{Train: []train.StepReport{{Step: 10, Loss: 2}}, Validation: []train.EvaluationReport{
		{Step: 5, Loss: 2.5, Best: true, SelectedBy: "loss"}, {Step: 10, Loss: 1.5, Best: true, SelectedBy: "loss"},
		{Step: 15, Loss: 3, SelectedBy: "loss"}}}
	curves := Curves([]Run{{Name: "r", Metrics: m}})
	if len(curves) != 4 || slices.ContainsFunc(curves, func(c Curve) bool { return c.Name == "Accuracy" }) {
		t.Errorf("got %d charts, want 4 without accuracy", len(curves))
	}
	if s := summarize(Run{Name: "r", Metrics: m}); s.Best != "a loss of 1.5000 (step 10, selected by loss)" {
		t.Errorf("got best %q, want the loss of step 10", s.Best)
	}
}
