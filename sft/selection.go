package sft

import (
	"fmt"

	"sftseq/seq"
)

// What the kept model can be best in, on the validation split.
const (
	byAccuracy = "accuracy"
	byLoss     = "loss"
	byMacroF1  = "macro-f1"
	byAUC      = "auc"
)

// Selections are the values of Settings.Select.
var Selections = []string{byAccuracy, byLoss, byMacroF1, byAUC}

// value is the number of an evaluation that a model is selected by.
func (r *EvaluationReport) value() float64 {
	switch r.SelectedBy {
	case byLoss:
		return r.Loss
	case byMacroF1:
		return r.MacroF1
	case byAUC:
		return *r.AUC // checkSelection has seen that there will be one
	}
	return r.Accuracy
}

// better reports whether an evaluation is better than that of the kept model. Of equal
// ones the earlier stays.
func (r *EvaluationReport) better(s *State) bool {
	switch {
	case s.BestStep == 0:
		return true
	case r.SelectedBy == "":
		return r.Accuracy > s.Best
	case r.SelectedBy == byLoss:
		return r.Loss < s.Selected
	}
	return r.value() > s.Selected
}

// keep makes an evaluation that of the kept model.
func (s *State) keep(r *EvaluationReport) {
	s.Best, s.BestStep, s.SinceBest = r.Accuracy, r.Step, 0
	if r.SelectedBy != "" {
		s.Selected = r.value()
	}
}

// checkSelection reports a validation split that does not define what models are selected
// by, before hours are spent on the first of them.
func checkSelection(s *Settings, val *seq.File) error {
	if s.Select != byAUC {
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
