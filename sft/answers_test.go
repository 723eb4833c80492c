package sft

import (
	"testing"

	"github.com/sftseq/sftseq/sft/config"
)

// TestTasksHaveAnswers checks that answersByKind has an entry for exactly the kinds of predictions
// for whole sequences.
func TestTasksHaveAnswers(t *testing.T) {
	for _, task := range config.Tasks() {
		c := &Config{Task: task}
		if found, answers := answersOf(c) != nil, c.CheckAnswers() == nil; found != answers {
			t.Errorf("%s: has answers %t, expected %t", task, found, answers)
		}
	}
}
