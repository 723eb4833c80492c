package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/sftseq/sftseq/internal/task"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// sameFeatures returns an error if a file's feature names differ from the model's.
func sameFeatures(c *sft.Config, names []string) error {
	if slices.Equal(names, c.FeatureNames) {
		return nil
	}
	return fmt.Errorf("the features of its tokens are %q, the model's %q", names, c.FeatureNames)
}

// fits returns an error if a file's declared properties do not match the model. Undeclared
// properties are checked row by row.
func fits(c *sft.Config, s *seq.Spec) error {
	if len(s.TokenColumns()) != c.Sequences() {
		return fmt.Errorf("its task is %s, the model's is %s", s.Task, c.Task)
	}
	if err := sameFeatures(c, s.FeatureNames); err != nil {
		return err
	}
	if err := c.SameEdges(s.EdgeFeatureNames); err != nil {
		return err
	}
	if err := sameTokens(c, s); err != nil {
		return err
	}
	return task.Of(c).CheckLabels(s)
}

// checkRows returns an error if a model cannot read the rows, or if they have no targets to
// evaluate predictions.
func checkRows(c *sft.Config, s *seq.Spec, path, model string) error {
	if err := fits(c, s); err != nil {
		return fmt.Errorf("%s does not fit the model %s: %w", path, model, err)
	}
	return task.Of(c).RequireLabels(s, path)
}

// sameTokens returns an error if a file's token ids differ from the model's.
func sameTokens(c *sft.Config, s *seq.Spec) error {
	if s.VocabSize != 0 && s.VocabSize != c.DataVocabSize() {
		err := fmt.Errorf("its vocabulary has %d tokens, the model's %d", s.VocabSize, c.DataVocabSize())
		if differs := sameTokenizer(s.Tokenizer, c.Tokenizer); differs != nil {
			err = fmt.Errorf("%w: %w", err, differs)
		}
		return err
	}
	return sameTokenizer(s.Tokenizer, c.Tokenizer)
}

// takeTokenizer is advice on how to convert data with a model's tokenizer.
const takeTokenizer = " (use the model's tokenizer with data convert --tokenizer from:MODEL)"

// sameTokenizer returns an error if the tokenizers of a file and a model differ. nil means unknown.
func sameTokenizer(file, model json.RawMessage) error {
	if file == nil || model == nil {
		return nil
	}
	var have, want map[string]any
	if err := json.Unmarshal(file, &have); err != nil {
		return err
	}
	if err := json.Unmarshal(model, &want); err != nil {
		return err
	}
	switch {
	case have["type"] != want["type"]:
		return fmt.Errorf("its tokenizer is %v, the model's is %v%s", have["type"], want["type"], takeTokenizer)
	case !reflect.DeepEqual(have, want):
		return fmt.Errorf("its tokenizer, %v, differs from the model's in its training rows or settings, so token "+
			"ids have other meanings%s", have["type"], takeTokenizer)
	}
	return nil
}
