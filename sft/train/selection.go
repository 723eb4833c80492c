package train

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
)

// Metrics of the validation split that can select the saved model.
const (
	byAccuracy = "accuracy"
	byLoss     = "loss"
	byMacroF1  = "macro-f1"
	byAUC      = "auc"
	byR2       = "r2"
	byMAE      = "mae" // mean absolute error, averaged over the numbers
	byMAP      = "map" // mean average precision of multi-label rows
	bySpanF1   = "span-f1"
	byIoU      = "iou" // intersection over union of the parts of a shape, averaged over the shapes
)

// OneStandardError selects an evaluation whose accuracy is within one standard error, √(a(1 − a)/rows), of
// the best accuracy a so far, if it has a lower loss than the saved model, or if the accuracy of the
// saved model is no longer within the standard error. This adapts the one-standard-error rule of Breiman,
// Friedman, Olshen and Stone, "Classification and Regression Trees", 1984. It avoids overconfident models
// whose accuracy is higher only by chance.
const OneStandardError = "accuracy-1se"

// ScaledLoss selects the evaluation with the lowest mean loss of logits that are divided by the
// best temperature. Unlike [byLoss], it does not prefer the early weights of a model that grows
// overconfident: temperature scaling and the fitted weight of a fusion remove the overconfidence.
const ScaledLoss = "scaled-loss"

// Selections lists the values of Settings.Select.
var Selections = []string{byAccuracy, byLoss, byMacroF1, byAUC, byR2, byMAE, byMAP, bySpanF1, byIoU,
	OneStandardError, ScaledLoss}

// selectionDescriptions describes each of [Selections].
var selectionDescriptions = map[string]string{
	byAccuracy: "the fraction of correct predictions", byLoss: "the mean loss",
	byMacroF1: "the mean F1 of the classes, labels or tags",
	byAUC:     "the area under the ROC curve", byR2: "the coefficient of determination R²",
	byMAE:            "the mean absolute error",
	ScaledLoss:       "the mean loss after temperature scaling",
	OneStandardError: "the lowest loss within one standard error of the best accuracy",
	byMAP:            "the mean average precision of the labels", bySpanF1: "the F1 of spans",
	byIoU: "the mean intersection over union of parts",
}

// DescribeSelections lists the names with their descriptions.
func DescribeSelections(names []string) string {
	var out []string
	for _, by := range names {
		out = append(out, fmt.Sprintf("%s (%s)", by, selectionDescriptions[by]))
	}
	return strings.Join(out, ", ")
}

// checkSelectable returns an error unless the parameter by is in allowed, the list of the task's metrics.
func checkSelectable(c *config.Config, by string, allowed ...string) error {
	if slices.Contains(allowed, by) {
		return nil
	}
	return fmt.Errorf("select %q (%s): expected a metric of task %s, one of %s", by, selectionDescriptions[by],
		c.Task, DescribeSelections(allowed))
}

// Measures reports whether metric, one of [Selections], can select a model of c's task.
func Measures(c *config.Config, metric string) bool {
	return trainingOf(c).settings(c, &Settings{Select: metric}) == nil
}

// value returns the evaluation's value of the metric that selects the model.
func (r *EvaluationReport) value() float64 {
	switch r.SelectedBy {
	case byLoss:
		return r.Loss
	case ScaledLoss:
		return *r.ScaledLoss
	case byMacroF1:
		return *r.MacroF1
	case bySpanF1:
		return *r.SpanF1
	case byIoU:
		return *r.InstanceIoU
	case byR2:
		return *r.R2 // checkSelection has checked that it exists
	case byMAE:
		return *r.MAE
	case byMAP:
		return *r.MAP // checkSelection has checked that it exists
	case byAUC:
		return *r.AUC // checkSelection has checked that it exists
	}
	return *r.Accuracy
}

// better reports whether an evaluation is better than the saved model's. On a few hundred rows many
// evaluations have equal values: then better prefers the lowest loss, and the earliest of equal
// losses.
func (r *EvaluationReport) better(s *State) bool {
	best := s.Selected
	switch {
	case s.BestStep == 0:
		return true
	case r.SelectedBy == byLoss:
		return r.Loss < best
	case r.SelectedBy == OneStandardError:
		top := max(best, *r.Accuracy)
		threshold := top - math.Sqrt(top*(1-top)/float64(r.Rows))
		return *r.Accuracy >= threshold && (s.Best < threshold || r.Loss < s.BestLoss)
	case r.SelectedBy == byMAE || r.SelectedBy == ScaledLoss:
		return r.value() < best || r.value() == best && r.Loss < s.BestLoss
	case r.SelectedBy == "":
		best = s.Best
	}
	return r.value() > best || r.value() == best && r.Loss < s.BestLoss
}

// updateBestAccuracy updates the best accuracy, with which [OneStandardError] compares later
// evaluations.
func (s *State) updateBestAccuracy(r *EvaluationReport) {
	if r.SelectedBy == OneStandardError {
		s.Selected = max(s.Selected, *r.Accuracy)
	}
}

// keep records an evaluation as the saved model's.
func (s *State) keep(r *EvaluationReport) {
	s.Best, s.BestLoss, s.BestStep, s.SinceBest = 0, r.Loss, r.Step, 0
	if r.Accuracy != nil {
		s.Best = *r.Accuracy
	}
	if r.SelectedBy != "" && r.SelectedBy != OneStandardError {
		s.Selected = r.value()
	}
}

// checkSelection returns an error if the validation split does not define the metric that selects
// the model. It runs before training, which may take hours.
func checkSelection(s *Settings, val *seq.File) error {
	switch s.Select {
	case byMacroF1, byMAP:
		return checkLabelCounts(s, val)
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
	return fmt.Errorf("select: the area under the curve (auc) needs validation rows of two classes, "+
		"found %d rows of class %d", val.Len(), first.Label)
}
