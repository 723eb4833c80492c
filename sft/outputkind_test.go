package sft

import (
	"testing"

	"github.com/sftseq/sftseq/sft/config"
)

// TestOutputKinds checks that every task has an output kind, except tasks that predict masked tokens.
func TestOutputKinds(t *testing.T) {
	for _, task := range config.Tasks() {
		c := &Config{Task: task}
		if got, want := outputKindOf(c) != nil, c.CheckHasPredictions() == nil; got != want {
			t.Errorf("%s: has an output kind: %t, expected %t", task, got, want)
		}
	}
}
