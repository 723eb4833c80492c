package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/tokenizers"
)

// exportedTokenizer returns the tokenizer of a model directory in the format of Hugging Face's
// tokenizer.json. It returns nil for models of features, models without a tokenizer or its file, and
// tokenizers other than words and Hugging Face's.
func exportedTokenizer(c *sft.Config, dir string) ([]byte, error) {
	if c.Tokenizer == nil || c.HasFeatures() {
		return nil, nil
	}
	t, err := tokenizers.Open(c.Tokenizer, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // the model has no tokenizer file and reads ids
	}
	if err != nil {
		return nil, err
	}
	switch t := t.(type) {
	case *tokenizers.Words:
		return t.TokenizerJSON()
	case *tokenizers.HF:
		return os.ReadFile(filepath.Join(dir, tokenizers.FileName))
	}
	return nil, nil
}
