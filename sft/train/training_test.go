package train

import (
	"testing"

	"github.com/sftseq/sftseq/sft/config"
)

// TestTasksHaveTrainings checks that every task has a training.
func TestTasksHaveTrainings(t *testing.T) {
	for _, task := range config.Tasks() {
		if trainingOf(&config.Config{Task: task}) == nil {
			t.Errorf("%s: no training", task)
		}
	}
}
