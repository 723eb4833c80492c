package bench

import (
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/lra"
	"github.com/sftseq/sftseq/sft/config"
)

// TestTagging checks that tagging models can be measured, with a label per token.
func TestTagging(t *testing.T) {
	cfg := Layer{"sft", "sinusoid_hadamard", 64, TableLength, LayerShapes["usual"]}.config()
	cfg.Task = config.Tagging
	settings := lra.ListOps.Presets[0].Settings
	settings.Batch = 2
	w := &Workload{Config: cfg, Settings: settings, Length: 80, Device: cpu.New(1), Memory: 1 << 30}
	for _, e := range w.Examples() {
		if len(e.Labels) != w.Length || slices.Min(e.Labels) != 0 || slices.Max(e.Labels) != int32(cfg.NumLabels)-1 {
			t.Errorf("got labels %v, want %d labels from 0 to %d", e.Labels, w.Length, cfg.NumLabels-1)
		}
	}
	for _, pass := range []string{Forward, Train} {
		run, err := w.Prepare(pass)
		if err == nil {
			err = run(t.Context())
		}
		if err != nil {
			t.Errorf("%s: %v", pass, err)
		}
	}
}

// TestFillMask checks that a training step of a model of masked tokens can be measured. A mask token in
// an example would be an error.
func TestFillMask(t *testing.T) {
	cfg := Layer{"sft", "sinusoid_hadamard", 64, TableLength, LayerShapes["usual"]}.config()
	cfg.Task, cfg.PadTokenID = config.FillMask, nil
	cfg.VocabSize, cfg.NumLabels, cfg.MaskTokenID, cfg.MaskRate, cfg.MaskSpan = 4,
		3, new(int32(3)), 0.15, 1
	settings := lra.ListOps.Presets[0].Settings
	settings.Batch, settings.Select = 2, ""
	run, err := (&Workload{Config: cfg, Settings: settings, Length: 80, Device: cpu.New(1),
		Memory: 1 << 30}).Prepare(Train)
	if err == nil {
		err = run(t.Context())
	}
	if err != nil {
		t.Error(err)
	}
}
