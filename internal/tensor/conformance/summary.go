package conformance

import "fmt"

// Summary summarises the results of the cases of a kernel.
type Summary struct {
	Kernel string   `json:"kernel"`
	Device string   `json:"device"`
	Cases  int      `json:"cases"`
	Failed int      `json:"failed"`
	Worst  float64  `json:"worst"` // largest error of the cases that passed, as a fraction of the tolerance
	Errors []string `json:"errors,omitempty"`
}

// Add adds the result of a case.
func (k *Summary) Add(r Result) {
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

// Verdict returns the result as a cell of a table.
func (k *Summary) Verdict() string {
	if k.Failed > 0 {
		return fmt.Sprintf("%d FAIL", k.Failed)
	}
	return "pass"
}

// shownErrors is the maximum number of errors that are printed for each kernel.
const shownErrors = 3

// Notes returns the first errors, for printing below the table, and a line with the number of further
// errors.
func (k *Summary) Notes() []string {
	n := min(len(k.Errors), shownErrors)
	notes := append([]string(nil), k.Errors[:n]...)
	if more := len(k.Errors) - n; more > 0 {
		notes = append(notes, fmt.Sprintf("%s: %d more errors (--json shows them)", k.Kernel, more))
	}
	return notes
}
