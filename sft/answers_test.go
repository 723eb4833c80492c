package sft

import (
	"testing"

	"github.com/sftseq/sftseq/sft/config"
)

// TestTasksHaveAnswers: the table has a row for each task whose models answer a whole sequence, and no other.
func TestTasksHaveAnswers(t *testing.T) {
	for _, task := range config.Tasks() {
		_, found := answersByTask[task]
		if answers := (&Config{Task: task}).CheckAnswers() == nil; found != answers {
			t.Errorf("%s: a row %t, expected %t", task, found, answers)
		}
	}
}
