package docs_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/lra"
)

// TestPresetsOfResults checks that the accuracies and times of presets in train --help equal those
// in results.md.
func TestPresetsOfResults(t *testing.T) {
	page := must.Get(os.ReadFile("results.md"))(t)
	for _, task := range lra.Tasks() {
		for _, p := range task.Presets {
			if p.Result == nil {
				continue
			}
			rows := presetRows(string(page), task.Name, p.Name)
			if len(rows) != 2 {
				t.Errorf("%s, %s: got %d table rows, want one with accuracies and one with times",
					task.Name, p.Name, len(rows))
				continue
			}
			r := p.Result
			for cell, want := range map[string]string{
				rows[0][2]: fmt.Sprintf("**%.2f%%** of ", r.Accuracy),
				rows[0][3]: fmt.Sprintf("%.2f%%, %s", r.BaselineAccuracy, r.Baseline),
				rows[1][3]: fmt.Sprintf("%d min", r.Minutes),
			} {
				if !strings.HasPrefix(cell, want) {
					t.Errorf("%s, %s: results.md has %q, the preset %q", task.Name, p.Name, cell, want)
				}
			}
		}
	}
}

// TestMeasuredOfResults checks that the decimal numbers in a preset's description in train --help equal
// the decimal numbers in its row of results.md.
func TestMeasuredOfResults(t *testing.T) {
	page := must.Get(os.ReadFile("results.md"))(t)
	number := regexp.MustCompile(`\d+\.\d+`)
	for _, task := range lra.Tasks() {
		for _, p := range task.Presets {
			said := number.FindAllString(p.Measured, -1)
			if p.Measured == "" {
				continue
			}
			rows := presetRows(string(page), "["+task.Name+"]", p.Name)
			if len(rows) != 1 || len(said) == 0 {
				t.Errorf("%s, %s: got %q and %d table rows, want numbers and one row",
					task.Name, p.Name, p.Measured, len(rows))
				continue
			}
			stated := number.FindAllString(strings.Join(rows[0][2:], " "), -1)
			slices.Sort(said)
			slices.Sort(stated)
			if !slices.Equal(slices.Compact(said), slices.Compact(stated)) {
				t.Errorf("%s, %s: results.md has %q, the preset %q", task.Name, p.Name, stated, said)
			}
		}
	}
}

// presetRows returns the cells of each table row whose first cell begins with the task and contains
// the preset in backquotes.
func presetRows(page, task, preset string) (rows [][]string) {
	for line := range strings.Lines(page) {
		cells := strings.Split(strings.Trim(line, "| \n"), " | ")
		if first := strings.ToLower(cells[0]); len(cells) > 3 && strings.HasPrefix(first, task) &&
			strings.Contains(first, "`"+preset+"`") {
			rows = append(rows, cells)
		}
	}
	return rows
}
