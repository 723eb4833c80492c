package train

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sftseq/sftseq/sft/config"
)

// Settings are the numbers of a training run that change its result.
type Settings struct {
	Epochs       int     `json:"epochs"`
	Steps        int     `json:"steps,omitempty"` // ends the run earlier or later than Epochs
	Batch        int     `json:"batch"`
	LearningRate float64 `json:"learning_rate"`
	WeightDecay  float64 `json:"weight_decay"`
	Schedule     string  `json:"schedule,omitempty"`   // one of [Schedules]; "" is step
	StepSize     int     `json:"step_size,omitempty"`  // step: epochs between two decays of the learning rate
	DecayRate    float64 `json:"decay_rate,omitempty"` // step: factor of one decay
	FinalRate    float64 `json:"final_rate,omitempty"` // other schedules: final fraction of LearningRate
	MaxGradNorm  float64 `json:"max_grad_norm"`
	Warmup       string  `json:"warmup"` // untuned, or a number of steps
	Seed         uint64  `json:"seed"`
	EvalEvery    int     `json:"eval_every,omitempty"` // steps; 0 is once an epoch
	LogEvery     int     `json:"log_every"`            // steps
	Patience     int     `json:"patience,omitempty"`   // evaluations without a better one; 0 never stops early
	// TemperatureScaling fits [config.Config.Temperature] on the validation split, for the kept model.
	TemperatureScaling bool `json:"temperature_scaling,omitempty"`
	// SpanDecoding chooses [config.Config.SpanDecoding] on the validation split where Select is span-f1.
	SpanDecoding bool `json:"span_decoding,omitempty"`
	// Select is the metric that selects the saved model, one of [Selections]; "" is accuracy.
	Select string `json:"select,omitempty"`

	// ClassWeights are factors of the loss of the rows of each class; none: all are 1. The
	// sum over a batch is divided by its number of rows in any case, so that a row counts
	// the same whatever it is trained beside. Whoever sets them makes their mean over the
	// training split 1, which keeps the learning rate's meaning.
	ClassWeights []float64 `json:"class_weights,omitempty"`

	// TokenDeletion and TokenReplacement are the probabilities that training leaves out a
	// token of a row, and that one that stays is replaced by any of the vocabulary.
	TokenDeletion    float64 `json:"token_deletion,omitempty"`
	TokenReplacement float64 `json:"token_replacement,omitempty"`

	// PointScale are the least and the largest factor by which training scales a point cloud,
	// none: 1; PointStretch are those for each axis alone; PointRotation are the rotations by
	// which it turns one, of [Rotations], "" is none; PointShift is by how much it moves one at
	// most, along each axis.
	PointScale    []float64 `json:"point_scale,omitempty"`
	PointStretch  []float64 `json:"point_stretch,omitempty"`
	PointRotation string    `json:"point_rotation,omitempty"`
	PointShift    float64   `json:"point_shift,omitempty"`

	// EmbeddingInit is how fresh embeddings begin, of [config.EmbeddingInits]; "" is normal.
	EmbeddingInit string `json:"embedding_init,omitempty"`

	// Stages come before the epochs, in order: steps on short or easy rows alone. What a
	// model learns from them it learns sooner, and keeps.
	Stages []Stage `json:"stages,omitempty"`
}

// Stage is a number of steps on some of the rows: those of at most Length tokens, or the
// first Rows of the split, where a data set begins with what is easy.
type Stage struct {
	Steps  int `json:"steps"`
	Length int `json:"length,omitempty"`
	Rows   int `json:"rows,omitempty"`
}

// StageSteps is the number of steps before the epochs.
func (s *Settings) StageSteps() int {
	n := 0
	for _, g := range s.Stages {
		n += g.Steps
	}
	return n
}

// maxBatch is more rows than anybody has memory for, and keeps arithmetic on batches
// within int.
const maxBatch = 1 << 24

// factors reports whether x are none, or a least and a largest factor of points.
func factors(x []float64) bool {
	return len(x) == 0 || len(x) == 2 && x[0] >= 1/maxPoint && x[1] >= x[0] && x[1] <= maxPoint
}

// maxPoint is more than any cloud is scaled, stretched or moved by, and its inverse less.
const maxPoint = 1e6

// AdamW's constants.
const (
	beta1   = 0.9
	beta2   = 0.999
	adamEps = 1e-8
)

// Validate reports the first setting that cannot be trained with.
func (s *Settings) Validate() error {
	bad := func(name string, found any, expected string) error {
		return fmt.Errorf("%s is %v, expected %s", name, found, expected)
	}
	finite := func(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
	switch {
	case s.Epochs < 1 && s.Steps < 1:
		return bad("epochs", s.Epochs, "at least 1, or a number of steps")
	case s.Steps < 0:
		return bad("steps", s.Steps, "at least 1")
	case s.Batch < 1 || s.Batch > maxBatch:
		return bad("batch", s.Batch, fmt.Sprintf("1 to %d", maxBatch))
	case !(s.LearningRate >= 0) || !finite(s.LearningRate):
		return bad("lr", s.LearningRate, "a number that is not negative")
	case !(s.WeightDecay >= 0) || !finite(s.WeightDecay):
		return bad("weight decay", s.WeightDecay, "a number that is not negative")
	case !(s.MaxGradNorm >= 0) || !finite(s.MaxGradNorm):
		return bad("max grad norm", s.MaxGradNorm, "a number that is not negative; 0 does not clip")
	case !(s.TokenDeletion >= 0 && float32(s.TokenDeletion) < 1): // draws are compared in float32
		return bad("token deletion", s.TokenDeletion, "0 ≤ rate < 1")
	case !(s.TokenReplacement >= 0 && float32(s.TokenReplacement) < 1):
		return bad("token replacement", s.TokenReplacement, "0 ≤ rate < 1")
	case !factors(s.PointScale):
		return bad("point scale", s.PointScale,
			fmt.Sprintf("two factors from %g to %g, the least and the largest", 1/maxPoint, maxPoint))
	case !factors(s.PointStretch):
		return bad("point stretch", s.PointStretch,
			fmt.Sprintf("two factors from %g to %g, the least and the largest", 1/maxPoint, maxPoint))
	case !(s.PointShift >= 0) || s.PointShift > maxPoint:
		return bad("point shift", s.PointShift, fmt.Sprintf("a number from 0 to %g", maxPoint))
	case s.EvalEvery < 0 || s.LogEvery < 1 || s.Patience < 0:
		return bad("eval-every, log-every, patience", fmt.Sprint(s.EvalEvery, s.LogEvery, s.Patience),
			"numbers of steps that are not negative")
	}
	if s.Select != "" && !slices.Contains(Selections, s.Select) {
		return bad("select", fmt.Sprintf("%q", s.Select), "one of "+strings.Join(Selections, ", "))
	}
	if s.PointRotation != "" && !slices.Contains(Rotations, s.PointRotation) {
		return bad("point rotation", fmt.Sprintf("%q", s.PointRotation), "one of "+strings.Join(Rotations, ", "))
	}
	if s.EmbeddingInit != "" && !slices.Contains(config.EmbeddingInits, s.EmbeddingInit) {
		return bad("embedding init", fmt.Sprintf("%q", s.EmbeddingInit),
			"one of "+strings.Join(config.EmbeddingInits, ", "))
	}
	for class, w := range s.ClassWeights {
		if !(w >= 0) || !finite(w) {
			return bad(fmt.Sprintf("the weight of class %d", class), w, "a number that is not negative")
		}
	}
	for _, g := range s.Stages {
		switch {
		case g.Steps < 1:
			return bad("the number of steps of a stage", g.Steps, "at least 1")
		case g.Length != 0 && g.Rows != 0:
			return bad("a stage", fmt.Sprintf("on rows of at most %d tokens and on the first %d",
				g.Length, g.Rows), "one of them")
		case g.Rows < 0:
			return bad("a stage", fmt.Sprintf("on the first %d rows", g.Rows), "at least 1")
		case g.Length < 0:
			return bad("a stage", fmt.Sprintf("on rows of at most %d tokens", g.Length), "at least 1")
		case g.Rows == 0 && g.Length == 0:
			return bad("a stage", "on no rows", "a number of them, or of their tokens, from 1")
		}
	}
	return s.validateRate()
}
