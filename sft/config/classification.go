package config

import (
	"fmt"

	"github.com/sftseq/sftseq/seq"
)

// classification is the task of predicting one class for a sequence.
type classification struct{ defaultTraits }

func (classification) describe(c *Config, s seq.Spec) error {
	if sequences := len(s.TokenColumns()); sequences != c.Sequences() {
		return &Error{"task", c.Task, []string{1: "a task for single sequences", 2: "a task for pairs"}[sequences]}
	}
	if s.ListsLabels() && c.Task != s.Task {
		return &Error{"task", c.Task, s.Task + ", the task of the data set"}
	}
	if len(s.LabelNames) == 0 {
		return ErrNoLabels
	}
	c.LabelNames, c.NumLabels = s.LabelNames, len(s.LabelNames)
	c.Numbers, c.RegressionLoss = nil, "" // c may come from a regression
	c.Masking = Masking{}                 // c may come from a model of masked tokens
	return nil
}

func (classification) check(c *Config, e seq.Example) error {
	if e.Label < 0 || int(e.Label) >= c.NumLabels {
		return fmt.Errorf("label %d, expected 0 to %d", e.Label, c.NumLabels-1)
	}
	return nil
}

func (classification) validate(c *Config) error {
	if c.MaskTargets != nil {
		return &Error{"mask_targets", SpectrumTargets, "none for task " + c.Task}
	}
	if c.TieEmbeddings {
		return &Error{"tie_embeddings", "true",
			"false, because the output layer of task " + c.Task + " does not have one row per token"}
	}
	return nil
}

// retrieval is the task of predicting one class for a pair of sequences.
type retrieval struct{ classification }

func (retrieval) sequences() int { return 2 }

func (retrieval) supportsFeatures() bool { return false }
