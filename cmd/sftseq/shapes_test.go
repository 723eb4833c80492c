package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/testenv"
)

// TestGeneratedClouds checks that the generated point-cloud tasks train without --data. The clouds
// are generated once, and training rotates them. A report finds the data without a flag.
func TestGeneratedClouds(t *testing.T) {
	testenv.NoRace(t, "runs code that TestClouds, TestConvertCloud and TestGraphs cover")
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	for task, selected := range map[string]string{"shapes": "", "shape-parts": "selected by iou"} {
		dir := t.TempDir()
		run, data := filepath.Join(dir, "run"), filepath.Join(cache, "sftseq", task+"-quick-1")
		for _, out := range []string{run, run + "2"} {
			output, errs := exits(t, exitOK, "", append([]string{"train", task, "--out", out}, tiny...)...)
			contains(t, output, selected)
			equal(t, strings.Contains(errs, "generating "+task+" in "+data), out == run, errs)
		}
		equal(t, readText(t, filepath.Join(run, "model.safetensors")),
			readText(t, filepath.Join(run+"2", "model.safetensors")), task)
		if config := readText(t, filepath.Join(run, "config.json")); !strings.Contains(config,
			`"point_rotation": "any"`) {
			t.Errorf("%s: got config.json %s, want point_rotation any", task, config)
		}
		contains(t, succeed(t, "", "data", "info", filepath.Join(data, "train.arrow")), "2000", "256")
		page := filepath.Join(dir, "page.html")
		if status, output, errs := program(nil, "report", "--out", page, run); status != 0 ||
			!strings.Contains(readText(t, page), data) {
			t.Errorf("report: got status %d, want 0 and %s in the page\n%s%s", status, data, output, errs)
		}
	}
}
