package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/sftseq/sftseq/internal/jsonlines"
	"github.com/sftseq/sftseq/internal/task"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// checkFeatures returns an error if a file's feature names differ from the model's.
func checkFeatures(c *sft.Config, names []string) error {
	if slices.Equal(names, c.FeatureNames) {
		return nil
	}
	return fmt.Errorf("the features of its tokens are %s, the model's %s", jsonlines.QuoteNames(names),
		jsonlines.QuoteNames(c.FeatureNames))
}

// checkFit returns an error if the properties that a file declares do not match the model.
// Properties that are not declared are checked row by row.
func checkFit(c *sft.Config, s *seq.Spec) error {
	if len(s.TokenColumns()) != c.Sequences() {
		return fmt.Errorf("its task is %s, the model's is %s", s.Task, c.Task)
	}
	if err := checkFeatures(c, s.FeatureNames); err != nil {
		return err
	}
	if err := c.SameEdges(s.EdgeFeatureNames); err != nil {
		return err
	}
	if err := checkTokens(c, s); err != nil {
		return err
	}
	return task.Of(c).CheckLabels(s)
}

// checkRows returns an error if a model cannot read the rows, or if the model predicts tags or numbers and
// the rows have none. The labels of other models are checked row by row.
func checkRows(c *sft.Config, s *seq.Spec, path, model string) error {
	if err := checkFit(c, s); err != nil {
		return fmt.Errorf("%s does not fit the model %s: %w", path, model, err)
	}
	return task.Of(c).RequireLabels(s, path)
}

// checkTokens returns an error if a file's vocabulary size or tokenizer differs from the model's.
func checkTokens(c *sft.Config, s *seq.Spec) error {
	if err := checkTokenizer(s.Tokenizer, c.Tokenizer); err != nil {
		return err
	}
	if s.VocabSize != 0 && s.VocabSize != c.DataVocabSize() {
		return fmt.Errorf("expected a vocabulary of %d tokens, found %d", c.DataVocabSize(), s.VocabSize)
	}
	return nil
}

// tokenizerAdvice is advice on how to convert data with a model's tokenizer.
const tokenizerAdvice = " (use the model's tokenizer with data convert --tokenizer from:MODEL)"

// checkTokenizer returns an error if the tokenizers of a file and a model differ. A nil tokenizer
// is unknown and matches every tokenizer.
func checkTokenizer(file, model json.RawMessage) error {
	if file == nil || model == nil {
		return nil
	}
	var fileSpec, modelSpec map[string]any
	if err := json.Unmarshal(file, &fileSpec); err != nil {
		return err
	}
	if err := json.Unmarshal(model, &modelSpec); err != nil {
		return err
	}
	switch {
	case fileSpec["type"] != modelSpec["type"]:
		return fmt.Errorf("expected the tokenizer %v, found %v%s", modelSpec["type"], fileSpec["type"], tokenizerAdvice)
	case !reflect.DeepEqual(fileSpec, modelSpec):
		return fmt.Errorf("its %v tokenizer has another vocabulary or other settings than the model's, so the token "+
			"ids differ%s", fileSpec["type"], tokenizerAdvice)
	}
	return nil
}
