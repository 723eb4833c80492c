package sft

import (
	"testing"

	"github.com/sftseq/sftseq/sft/config"
)

// TestTasksHaveAnswers: the table has a row for each kind of predictions for a whole sequence, and no other.
func TestTasksHaveAnswers(t *testing.T) {
	for _, task := range config.Tasks() {
		c := &Config{Task: task}
		if found, answers := answersOf(c) != nil, c.CheckAnswers() == nil; found != answers {
			t.Errorf("%s: a row %t, expected %t", task, found, answers)
		}
	}
}
