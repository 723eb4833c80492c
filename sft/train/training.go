package train

import (
	"fmt"

	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
)

// training is how a [config.Config.Task] is trained and measured.
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

var trainings = map[string]training{
	config.Classification: classification{},
	config.Retrieval:      classification{},
	config.FillMask:       fillMask{},
	config.Regression:     regression{},
	config.MultiLabel:     multiLabel{},
	config.Tagging:        tagging{},
}

// trainingOf is that of the task, which [config.Config.Validate] has found to be one.
func trainingOf(c *config.Config) training {
	o, ok := trainings[c.Task]
	if !ok {
		panic(fmt.Sprintf("train: no training for the task %q: the configuration was not validated", c.Task))
	}
	return o
}
