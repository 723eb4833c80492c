package measured

import (
	"fmt"

	"github.com/sftseq/sftseq/internal/golden"
	"github.com/sftseq/sftseq/internal/tensor/conformance"
)

// Check is what the cases of a kernel came to.
type Check struct {
	Kernel string   `json:"kernel"`
	Device string   `json:"device"`
	Cases  int      `json:"cases"`
	Failed int      `json:"failed"`
	Worst  float64  `json:"worst"` // error of those that passed, as a fraction of the tolerance
	Errors []string `json:"errors,omitempty"`
}

// Add counts a case.
func (k *Check) Add(r conformance.Result) {
	k.Cases++
	if len(r.Errors) == 0 {
		k.Worst = max(k.Worst, r.Worst)
		return
	}
	k.Failed++
	for _, err := range r.Errors {
		k.Errors = append(k.Errors, fmt.Sprintf("%s: %v", r.Case, err))
	}
}

// Verdict is the result in a table.
func (k *Check) Verdict() string {
	if k.Failed > 0 {
		return fmt.Sprintf("%d FAIL", k.Failed)
	}
	return "pass"
}

// shownErrors is how many a table shows of each kernel.
const shownErrors = 3

// Notes are what goes below the table.
func (k *Check) Notes() []string {
	n := min(len(k.Errors), shownErrors)
	notes := append([]string(nil), k.Errors[:n]...)
	if more := len(k.Errors) - n; more > 0 {
		notes = append(notes, fmt.Sprintf("%s: %d errors more (--json shows them)", k.Kernel, more))
	}
	return notes
}

// GoldenRow is a model's in the table.
func GoldenRow(g *golden.Comparison) []string {
	size := func(v *float64) string {
		if v == nil {
			return "–"
		}
		return fmt.Sprintf("%.1e", *v)
	}
	result := "pass"
	if g.Failed {
		result = "FAIL"
	}
	return []string{g.Golden, fmt.Sprint(g.Lines), size(g.Logit), size(g.Gradient), size(g.Tensor), size(g.Loss), fmt.Sprintf("%.0f%%", 100*g.Worst), result}
}
