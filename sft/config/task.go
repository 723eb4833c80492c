package config

import (
	"fmt"
	"maps"
	"slices"

	"github.com/sftseq/sftseq/seq"
)

// task defines the parts of a configuration that depend on its [Config.Task].
type task interface {
	// describe sets the outputs from the data, or returns an error if the data do not suit the task.
	// For fill-mask it also adds the mask to the vocabulary.
	describe(c *Config, s seq.Spec) error
	// validate returns an error for values that the task does not allow.
	validate(c *Config) error
	// check returns an error for an example that a model of the task cannot train on.
	check(c *Config, e seq.Example) error
	taskTraits
}

// taskTraits holds the methods that most tasks share: see [defaultTraits].
type taskTraits interface {
	kind() Kind
	// sequences returns the number of sequences of an example. They share the encoder.
	sequences() int
	// supportsFeatures reports whether tokens may have features instead of ids.
	supportsFeatures() bool
	// headOperations returns the multiply-adds of the head per token of a sequence.
	headOperations(c *Config, length int) float64
	// loss returns the loss of the outputs of the head. targets returns the numbers that the loss
	// compares with these outputs, or nil for [CrossEntropy], which uses the label.
	loss() Loss
	targets(c *Config, e seq.Example) []float32
	// logits returns the logits of a prediction from the outputs of the head, which it may
	// overwrite. The logits of numbers are standardised: [Config.Predictions] maps them to the
	// units of the data.
	logits(c *Config, head []float32) []float32
	// head is the inverse of logits. It leaves its argument unchanged.
	head(c *Config, logits []float32) []float32
}

// Kind is the kind of a model's predictions. Several tasks may share a kind. Code that reads
// predictions depends on the kind, not on the task.
type Kind string

// The kinds of predictions.
const (
	Classes      Kind = "classes"       // one class per row: a softmax of the logits gives the probabilities
	Labels       Kind = "labels"        // any number of labels per row: the sigmoid of a logit is a probability
	Numbers      Kind = "numbers"       // numbers per row
	Tags         Kind = "tags"          // one label per token
	MaskedTokens Kind = "masked tokens" // no prediction for a whole row
)

// defaultTraits implements taskTraits for tasks with one class per row.
type defaultTraits struct{}

func (defaultTraits) kind() Kind { return Classes }

func (defaultTraits) sequences() int { return 1 }

func (defaultTraits) supportsFeatures() bool { return true }

func (defaultTraits) loss() Loss { return CrossEntropy }

func (defaultTraits) targets(*Config, seq.Example) []float32 { return nil }

func (defaultTraits) logits(_ *Config, head []float32) []float32 { return head }

func (defaultTraits) head(_ *Config, logits []float32) []float32 { return logits }

// headOperations counts two multiply-adds per channel for the pooling.
func (defaultTraits) headOperations(c *Config, length int) float64 {
	d := float64(c.HiddenSize)
	head := 2*d + d*float64(c.NumLabels)/float64(length)
	if c.Sequences() == 2 {
		head += 4 * d * d / float64(length)
	}
	return head
}

// HeadOperations returns the multiply-adds of the head per token of a sequence.
func (c *Config) HeadOperations(length int) float64 { return c.task().headOperations(c, length) }

var tasks = map[string]task{
	Classification: classification{},
	Retrieval:      retrieval{},
	FillMask:       fillMask{},
	Regression:     regression{},
	MultiLabel:     multiLabel{},
	Tagging:        tagging{},
}

// Tasks returns the values of [Config.Task].
func Tasks() []string { return slices.Sorted(maps.Keys(tasks)) }

// task returns the task of c, which [Config.Validate] has checked.
func (c *Config) task() task {
	t, ok := tasks[c.Task]
	if !ok {
		panic(fmt.Sprintf("sft: no objective for the task %q: the configuration was not validated", c.Task))
	}
	return t
}

// Sequences returns the number of sequences per example: 1, or 2 for a pair, whose sequences share
// one encoder. It panics for a task that [Config.Validate] refuses.
func (c *Config) Sequences() int { return c.task().sequences() }

// Kind returns the kind of the model's predictions.
func (c *Config) Kind() Kind { return c.task().kind() }

// PerToken reports whether each token has a label and logits.
func (c *Config) PerToken() bool { return c.Kind() == Tags }

// MasksTokens reports whether the model predicts masked tokens, and nothing for a whole sequence.
func (c *Config) MasksTokens() bool { return c.Kind() == MaskedTokens }

// IsMultiLabel reports whether the model predicts any number of labels of a row.
func (c *Config) IsMultiLabel() bool { return c.Kind() == Labels }

// Logits returns the logits of a prediction from the outputs of the head, which it may overwrite.
func (c *Config) Logits(head []float32) []float32 { return c.task().logits(c, head) }

// IsRegression reports whether the model predicts numbers.
func (c *Config) IsRegression() bool { return c.Numbers != nil }

// LogitCount returns the number of logits of the output for an example.
func (c *Config) LogitCount(e seq.Example) int {
	if c.PerToken() {
		return e.First() * c.NumLabels
	}
	return c.NumLabels
}

// CheckHasPredictions returns an error if the model predicts only masked tokens.
func (c *Config) CheckHasPredictions() error {
	if c.MasksTokens() {
		return fmt.Errorf("a model of the task %s predicts masked tokens, not whole sequences", c.Task)
	}
	return nil
}
