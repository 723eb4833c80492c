package model

import (
	"maps"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/sft/config"
)

// TestTasksHaveObjectives: the table has a row for each task.
func TestTasksHaveObjectives(t *testing.T) {
	if rows := slices.Sorted(maps.Keys(Objectives)); !slices.Equal(rows, config.Tasks()) {
		t.Errorf("rows for %q, expected %q", rows, config.Tasks())
	}
}
