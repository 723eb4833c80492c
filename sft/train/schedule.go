package train

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sftseq/sftseq/sft/config"
)

// Settings holds the options of a training run that change its result.
type Settings struct {
	Epochs       int     `json:"epochs"`
	Steps        int     `json:"steps,omitempty"` // length of the run, instead of Epochs
	Batch        int     `json:"batch"`
	LearningRate float64 `json:"learning_rate"`
	WeightDecay  float64 `json:"weight_decay"`
	Schedule     string  `json:"schedule,omitempty"`   // one of [Schedules]; "" is step
	StepSize     int     `json:"step_size,omitempty"`  // step: epochs between two decays of the learning rate
	DecayRate    float64 `json:"decay_rate,omitempty"` // step: factor of one decay
	FinalRate    float64 `json:"final_rate,omitempty"` // other schedules: final fraction of LearningRate
	MaxGradNorm  float64 `json:"max_grad_norm"`        // 0 does not clip
	Warmup       string  `json:"warmup"`               // untuned, or a number of updates
	Seed         uint64  `json:"seed"`
	EvalEvery    int     `json:"eval_every,omitempty"` // steps; 0 is once an epoch
	LogEvery     int     `json:"log_every"`            // steps
	// Patience is the number of evaluations without an improvement before the run ends; 0 disables
	// early stopping.
	Patience int `json:"patience,omitempty"`
	// TemperatureScaling fits [config.Config.Temperature] of the saved model on the validation
	// split.
	TemperatureScaling bool `json:"temperature_scaling,omitempty"`
	// SpanDecoding chooses [config.Config.SpanDecoding] on the validation split if Select is
	// span-f1.
	SpanDecoding bool `json:"span_decoding,omitempty"`
	// Select is the metric that selects the saved model, one of [Selections]; "" is the task's default.
	Select string `json:"select,omitempty"`

	// ClassWeights holds a factor of the loss for each class, tag or label; nil means 1. It multiplies the loss
	// of a row of the class, or of a token with the tag. For multi-label it multiplies the terms of the
	// labels that a row has. The divisor of the sum over a
	// batch does not depend on the weights, so the weights of other rows do not change a row's
	// gradient. For classes and tags, the caller scales the weights to a mean of 1 over the training
	// split, so that they do not change the effective learning rate.
	ClassWeights []float64 `json:"class_weights,omitempty"`

	// TokenDeletion is the probability that training drops a token of a row. TokenReplacement is
	// the probability that it replaces a remaining token with a random token of the vocabulary.
	TokenDeletion    float64 `json:"token_deletion,omitempty"`
	TokenReplacement float64 `json:"token_replacement,omitempty"`

	// PointScale holds the minimum and the maximum factor by which training scales a point cloud,
	// PointStretch those of each axis; nil means 1. PointRotation is one of [Rotations]; "" means
	// none. PointShift is the maximum shift along each axis.
	PointScale    []float64 `json:"point_scale,omitempty"`
	PointStretch  []float64 `json:"point_stretch,omitempty"`
	PointRotation string    `json:"point_rotation,omitempty"`
	PointShift    float64   `json:"point_shift,omitempty"`

	// ImageFlip mirrors images from left to right with probability 1/2 in training. ImageShift is the
	// maximum random shift along each axis in pixels. The tokens of a row must be the pixels of a
	// square image, line by line.
	ImageFlip  bool `json:"image_flip,omitempty"`
	ImageShift int  `json:"image_shift,omitempty"`

	// Fresh draws the training rows anew in each epoch, see [Options.Redraw]. The rows of the training
	// split determine only the number of rows and their lengths.
	Fresh bool `json:"fresh,omitempty"`

	// EmbeddingInit is the initialisation of new embeddings, one of [config.EmbeddingInits]; "" is
	// normal.
	EmbeddingInit string `json:"embedding_init,omitempty"`

	// Stages precede the epochs, in order. Each trains on a part of the rows, such as short or easy rows
	// to learn faster. A run whose Steps end within a stage has no epochs.
	Stages []Stage `json:"stages,omitempty"`
}

// Stage is a number of steps on a part of the rows: rows of at most Length tokens, or the first Rows
// or the last LastRows of the split, for data sets that are sorted from easy to hard.
type Stage struct {
	Steps    int `json:"steps"`
	Length   int `json:"length,omitempty"`
	Rows     int `json:"rows,omitempty"`
	LastRows int `json:"last_rows,omitempty"`
}

// validate returns an error unless the stage has at least one step and exactly one limit, a positive number.
func (g Stage) validate() error {
	limits := 0
	for _, n := range []int{g.Length, g.Rows, g.LastRows} {
		if n != 0 {
			limits++
		}
	}
	switch {
	case g.Steps < 1:
		return badSetting("stages", fmt.Sprintf("with %d steps", g.Steps), "at least 1")
	case limits > 1:
		return badSetting("stages", fmt.Sprintf("with %d limits", limits), "one of length, rows and last_rows")
	case limits == 0:
		return badSetting("stages", "not limited", "a maximum number of rows or of tokens")
	case g.Rows < 0:
		return badSetting("stages", fmt.Sprintf("limited to the first %d rows", g.Rows), "at least 1")
	case g.LastRows < 0:
		return badSetting("stages", fmt.Sprintf("limited to the last %d rows", g.LastRows), "at least 1")
	case g.Length < 0:
		return badSetting("stages", fmt.Sprintf("limited to rows of at most %d tokens", g.Length), "at least 1")
	}
	return nil
}

// StageSteps returns the number of steps before the epochs.
func (s *Settings) StageSteps() int {
	n := 0
	for _, g := range s.Stages {
		n += g.Steps
	}
	return n
}

// maxBatch limits the batch size, so that arithmetic on batches does not overflow int.
const maxBatch = 1 << 24

// validFactors reports whether x is empty or a valid minimum and maximum factor for points.
func validFactors(x []float64) bool {
	return len(x) == 0 || len(x) == 2 && x[0] >= 1/maxPoint && x[1] >= x[0] && x[1] <= maxPoint
}

// maxPoint limits the factors and shifts of a point cloud; 1/maxPoint is the minimum factor.
const maxPoint = 1e6

// AdamW's constants.
const (
	beta1   = 0.9
	beta2   = 0.999
	adamEps = 1e-8
)

// badSetting returns an error that begins with the name of the setting's flag, without leading hyphens.
func badSetting(name string, found any, expected string) error {
	return fmt.Errorf("%s %v: expected %s", name, found, expected)
}

// Validate returns an error for the first invalid setting.
func (s *Settings) Validate() error {
	finite := func(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
	switch {
	case s.Epochs < 1 && s.Steps < 1:
		return badSetting("epochs", s.Epochs, "at least 1, or a number of steps")
	case s.Steps < 0:
		return badSetting("steps", s.Steps, "at least 1")
	case s.Batch < 1 || s.Batch > maxBatch:
		return badSetting("batch", s.Batch, fmt.Sprintf("1 to %d", maxBatch))
	case !(s.LearningRate >= 0) || !finite(s.LearningRate):
		return badSetting("lr", s.LearningRate, "a finite number of at least 0")
	case !(s.WeightDecay >= 0) || !finite(s.WeightDecay):
		return badSetting("weight-decay", s.WeightDecay, "a finite number of at least 0")
	case !(s.MaxGradNorm >= 0) || !finite(s.MaxGradNorm):
		return badSetting("max-grad-norm", s.MaxGradNorm, "a finite number of at least 0; 0 does not clip")
	case !(s.TokenDeletion >= 0 && float32(s.TokenDeletion) < 1): // draws are compared in float32
		return badSetting("token-deletion", s.TokenDeletion, "0 ≤ rate < 1")
	case !(s.TokenReplacement >= 0 && float32(s.TokenReplacement) < 1):
		return badSetting("token-replacement", s.TokenReplacement, "0 ≤ rate < 1")
	case !validFactors(s.PointScale):
		return badSetting("point-scale", s.PointScale,
			fmt.Sprintf("two factors from %g to %g in ascending order", 1/maxPoint, maxPoint))
	case !validFactors(s.PointStretch):
		return badSetting("point-stretch", s.PointStretch,
			fmt.Sprintf("two factors from %g to %g in ascending order", 1/maxPoint, maxPoint))
	case !(s.PointShift >= 0) || s.PointShift > maxPoint:
		return badSetting("point-shift", s.PointShift, fmt.Sprintf("a number from 0 to %g", maxPoint))
	case s.ImageShift < 0 || s.ImageShift > maxImageShift:
		return badSetting("image-shift", s.ImageShift, fmt.Sprintf("0 to %d pixels", maxImageShift))
	case s.EvalEvery < 0:
		return badSetting("eval-every", s.EvalEvery, "at least 0 steps")
	case s.LogEvery < 1:
		return badSetting("log-every", s.LogEvery, "at least 1 step")
	case s.Patience < 0:
		return badSetting("patience", s.Patience, "at least 0 evaluations")
	}
	if s.Select != "" && !slices.Contains(Selections, s.Select) {
		return badSetting("select", fmt.Sprintf("%q", s.Select), "one of "+strings.Join(Selections, ", "))
	}
	if s.PointRotation != "" && !slices.Contains(Rotations, s.PointRotation) {
		return badSetting("point-rotation", fmt.Sprintf("%q", s.PointRotation), "one of "+strings.Join(Rotations, ", "))
	}
	if s.EmbeddingInit != "" && !slices.Contains(config.EmbeddingInits, s.EmbeddingInit) {
		return badSetting("embedding-init", fmt.Sprintf("%q", s.EmbeddingInit),
			"one of "+strings.Join(config.EmbeddingInits, ", "))
	}
	for class, w := range s.ClassWeights {
		if !(w >= 0) || !finite(w) {
			return badSetting("class-weights", fmt.Sprintf("%v for class %d", w, class),
				"finite numbers of at least 0")
		}
	}
	for _, g := range s.Stages {
		if err := g.validate(); err != nil {
			return err
		}
	}
	return s.validateRate()
}
