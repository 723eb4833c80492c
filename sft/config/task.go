package config

import (
	"fmt"
	"maps"
	"slices"

	"github.com/sftseq/sftseq/seq"
)

// task is what the configuration of a model follows from its [Config.Task].
type task interface {
	// sequences is how many an example has. They share the encoder.
	sequences() int
	// describe sets what data decide of the vocabulary's size and of the answers, or reports
	// what they lack.
	describe(c *Config, s seq.Spec) error
	// validate reports a configuration that no model of the task can have.
	validate(c *Config) error
	// check reports an example that such a model cannot learn.
	check(c *Config, e seq.Example) error
	taskTraits
}

// taskTraits are the differences between tasks that [ofRows] has for most.
type taskTraits interface {
	// perToken reports whether each token has a label and logits.
	perToken() bool
	// pools reports whether the head reads one row of a sequence, pooled of those of its tokens.
	pools() bool
	// masksTokens reports whether training predicts masked tokens.
	masksTokens() bool
	// takesFeatures reports whether tokens may have features in place of ids.
	takesFeatures() bool
	// isMultiLabel reports whether a row has any number of labels.
	isMultiLabel() bool
	// hasTemperature reports whether logits are divided by a temperature.
	hasTemperature() bool
	// headOperations counts the multiply-adds of the head for each token of a sequence.
	headOperations(c *Config, length int) float64
}

// ofRows are the traits of a task with a label, or several, of a whole row.
type ofRows struct{}

func (ofRows) perToken() bool { return false }

func (ofRows) pools() bool { return true }

func (ofRows) masksTokens() bool { return false }

func (ofRows) takesFeatures() bool { return true }

func (ofRows) isMultiLabel() bool { return false }

func (ofRows) hasTemperature() bool { return true }

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

// PerToken reports whether each token has a label and logits.
func (c *Config) PerToken() bool { return c.task().perToken() }

// MasksTokens reports whether the model predicts masked tokens, and answers nothing for a whole sequence.
func (c *Config) MasksTokens() bool { return c.task().masksTokens() }

// IsMultiLabel reports whether the model predicts any number of labels of a row.
func (c *Config) IsMultiLabel() bool { return c.task().isMultiLabel() }

// IsRegression reports whether the model predicts numbers.
func (c *Config) IsRegression() bool { return c.Numbers != nil }

// LogitCount is how many logits the output for an example has.
func (c *Config) LogitCount(e seq.Example) int {
	if c.PerToken() {
		return e.First() * c.NumLabels
	}
	return c.NumLabels
}

// CheckAnswers reports that a model has no answer to a whole sequence.
func (c *Config) CheckAnswers() error {
	if c.MasksTokens() {
		return fmt.Errorf("a model of the task %s tells masked tokens: it has no answer to a whole sequence", c.Task)
	}
	return nil
}
