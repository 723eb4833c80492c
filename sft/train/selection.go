package train

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
)

// What the kept model can be best in, on the validation split.
const (
	byAccuracy = "accuracy"
	byLoss     = "loss"
	byMacroF1  = "macro-f1"
	byAUC      = "auc"
	byR2       = "r2"
	byMAE      = "mae" // mean absolute error, the mean over the numbers
	byMAP      = "map" // mean average precision, of several labels a row
	bySpanF1   = "span-f1"
	byIoU      = "iou" // mean over shapes of the intersection over union of their parts
)

// OneStandardError selects the evaluation of least loss among those whose accuracy is within one
// standard error, √(a(1 − a)/rows), of the best accuracy a so far: the one-standard-error rule of
// Breiman, Friedman, Olshen and Stone, "Classification and Regression Trees", 1984. Of models that
// the rows cannot distinguish, it does not keep the overconfident one.
const OneStandardError = "accuracy-1se"

// Selections are the values of Settings.Select.
var Selections = []string{byAccuracy, byLoss, byMacroF1, byAUC, byR2, byMAE, byMAP, bySpanF1, byIoU, OneStandardError}

// measures are what they stand for.
var measures = map[string]string{
	byAccuracy: "the fraction of correct predictions", byLoss: "the mean loss",
	byMacroF1: "the mean F1 of the classes, labels or tags",
	byAUC:     "the area under the ROC curve", byR2: "the coefficient of determination R²",
	byMAE:            "the mean absolute error",
	OneStandardError: "the least loss within one standard error of the best accuracy",
	byMAP:            "the mean average precision of the labels", bySpanF1: "the F1 of spans",
	byIoU: "the mean intersection over union of parts",
}

// DescribeSelections lists some of [Selections] with what they stand for.
func DescribeSelections(names []string) string {
	var out []string
	for _, by := range names {
		out = append(out, fmt.Sprintf("%s (%s)", by, measures[by]))
	}
	return strings.Join(out, ", ")
}

// measured refuses to select by what a task does not measure, as it measures some.
func measured(c *config.Config, by string, some ...string) error {
	if slices.Contains(some, by) {
		return nil
	}
	return fmt.Errorf("select is %q, %s, which the task %s does not measure: expected one of %s", by, measures[by],
		c.Task, DescribeSelections(some))
}

// value is the number of an evaluation that a model is selected by.
func (r *EvaluationReport) value() float64 {
	switch r.SelectedBy {
	case byLoss:
		return r.Loss
	case byMacroF1:
		return *r.MacroF1
	case bySpanF1:
		return *r.SpanF1
	case byIoU:
		return *r.InstanceIoU
	case byR2:
		return *r.R2 // as with the area
	case byMAE:
		return *r.MAE
	case byMAP:
		return *r.MAP // as with the area
	case byAUC:
		return *r.AUC // checkSelection has seen that there will be one
	}
	return *r.Accuracy
}

// better reports whether an evaluation is better than that of the saved model. On a few hundred rows many evaluations
// have the same accuracy: the one with the least loss is best, and of equal ones the earliest.
func (r *EvaluationReport) better(s *State) bool {
	best := s.Selected
	switch {
	case s.BestStep == 0:
		return true
	case r.SelectedBy == byLoss:
		return r.Loss < best
	case r.SelectedBy == OneStandardError:
		top := max(best, *r.Accuracy)
		from := top - math.Sqrt(top*(1-top)/float64(r.Rows))
		return *r.Accuracy >= from && (s.Best < from || r.Loss < s.BestLoss)
	case r.SelectedBy == byMAE:
		return r.value() < best || r.value() == best && r.Loss < s.BestLoss
	case r.SelectedBy == "":
		best = s.Best
	}
	return r.value() > best || r.value() == best && r.Loss < s.BestLoss
}

// see remembers what later evaluations are compared with beside the kept one.
func (s *State) see(r *EvaluationReport) {
	if r.SelectedBy == OneStandardError {
		s.Selected = max(s.Selected, *r.Accuracy)
	}
}

// keep makes an evaluation that of the kept model.
func (s *State) keep(r *EvaluationReport) {
	s.Best, s.BestLoss, s.BestStep, s.SinceBest = 0, r.Loss, r.Step, 0
	if r.Accuracy != nil {
		s.Best = *r.Accuracy
	}
	if r.SelectedBy != "" && r.SelectedBy != OneStandardError {
		s.Selected = r.value()
	}
}

// checkSelection reports a validation split that does not define what models are selected
// by, before hours are spent on the first of them.
func checkSelection(s *Settings, val *seq.File) error {
	switch s.Select {
	case byMacroF1, byMAP:
		return checkHolding(s, val)
	case byR2:
		return checkVariance(val)
	case byAUC:
	default:
		return nil
	}
	first, err := val.Example(0)
	if err != nil {
		return err
	}
	for row := range val.Len() {
		e, err := val.Example(row)
		if err != nil {
			return err
		}
		if e.Label != first.Label {
			return nil
		}
	}
	return fmt.Errorf("select: the area under the curve (auc) needs rows of two classes in the validation split, found %d of class %d alone", val.Len(), first.Label)
}
