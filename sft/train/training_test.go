package train

import (
	"testing"

	"github.com/sftseq/sftseq/sft/config"
)

// TestTasksHaveTrainings: the models of each task can be trained.
func TestTasksHaveTrainings(t *testing.T) {
	for _, task := range config.Tasks() {
		if trainingOf(&config.Config{Task: task}) == nil {
			t.Errorf("%s: no training", task)
		}
	}
}
