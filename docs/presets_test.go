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

// TestPresetsOfResults checks that what train --help says that a preset reaches, and how long it
// takes, is what results.md says.
func TestPresetsOfResults(t *testing.T) {
	page := must.Get(os.ReadFile("results.md"))(t)
	for _, task := range lra.Tasks() {
		for _, p := range task.Presets {
			if p.Result == nil {
				continue
			}
			rows := presetRows(string(page), task.Name, p.Name)
			if len(rows) != 2 {
				t.Errorf("%s, %s: %d rows of tables, want one of accuracies and one of times",
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
					t.Errorf("%s, %s: results.md says %q, the preset %q", task.Name, p.Name, cell, want)
				}
			}
		}
	}
}

// TestMeasuredOfResults checks that what train --help says in words of a preset is in its row of
// results.md.
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
				t.Errorf("%s, %s: %q and %d rows, want numbers and a row", task.Name, p.Name, p.Measured, len(rows))
				continue
			}
			stated := number.FindAllString(strings.Join(rows[0][2:], " "), -1)
			slices.Sort(said)
			slices.Sort(stated)
			if !slices.Equal(slices.Compact(said), slices.Compact(stated)) {
				t.Errorf("%s, %s: results.md says %q, the preset %q", task.Name, p.Name, stated, said)
			}
		}
	}
}

// presetRows are the cells of the rows of a page's tables that begin with a task and a
// preset of it.
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
