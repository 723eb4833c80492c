package train

import (
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
)

// training defines how a model of a [config.Kind] is trained and measured.
type training interface {
	// settings returns an error for settings that the task does not support, and sets defaults of
	// the task.
	settings(c *config.Config, s *Settings) error
	// weight returns the factor of an example's loss in the reported training loss.
	weight(s *Settings, e seq.Example) float64
	// measure returns an empty measurement for a split.
	measure(c *config.Config, s *Settings) measurement
}

// labelling is the training of a task whose step metrics include the accuracy.
type labelling interface {
	training
	// isCorrect reports whether the prediction is correct.
	isCorrect(logits []float32, e seq.Example) bool
}

// measurement accumulates the outputs of an evaluation and reports metrics. An output holds the
// logits of an example, or in [model.LossMode] its loss.
type measurement interface {
	add(x []float32, e seq.Example)
	report(r *EvaluationReport)
}

var trainings = map[config.Kind]training{
	config.Classes:      classification{},
	config.Labels:       multiLabel{},
	config.Numbers:      regression{},
	config.Tags:         tagging{},
	config.MaskedTokens: fillMask{},
}

// trainingOf returns the training of a model's task, which [config.Config.Validate] has checked.
func trainingOf(c *config.Config) training { return trainings[c.Kind()] }
