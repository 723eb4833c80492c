package train

import (
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
)

// training is how a model of a [config.Kind] is trained and measured.
type training interface {
	// settings reports what a model of the task cannot be trained with, and sets what follows
	// from the task.
	settings(c *config.Config, s *Settings) error
	// weight is the factor of the loss of an example.
	weight(s *Settings, e seq.Example) float64
	// measure begins the measurement of a split.
	measure(c *config.Config, s *Settings) measurement
}

// labelling is the training of a task whose answers are labels.
type labelling interface {
	training
	// answered reports whether an answer is right.
	answered(logits []float32, e seq.Example) bool
}

// measurement adds up what passes of an evaluation say of examples, and says what it comes
// to: of each example its logits, or of passes in lossMode its loss.
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

// trainingOf is that of a model, whose task [config.Config.Validate] has found to be one.
func trainingOf(c *config.Config) training { return trainings[c.Kind()] }
