package model

import (
	"testing"

	"github.com/sftseq/sftseq/sft/config"
)

// TestTasksHaveObjectives checks that each task has an objective.
func TestTasksHaveObjectives(t *testing.T) {
	for _, task := range config.Tasks() {
		if objectiveOf(&config.Config{Task: task}) == nil {
			t.Errorf("%s: no objective", task)
		}
	}
}
