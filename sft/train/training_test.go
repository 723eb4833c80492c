package train

import (
	"maps"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/sft/config"
)

// TestTasksHaveTrainings: the table has a row for each task.
func TestTasksHaveTrainings(t *testing.T) {
	if rows := slices.Sorted(maps.Keys(trainings)); !slices.Equal(rows, config.Tasks()) {
		t.Errorf("rows for %q, expected %q", rows, config.Tasks())
	}
}
