package lra

import (
	"slices"

	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/tokenizers"
)

// PretrainName is the name of the task that [Pretrain] returns.
const PretrainName = "pretrain"

// SpectrumNames is the number of classes of spectra that a model of audio samples predicts: about
// the number of sounds in a language plus the transitions between sounds.
const SpectrumNames = 64

// Pretrain returns the task of predicting masked tokens in the sequences of any data set. Its
// presets have the models of the task that the data belong to, or the model of [Custom]. They have
// no dropout: every token can become a target, so overfitting is unlikely. Models of audio samples
// predict the spectrum of masked samples instead, and keep dropout and token deletion.
func Pretrain(m *seq.Manifest) *Task {
	source := Custom(m)
	if i := slices.IndexFunc(Tasks(), func(t *Task) bool { return t.Name == m.Name && t.Tokenizer != nil }); i >= 0 {
		source = Tasks()[i]
	}
	task := &Task{
		Name:        PretrainName,
		Description: "learn from sequences without labels: predict masked tokens",
		Kind:        m.Task,
		Tokenizer:   m.Tokenizer,
		Import:      &Importer{Example: "sftseq data convert --from logs.jsonl --to data/logs --text line"},
	}
	for _, p := range source.Presets {
		p := *p
		c := &p.Config
		length, rows := trainingSize(m, c)
		s := quickSettings(0, batchOf(length), 0.01)
		c.Task = config.FillMask
		if tokenizers.TypeOf(m.Tokenizer) == new(tokenizers.MuLaw).Type() {
			c.MaskTargets = config.NewMaskTargets(SpectrumNames) // keeps the dropout, because there are few targets
			s.TokenDeletion = p.Settings.TokenDeletion
		} else {
			c.DropToken, c.AttentionDropout, c.EmbeddingDropout, c.FeedForward = 0, 0, 0, 0
		}
		s.EmbeddingInit = p.Settings.EmbeddingInit
		setCosineDecay(&s)
		epochs := min(runTokens/length, float64(maxSteps*s.Batch)) / rows
		s.Epochs = min(maxEpochs, max(minEpochs, int(epochs)))
		s.EvalEvery = max(1, s.Epochs*int(rows)/s.Batch/evaluations)
		p.Settings, p.Result, p.Linear = s, nil, false
		p.Description = DescribeRun(c, &s)
		task.Presets = append(task.Presets, &p)
	}
	return task
}

// trainingSize returns an upper bound of the mean number of tokens that the model reads per sequence, and
// the number of sequences in the training split. Both are at least 1.
func trainingSize(m *seq.Manifest, c *sft.Config) (length, rows float64) {
	train := m.Splits["train"]
	length, rows = train.Lengths.Mean, float64(train.Rows)
	if m.Task == seq.Retrieval {
		length, rows = length/2, 2*rows
	}
	if w := c.TruncatesAt(); w > 0 {
		length = min(length, float64(w))
	}
	return max(1, length), max(1, rows)
}

// batchOf returns the number of sequences per batch, a power of two from 16 to 256. Batches of short
// sequences are larger, because the fixed cost of a step equals the cost of a few thousand tokens.
func batchOf(length float64) int {
	const tokens, maxBatch = 16384, 256
	return max(16, min(maxBatch, powerOfTwo(int(tokens/length))))
}
