package main

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
	"github.com/sftseq/sftseq/sft/train"
)

// smallRun trains in this process with the arguments of small and additional flags.
func smallRun(t *testing.T, data, out string, flags ...string) {
	t.Helper()
	done(t, "", append(small(data, out), flags...)...)
}

// TestTensorBoard checks that the event files of a resumed run have the same values as its metrics,
// and each step once.
func TestTensorBoard(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	data := generated(t)
	smallRun(t, data, dir, "--tensorboard", "--steps", "20")
	if files, _ := filepath.Glob(filepath.Join(dir, "*tfevents*")); len(files) != 1 {
		t.Fatalf("event files %v, want one", files)
	}
	smallRun(t, data, dir, "--tensorboard", "--steps", "40", "--resume")
	smallRun(t, data, dir, "--steps", "45", "--resume")
	m := must.Get(train.ReadMetrics(dir))(t)
	want := map[string]int{}
	add := func(step int, tag string, value float64) {
		if step <= 40 {
			want[fmt.Sprint(step, tag, float32(value))]++
		}
	}
	for _, r := range m.Train {
		add(r.Step, "loss/train", r.Loss)
		add(r.Step, "accuracy/train", *r.Accuracy)
		add(r.Step, "learning_rate", r.LearningRate)
		add(r.Step, "grad_norm", r.GradNorm)
		add(r.Step, "tokens_per_second", r.TokensPerS)
	}
	for _, r := range m.Validation {
		add(r.Step, "loss/val", r.Loss)
		add(r.Step, "accuracy/val", *r.Accuracy)
		add(r.Step, "macro_f1/val", *r.MacroF1)
		if r.AUC != nil {
			add(r.Step, "auc/val", *r.AUC)
		}
	}
	points := testenv.TensorBoard(t, dir)
	if len(points) < 30 {
		t.Errorf("%d points, want at least 30", len(points))
	}
	for _, p := range points {
		want[fmt.Sprint(p.Step, p.Tag, p.Value)]--
	}
	for point, n := range want {
		equal(t, n, 0, point)
	}
}
