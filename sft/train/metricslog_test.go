package train

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
	"github.com/sftseq/sftseq/sft/internal/model"
	"github.com/sftseq/sftseq/sft/internal/modeltest"
)

// TestDamagedMetrics damages metrics.jsonl in many ways. A resumed run must warn about the damage, lose at
// most two lines of an existing log, and end with the weights and the state of an uninterrupted run.
func TestDamagedMetrics(t *testing.T) {
	train, val := tinySplits(t, config.Classification)
	settings := runSettings()
	uninterrupted, dir := t.TempDir(), t.TempDir()
	must.Succeed(t, trainNew(t, modeltest.RandomModel(configtest.TrainingConfig(), 1), settings,
		options(uninterrupted, nil), cpu.New(1), train, val))
	want := outcomeOf(t, uninterrupted)

	// This run stops after its first evaluation.
	ctx, cancel := context.WithCancel(t.Context())
	tr, err := NewTrainer(modeltest.RandomModel(configtest.TrainingConfig(), 1), settings, cpu.New(1), train, val, nil,
		options(dir, func(event any) {
			if r, ok := event.(EvaluationReport); ok && r.Step >= 3 {
				cancel()
			}
		}))
	must.Succeed(t, err)
	if err := tr.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	tr.Close()
	path := filepath.Join(dir, metricsFile)
	log, checkpoint := modeltest.ReadFiles(t, path), modeltest.ReadFiles(t, filepath.Join(dir, model.CheckpointFile))
	lines := strings.SplitAfter(log, "\n")
	if len(lines) < 3 {
		t.Fatalf("metrics %q, want at least 2 lines", log)
	}

	random := rand.New(rand.NewPCG(16, 11))
	cases := map[string]string{
		"no file": "", "no last line": strings.Join(lines[:len(lines)-2], ""), "no final newline": log[:len(log)-1],
		"no first line":                strings.Join(lines[1:], ""),
		"an extra byte":                log[:5] + "x" + log[5:],
		"a lost byte, and extra lines": log[:9] + log[10:] + `{"kind":"train","step":99}` + "\n",
	}
	for range 8 {
		at := random.IntN(len(log))
		cases["without byte "+log[at:min(at+9, len(log))]] = log[:at] + log[at+1:]
	}
	for name, damaged := range cases {
		must.Succeed(t, os.WriteFile(path, []byte(damaged), 0o666))
		if name == "no file" {
			os.Remove(path)
		}
		must.Succeed(t, os.WriteFile(filepath.Join(dir, model.CheckpointFile), []byte(checkpoint), 0o666))
		warnings := ""
		resume := func() *Trainer {
			t.Helper()
			from := must.Get(LoadCheckpoint(dir))(t)
			tr := must.Get(NewTrainer(nil, settings, cpu.New(1), train, val, from, options(dir, func(event any) {
				if w, ok := event.(Warning); ok {
					warnings += string(w)
				}
			})))(t, name)
			return tr
		}
		tr := resume()
		if !strings.Contains(warnings, path+" was damaged") {
			t.Errorf("%s: warnings %q, want a warning of damage", name, warnings)
		}
		// A second start must find a repaired log.
		tr.Close()
		warnings = ""
		tr = resume()
		if warnings != "" {
			t.Errorf("%s: the second start has the warnings %q, want none", name, warnings)
		}
		must.Succeed(t, tr.Run(t.Context()), name)
		tr.Close()
		got := outcomeOf(t, dir)
		count := strings.Count(got.metrics, "\n")
		for line := range strings.Lines(got.metrics) {
			// the damage may remove a digit
			if !strings.Contains(want.metrics, line) && !strings.Contains(name, "without byte") {
				t.Errorf("%s: the uninterrupted run has no line %s", name, line)
			}
		}
		if total := strings.Count(want.metrics, "\n"); count > total || count < total-len(lines) ||
			name != "no file" && count < total-2 {
			t.Errorf("%s: %d of %d lines are left; want at most 2 lost lines, or %d without a file", name, count, total,
				len(lines))
		}
		got.metrics = want.metrics
		compareOutcomes(t, got, want)
	}
}
