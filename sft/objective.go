package sft

import (
	"fmt"
	"maps"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
)

// objective is what a model is trained for, chosen by [Config.Task].
type objective interface {
	// sequences is how many an example has. They share the encoder.
	sequences() int
	// describe sets what data decide of the vocabulary's size and of the answers, or reports
	// what they lack.
	describe(c *Config, s seq.Spec) error
	// validate reports a configuration that no model of the objective can have.
	validate(c *Config) error
	// settings reports what such a model cannot be trained with, and sets what follows
	// from the objective.
	settings(c *Config, s *Settings) error
	// check reports an example that such a model cannot learn.
	check(c *Config, e seq.Example) error
	// pack adds the labels of an example to a batch, before its tokens, and returns the tokens that are read of its
	// first sequence.
	pack(p *packed, c *Config, e seq.Example, d drawing) (tokens []int32)

	// parameters are those behind the layers, which readout and head record.
	parameters(c *Config) []Parameter
	readout(m *emitter, p *recordedPass) readout
	head(m *emitter) head
	// loss records the loss of the pass's logits, and returns the gradient of its sum.
	loss(m *emitter, p *recordedPass) (dlogits *tensor.Tensor)
	// read returns how many rows of pooled sequences and of logits are results of a pass.
	read(p *recordedPass, b *packed) (pooled, logits int)
	// divisor is what the sum over a batch is divided by.
	divisor(c *Config, batch []seq.Example, d drawing) int
	// weight is the factor of the loss of an example.
	weight(s *Settings, e seq.Example) float64

	// evaluation is the mode of the passes that measure a split.
	evaluation() passMode
	// measure begins the measurement of a split.
	measure(c *Config, s *Settings) measurement

	traits
}

// traits are what objectives differ in that read and label whole rows. [ofRows] has those of most.
type traits interface {
	// perToken reports whether each token has a label and logits.
	perToken() bool
	// pools reports whether the head reads one row of a sequence, pooled of those of its tokens.
	pools() bool
	// masksTokens reports whether training predicts masked tokens.
	masksTokens() bool
	// takesFeatures reports whether tokens may have features in place of ids.
	takesFeatures() bool
	// targetCapacity is the number of tokens with a loss for which a pass has room.
	targetCapacity(c *Config, tokens, sequences int) int
	// lossFactors are those of a scale and of the weights of classes or labels.
	lossFactors(c *Config, scale float64, weight []float64) lossFactors
	// weigh multiplies losses by the weights of labels, if the loss kernel has not.
	weigh(b *packed, losses []float32, weight []float64)
	// hasTemperature reports whether logits are divided by a temperature.
	hasTemperature() bool
	// outputs are what a scorer returns of the logits of a pass, which it may change. Of classes their softmax has the
	// probabilities and their maximum is the prediction, of labels the sigmoid has them.
	outputs(c *Config, logits []float32) []float32
	// headOperations counts the multiply-adds of the head for each token of a sequence.
	headOperations(c *Config, length int) float64
	// numbers are the predictions in the units of the data; nil for none.
	numbers(c *Config, logits []float32) []float32
	// columnNames is the key of a record's metadata with the names of the logits.
	columnNames(c *Config) (key string, names []string)
	// adopt has a new model continue with the head of another.
	adopt(m *Model, source *Config)
}

// ofRows are the traits of an objective with a label, or several, of a whole row.
type ofRows struct{}

func (ofRows) perToken() bool { return false }

func (ofRows) pools() bool { return true }

func (ofRows) masksTokens() bool { return false }

func (ofRows) takesFeatures() bool { return true }

func (ofRows) targetCapacity(*Config, int, int) int { return 0 }

func (ofRows) lossFactors(c *Config, scale float64, weight []float64) lossFactors {
	return lossFactors{scale: lossScales(c.NumLabels, scale, weight)}
}

func (ofRows) hasTemperature() bool { return true }

func (ofRows) outputs(c *Config, logits []float32) []float32 { return c.calibrated(logits) }

func (ofRows) weigh(*packed, []float32, []float64) {}

// headOperations has two for the pooling.
func (ofRows) headOperations(c *Config, length int) float64 {
	d := float64(c.HiddenSize)
	head := 2*d + d*float64(c.NumLabels)/float64(length)
	if c.Sequences() == 2 {
		head += 4 * d * d / float64(length)
	}
	return head
}

func (ofRows) numbers(*Config, []float32) []float32 { return nil }

func (ofRows) columnNames(c *Config) (key string, names []string) {
	return seq.KeyLabelNames, c.LabelNames
}

func (ofRows) adopt(*Model, *Config) {}

// read has a row of each for every sequence and example.
func (ofRows) read(_ *recordedPass, b *packed) (pooled, logits int) {
	return len(b.example), int(b.counts.Examples)
}

// HeadOperations counts the multiply-adds of the head for each token of a sequence.
func (c *Config) HeadOperations(length int) float64 { return c.objective().headOperations(c, length) }

// answering is an objective whose models answer an example with logits, one for each of
// [Config.NumLabels], or as many for each token.
type answering interface {
	objective
	// columns are those of answers in a record, and append appends one.
	columns(c *Config) []arrow.Field
	append(c *Config, b *array.RecordBuilder, logits []float32)
	// mean is the answer of an ensemble to an example, of the logits of each model.
	mean(c *Config, logits [][]float32) []float32
}

// labelling is an objective whose answers are labels.
type labelling interface {
	answering
	// answered reports whether an answer is right.
	answered(logits []float32, e seq.Example) bool
}

// readout turns the rows of tokens, the last layer's, into those that the head reads, and
// back their gradients.
type readout interface {
	forward(x *tensor.Tensor) *tensor.Tensor
	backward(dy *tensor.Tensor) (dx *tensor.Tensor)
}

// head turns rows into logits, and back their gradients.
type head interface {
	forward(rows *tensor.Tensor) (logits *tensor.Tensor)
	backward(dlogits *tensor.Tensor) (drows *tensor.Tensor)
}

// measurement adds up what passes of an evaluation say of examples, and says what it comes
// to: of each example its logits, or of passes in lossMode its loss.
type measurement interface {
	add(x []float32, e seq.Example)
	report(r *EvaluationReport)
}

var objectives = map[string]objective{
	Classification: classification{},
	Retrieval:      retrieval{},
	FillMask:       fillMask{},
	Regression:     regression{},
	MultiLabel:     multiLabel{},
	Tagging:        tagging{},
}

// Tasks are the values of [Config.Task].
func Tasks() []string { return slices.Sorted(maps.Keys(objectives)) }

// objective is that of the task, which [Config.Validate] has found to be one.
func (c *Config) objective() objective {
	o, ok := objectives[c.Task]
	if !ok {
		panic(fmt.Sprintf("sft: no objective for the task %q: the configuration was not validated", c.Task))
	}
	return o
}

// Sequences is how many sequences an example of the model has: two are a pair, which
// shares one encoder. It panics for a task that [Config.Validate] refuses.
func (c *Config) Sequences() int { return c.objective().sequences() }

// answers is how many numbers the answer to an example has, where all have as many.
func (c *Config) answers() int {
	if _, ok := c.objective().(answering); ok && !c.objective().perToken() {
		return c.NumLabels
	}
	return 0
}

// answering is the objective of a model that is asked for answers.
func (c *Config) answering() (answering, error) {
	if a, ok := c.objective().(answering); ok {
		return a, nil
	}
	return nil, fmt.Errorf("a model of the task %s tells masked tokens: it has no answer to a whole sequence", c.Task)
}
