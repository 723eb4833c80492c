package lra

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/train"
)

// ListOps is the task of evaluating a nested expression of minima, maxima, medians and sums modulo
// 10. The value is from 0 to 9.
var ListOps = &Task{
	Name:        "listops",
	Description: "The value of nested list operations (MIN, MAX, MED, SM) over digits, in prefix notation.",
	Kind:        seq.Classification,
	Tokenizer:   json.RawMessage(`{"type":"listops"}`),
	Labels:      strings.Split("0123456789", ""),
	Presets:     []*Preset{listOpsQuick, listOpsHour, listOpsPaper},
	Generator: &Generator{
		Usage: "generate ListOps with the rules of the Long Range Arena",
		Description: `Draws expressions of nested MIN, MAX, MED and SM with their values. The same
seed and rule produce the same files on every machine. The default is the rule of
the Long Range Arena: more than 500 and fewer than 2000 tokens.`,
		Example: "sftseq data generate listops --out data/listops --train 96000 --seed 1",
		Rule:    func() Rule { rule := LRAListOps; return &rule },
	},
	Import: &Importer{
		Usage: "convert basic_train.tsv, basic_val.tsv, basic_test.tsv",
		Description: `Reads the official files, plain or compressed. From a directory all three are
converted. A single file becomes one split, the test split unless --split names
another, and is added to an existing data set. Each row's value is computed and
compared with the stated value.`,
		Example:  "sftseq data convert listops --from lra_release/listops-1000 --to data/listops",
		Verifies: true,
		convert:  convertListOps,
	},
}

// operatorProbability is the probability that a node is an operator, if the depth allows operators.
const operatorProbability = 0.25

// ListOpsRule determines which expressions are drawn and which of them are kept.
type ListOpsRule struct {
	MinLength int `json:"min_length"` // in tokens; expressions must be longer
	MaxLength int `json:"max_length"` // in tokens; expressions must be shorter
	MaxDepth  int `json:"max_depth"`  // operators occur at depths 1 … MaxDepth−1
	MaxArgs   int `json:"max_args"`   // an operator has 2 … MaxArgs arguments

	Train *ListOpsRule `json:"-"` // rule of the training split; nil means this rule
}

// LRAListOps is the rule of the Long Range Arena.
var LRAListOps = ListOpsRule{MinLength: 500, MaxLength: 2000, MaxDepth: 10, MaxArgs: 10}

// Options returns the parameters of the rule, without Train.
func (r *ListOpsRule) Options() []Option {
	return []Option{
		{Name: "min-length", Usage: "keep expressions of more than `N` tokens", Value: &r.MinLength},
		{Name: "max-length", Usage: "keep expressions of fewer than `N` tokens", Value: &r.MaxLength},
		{Name: "max-depth", Usage: "draw trees of at most `N` levels, including the digits", Value: &r.MaxDepth},
		{Name: "max-args", Usage: "limit operators to `N` arguments", Value: &r.MaxArgs},
	}
}

// Validate returns an error if the rule allows no expression, or too large expressions.
func (r *ListOpsRule) Validate() error {
	switch {
	case r.MinLength < 0 || r.MaxLength > 1<<20 || r.MinLength+1 >= r.MaxLength:
		return fmt.Errorf("lengths: expected 0 ≤ minimum, minimum + 1 < maximum ≤ %d, found %d and %d", 1<<20,
			r.MinLength, r.MaxLength)
	case r.MaxDepth < 2 || r.MaxDepth > 64:
		return fmt.Errorf("depth: expected 2 to 64, found %d", r.MaxDepth)
	case r.MaxArgs < 2 || r.MaxArgs > 100:
		return fmt.Errorf("arguments: expected 2 to 100, found %d", r.MaxArgs)
	}
	// The largest tree has MaxArgs^(MaxDepth−1) digits, and fewer operators, which take two tokens each.
	if longest := math.Pow(float64(r.MaxArgs), float64(r.MaxDepth-1)) * 3; longest <= float64(r.MinLength) {
		return fmt.Errorf("lengths above %d cannot be reached with depth %d and at most %d arguments",
			r.MinLength, r.MaxDepth, r.MaxArgs)
	}
	if r.Train != nil {
		if err := r.Train.Validate(); err != nil {
			return fmt.Errorf("training split: %w", err)
		}
	}
	return nil
}

// listOpsPaper is the published configuration.
var listOpsPaper = &Preset{
	Name:        "paper",
	Description: "published: 6 layers of 128 channels, 96,000 expressions, 50 epochs",
	Config: modified(encoderConfig(6, 128, 512, 256), func(c *sft.Config) {
		c.EmbeddingDropout,
			c.FeedForward = 0.1, 0.2
	}),
	Settings: paperSettings(50, 64, 0.01),
	Data:     GenerateOptions{Train: 96000, Val: 2000, Test: 2000, Seed: 1},
	DataName: "listops-lra-1",
}

// listOpsWithShort adds shorter expressions to the training split.
var listOpsWithShort = &ListOpsRule{MinLength: 500, MaxLength: 2000, MaxDepth: 10, MaxArgs: 10,
	Train: &ListOpsRule{MinLength: 40, MaxLength: 2000, MaxDepth: 10, MaxArgs: 10}}

// listOpsQuick trains on the shortest expressions first. Their steps are cheap, and the model soon
// learns to find the operator at the root. Training continues with longer expressions,
// and finally with all lengths. The validation and test splits follow the rule of the Long Range
// Arena.
var listOpsQuick = &Preset{
	Name:        "quick",
	Description: "a small model, on short expressions first",
	Config:      listOpsQuickConfig(),
	Settings: modified(cosineSettings(1, 0.01), func(s *train.Settings) {
		s.Steps, s.EvalEvery = 14000, 3500
		s.Stages = []train.Stage{{Steps: 8000, Length: 160}, {Steps: 3000, Length: 400}, {Steps: 1500, Length: 1000}}
	}),
	// One training expression in ten is short enough for the first stage. With fewer short
	// expressions, the model would overfit.
	Data:     GenerateOptions{Train: 600000, Val: 2000, Test: 2000, Seed: 1, Rule: listOpsWithShort},
	DataName: "listops-quick-2",
	Result:   &Result{51.10, "operator at the root", 35.60, 11},
}

func listOpsQuickConfig() sft.Config {
	c := encoderConfig(4, 64, 128, 32)
	c.Convolutions = []config.Convolution{{KernelSize: 5, Dilation: 1}}
	c.MovingAverages = 4
	return c
}

// listOpsHour has more layers, for nested operators. It trains on more expressions, for about the
// same number of epochs.
var listOpsHour = &Preset{
	Name:        "hour",
	Description: "a deeper model, on more expressions",
	Config:      modified(listOpsQuickConfig(), func(c *sft.Config) { c.NumLayers = 6 }),
	Settings: modified(cosineSettings(1, 0.01), func(s *train.Settings) {
		s.Steps, s.EvalEvery = 31500, 3500
		s.Stages = []train.Stage{{Steps: 20000, Length: 160}, {Steps: 6000, Length: 400}, {Steps: 3000, Length: 1000}}
	}),
	Data:     GenerateOptions{Train: 1500000, Val: 2000, Test: 2000, Seed: 1, Rule: listOpsWithShort},
	DataName: "listops-hour-1",
	Result:   &Result{55.35, "operator at the root", 35.60, 33},
}
