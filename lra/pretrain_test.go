package lra

import (
	"testing"

	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
)

// TestPretrainPresets checks that Pretrain uses the models of the task that the data belong to, or
// chooses a model from the data, and that models and settings are valid. The sequences of a pair count
// separately.
func TestPretrainPresets(t *testing.T) {
	for _, c := range []struct {
		name, task string
		rows       int64
		length     float64
		presets    []string
		epochs     int
	}{
		{"text", seq.Classification, 25000, 1300, []string{"quick", "hour", "paper"}, 7},
		{"reviews", seq.Classification, 25000, 1300, []string{"quick"}, 6},
		{"retrieval", seq.Retrieval, 10000, 2000, []string{"quick", "paper"}, 10},
		{"peptides-func", seq.Classification, 25000, 1300, []string{"quick"}, 6}, // texts, with a graph task's name
		{"few", seq.Classification, 5, 10, []string{"quick"}, maxEpochs},
	} {
		m := &seq.Manifest{Name: c.name, Task: c.task, Tokenizer: []byte(`{"type":"byte"}`), VocabSize: 257,
			Splits: map[string]seq.SplitInfo{
				"train": {Rows: c.rows, Lengths: seq.Quantiles{P50: int64(c.length), Mean: c.length}}}}
		task := Pretrain(m)
		if len(task.Presets) != len(c.presets) {
			t.Fatalf("%s: %d presets, want %q", c.name, len(task.Presets), c.presets)
		}
		for i, p := range task.Presets {
			if p.Name != c.presets[i] || i == 0 && p.Settings.Epochs != c.epochs || p.Result != nil {
				t.Errorf("%s: preset %d is %s with %d epochs and the result %v; want %s, no result, and %d epochs for "+
					"preset 0", c.name, i, p.Name, p.Settings.Epochs, p.Result, c.presets[i], c.epochs)
			}
			if p.Config.FeedForward != 0 || p.Config.EmbeddingDropout != 0 || p.Config.DropToken != 0 ||
				p.Config.AttentionDropout != 0 {
				t.Errorf("%s, %s: the model has dropout, want none", c.name, p.Name)
			}
			cfg := p.Config
			if err := cfg.DescribeData(m.Spec("")); err != nil || cfg.Task != config.FillMask {
				t.Errorf("%s, %s: task %s, error %v; want task %s", c.name, p.Name, cfg.Task, err, config.FillMask)
			}
			if cfg.MaskTargets != nil {
				t.Errorf("%s, %s: got %d mask targets, want none for a model of bytes", c.name, p.Name,
					cfg.MaskTargets.Len())
			}
			if p.Linear {
				t.Errorf("%s, %s: a linear model is trained, expected a model with layers", c.name, p.Name)
			}
			if err := p.Settings.Validate(); err != nil || p.Settings.EvalEvery < 1 {
				t.Errorf("%s, %s: an evaluation every %d steps, want at least 1; error %v", c.name, p.Name,
					p.Settings.EvalEvery, err)
			}
		}
	}
	sound := &seq.Manifest{Name: "sound", Task: seq.Classification, Tokenizer: []byte(`{"type":"mulaw"}`),
		VocabSize: 256, Splits: map[string]seq.SplitInfo{
			"train": {Rows: 100, Lengths: seq.Quantiles{P50: 3000, Mean: 3000}}}}
	for _, p := range Pretrain(sound).Presets {
		if got := p.Config.MaskTargets.Len(); got != SpectrumNames {
			t.Errorf("a model of samples predicts %d spectra, want %d", got, SpectrumNames)
		}
		if custom := Custom(sound).Presets[0]; p.Config.FeedForward == 0 ||
			p.Config.FeedForward != custom.Config.FeedForward ||
			p.Settings.TokenDeletion == 0 || p.Settings.TokenDeletion != custom.Settings.TokenDeletion ||
			p.Settings.TokenReplacement != 0 {
			t.Errorf("dropout or noise for samples differs from Custom: %+v, %+v", p.Config, p.Settings)
		}
	}
	for _, task := range Tasks() {
		for _, p := range task.Presets {
			if p.Config.Task != "" {
				t.Errorf("%s, %s: Pretrain changed the task's preset", task.Name, p.Name)
			}
		}
	}
}
