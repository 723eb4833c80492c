package linear

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/sftseq/sftseq/internal/jsonlines"
	"github.com/sftseq/sftseq/internal/ngram"
	"github.com/sftseq/sftseq/internal/pairs"
	"github.com/sftseq/sftseq/seq"
)

// ModelType is the model_type of a linear model's config.json.
const ModelType = "linear"

// Config is the content of config.json: the definition of a model except its tensors.
type Config struct {
	ModelType  string          `json:"model_type"` // "linear"
	Task       string          `json:"task"`       // classification, retrieval, multi-label or regression
	VocabSize  int             `json:"vocab_size"`
	PadTokenID *int32          `json:"pad_token_id"` // null means that every id is a token
	Tokenizer  json.RawMessage `json:"tokenizer"`
	NGrams     ngram.Options   `json:"ngrams"`
	Pairs      *pairs.Config   `json:"pairs,omitempty"` // comparison of the sides of a pair; nil means only n-grams
	LabelNames []string        `json:"label_names,omitempty"`
	Numbers    []Number        `json:"numbers,omitempty"` // targets of a regression
	Extra      json.RawMessage `json:"extra,omitempty"`   // provenance in any form
}

// Number is a number that a regression predicts. Training standardises it.
type Number struct {
	Name      string  `json:"name"`
	Mean      float64 `json:"mean"`
	Deviation float64 `json:"deviation"`
}

// Outputs returns the number of classes, labels or numbers.
func (c *Config) Outputs() int { return max(len(c.LabelNames), len(c.Numbers)) }

// columns returns the number of weight vectors: 1 for two classes, otherwise the number of outputs.
func (c *Config) columns() int {
	if n := c.Outputs(); n != 2 || c.Task == seq.MultiLabel || c.Task == seq.Regression {
		return n
	}
	return 1
}

// Memory returns the memory of n-grams in bytes for a model with this number of features: 8 per
// feature and column, 2 bits per slot, and 2 MiB for the set of frequent n-grams if MinCount is above 1.
func (c *Config) Memory(features int) int64 {
	bytes := 8*int64(features)*int64(c.columns()) + int64(c.NGrams.Slots)/4
	if c.NGrams.MinCount > 1 {
		bytes += ngram.Cells / 8
	}
	return bytes
}

// MaxColumns is the maximum number of weight vectors. It limits their memory.
const MaxColumns = 256

// maxTable limits slots times columns. Training takes up to 24 bytes per slot and column, and 48 for
// a regression.
const maxTable = 1 << 26

// tasks lists the tasks of linear models.
const tasks = "classification, retrieval, multi-label or regression"

// Suited returns an error if linear models do not support the data.
func Suited(s *seq.Spec) error {
	switch n := len(s.LabelNames); {
	case s.FeatureNames != nil:
		return errors.New("a linear model of n-grams: expected tokens, found features")
	case s.Task == seq.Regression:
		if n := len(s.NumberNames); n > MaxColumns {
			return fmt.Errorf("a linear model predicts at most %d numbers, found %d", MaxColumns, n)
		}
		return nil
	case s.Task != seq.Classification && s.Task != seq.Retrieval && s.Task != seq.MultiLabel:
		return fmt.Errorf("a linear model expects the task %s, found %s", tasks, s.Task)
	case n > MaxColumns || n < 2 && s.Task != seq.MultiLabel || n < 1:
		return fmt.Errorf("a linear model expects 2 to %d labels, found %d (multi-label: at least 1)", MaxColumns, n)
	}
	return nil
}

// NewConfig returns the configuration of a model for data. It reduces the slots of the options if
// columns times slots would take too much memory.
func NewConfig(s *seq.Spec, o ngram.Options) (*Config, error) {
	if err := Suited(s); err != nil {
		return nil, err
	}
	c := &Config{
		ModelType: ModelType, Task: s.Task, VocabSize: s.VocabSize, PadTokenID: s.PadID, Tokenizer: s.Tokenizer,
		LabelNames: s.LabelNames,
	}
	for _, name := range s.NumberNames {
		c.Numbers = append(c.Numbers, Number{name, 0, 1})
	}
	for o.Slots > ngram.MinSlots && o.Slots*c.columns() > maxTable {
		o.Slots /= 2
	}
	c.NGrams = o
	if s.Task == seq.Retrieval {
		c.Pairs = pairs.NewConfig(o.Units)
	}
	return c, c.Validate()
}

// maxConfigBytes is the maximum size of a config.json.
const maxConfigBytes = 16 << 20

// ParseConfig decodes and checks the text of a config.json.
func ParseConfig(text []byte) (*Config, error) {
	c := &Config{}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(c); err != nil {
		return nil, fmt.Errorf("expected the JSON object of a linear model: %w", jsonlines.TypeError(err))
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("expected one JSON object, found more after it")
	}
	return c, c.Validate()
}

// Validate returns an error for the first key with an unsupported value.
func (c *Config) Validate() error {
	if c.ModelType != ModelType {
		return fmt.Errorf("model_type: expected %s, found %q", ModelType, c.ModelType)
	}
	if c.VocabSize < 1 {
		return fmt.Errorf("vocab_size: expected at least 1, found %d", c.VocabSize)
	}
	n := len(c.LabelNames)
	switch c.Task {
	case seq.Classification, seq.Retrieval:
		if n < 2 || n > MaxColumns {
			return fmt.Errorf("label_names: expected 2 to %d, found %d", MaxColumns, n)
		}
	case seq.MultiLabel:
		if n < 1 || n > MaxColumns {
			return fmt.Errorf("label_names: expected 1 to %d, found %d", MaxColumns, n)
		}
	case seq.Regression:
		if len(c.Numbers) < 1 || len(c.Numbers) > MaxColumns {
			return fmt.Errorf("numbers: expected 1 to %d, found %d", MaxColumns, len(c.Numbers))
		}
	default:
		return fmt.Errorf("task: expected %s, found %q", tasks, c.Task)
	}
	if c.Task == seq.Regression && n > 0 {
		return fmt.Errorf("label_names: expected none for task %s, found %d", c.Task, n)
	}
	if c.Task != seq.Regression && c.Numbers != nil {
		return fmt.Errorf("numbers: expected none for task %s, found %d", c.Task, len(c.Numbers))
	}
	for i, v := range c.Numbers {
		if v.Name == "" || slices.ContainsFunc(c.Numbers[:i], func(o Number) bool { return o.Name == v.Name }) {
			return fmt.Errorf("numbers: expected distinct non-empty names, found %q in entry %d", v.Name, i+1)
		}
		if !(v.Deviation > 0) || math.IsInf(v.Deviation, 0) || math.IsNaN(v.Mean) || math.IsInf(v.Mean, 0) {
			const format = "numbers: %s: expected a mean and a positive deviation, found %v and %v"
			return fmt.Errorf(format, v.Name, v.Mean, v.Deviation)
		}
	}
	if err := c.NGrams.Validate(); err != nil {
		return fmt.Errorf("ngrams: %w", err)
	}
	if c.Pairs != nil {
		if c.Task != seq.Retrieval {
			return fmt.Errorf("pairs: expected none for task %s", c.Task)
		}
		if err := c.Pairs.Validate(); err != nil {
			return fmt.Errorf("pairs: %w", err)
		}
	}
	if n := c.columns(); c.NGrams.Slots > maxTable/n {
		return fmt.Errorf("ngrams: slots: expected at most %d for %d columns, found %d", maxTable/n, n, c.NGrams.Slots)
	}
	return nil
}
