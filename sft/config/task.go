package config

import (
	"fmt"
	"maps"
	"slices"

	"github.com/sftseq/sftseq/seq"
)

// task is what the configuration of a model follows from its [Config.Task].
type task interface {
	// describe sets what data decide of the vocabulary's size and of the answers, or reports
	// what they lack.
	describe(c *Config, s seq.Spec) error
	// validate reports a configuration that no model of the task can have.
	validate(c *Config) error
	// check reports an example that such a model cannot learn.
	check(c *Config, e seq.Example) error
	taskTraits
}

// taskTraits are the differences between tasks. [ofRows] has those of classification.
type taskTraits interface {
	kind() Kind
	// sequences is the number of sequences of an example. They share the encoder.
	sequences() int
	// takesFeatures reports whether tokens may have features in place of ids.
	takesFeatures() bool
	// headOperations counts the multiply-adds of the head for each token of a sequence.
	headOperations(c *Config, length int) float64
	// loss is that of a row of logits, and targets are the numbers that it compares them with; nil for [CrossEntropy],
	// which has the label.
	loss() Loss
	targets(c *Config, e seq.Example) []float32
	// logits are those of a prediction by the outputs of the head, which they may replace.
	logits(head []float32) []float32
}

// Kind is the kind of a model's predictions. Code that reads predictions depends on the kind, which several tasks may
// have.
type Kind string

// The kinds of predictions.
const (
	Classes      Kind = "classes"       // one class for a row: the softmax of its logits is the probabilities
	Labels       Kind = "labels"        // any number of labels for a row: the sigmoid of a logit is a probability
	Numbers      Kind = "numbers"       // numbers for a row
	Tags         Kind = "tags"          // one label for each token
	MaskedTokens Kind = "masked tokens" // nothing for a whole row
)

// ofRows are the traits of a task of one class for a row.
type ofRows struct{}

func (ofRows) kind() Kind { return Classes }

func (ofRows) sequences() int { return 1 }

func (ofRows) takesFeatures() bool { return true }

func (ofRows) loss() Loss { return CrossEntropy }

func (ofRows) targets(*Config, seq.Example) []float32 { return nil }

func (ofRows) logits(head []float32) []float32 { return head }

// headOperations has two for the pooling.
func (ofRows) headOperations(c *Config, length int) float64 {
	d := float64(c.HiddenSize)
	head := 2*d + d*float64(c.NumLabels)/float64(length)
	if c.Sequences() == 2 {
		head += 4 * d * d / float64(length)
	}
	return head
}

// HeadOperations counts the multiply-adds of the head for each token of a sequence.
func (c *Config) HeadOperations(length int) float64 { return c.task().headOperations(c, length) }

var tasks = map[string]task{
	Classification: classification{},
	Retrieval:      retrieval{},
	FillMask:       fillMask{},
	Regression:     regression{},
	MultiLabel:     multiLabel{},
	Tagging:        tagging{},
}

// Tasks are the values of [Config.Task].
func Tasks() []string { return slices.Sorted(maps.Keys(tasks)) }

// task is that of the key, which [Config.Validate] has found to be one.
func (c *Config) task() task {
	t, ok := tasks[c.Task]
	if !ok {
		panic(fmt.Sprintf("sft: no objective for the task %q: the configuration was not validated", c.Task))
	}
	return t
}

// Sequences is how many sequences an example of the model has: two are a pair, which
// shares one encoder. It panics for a task that [Config.Validate] refuses.
func (c *Config) Sequences() int { return c.task().sequences() }

// Kind is the kind of the model's predictions.
func (c *Config) Kind() Kind { return c.task().kind() }

// PerToken reports whether each token has a label and logits.
func (c *Config) PerToken() bool { return c.Kind() == Tags }

// MasksTokens reports whether the model predicts masked tokens, and nothing for a whole sequence.
func (c *Config) MasksTokens() bool { return c.Kind() == MaskedTokens }

// IsMultiLabel reports whether the model predicts any number of labels of a row.
func (c *Config) IsMultiLabel() bool { return c.Kind() == Labels }

// Logits returns the logits of a prediction by the outputs of the head, which it may overwrite.
func (c *Config) Logits(head []float32) []float32 { return c.task().logits(head) }

// IsRegression reports whether the model predicts numbers.
func (c *Config) IsRegression() bool { return c.Numbers != nil }

// LogitCount is how many logits the output for an example has.
func (c *Config) LogitCount(e seq.Example) int {
	if c.PerToken() {
		return e.First() * c.NumLabels
	}
	return c.NumLabels
}

// CheckAnswers reports that a model does not predict whole sequences.
func (c *Config) CheckAnswers() error {
	if c.MasksTokens() {
		return fmt.Errorf("a model of the task %s predicts masked tokens, not whole sequences", c.Task)
	}
	return nil
}
