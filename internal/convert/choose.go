package convert

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sftseq/sftseq/internal/table"
	"github.com/sftseq/sftseq/tokenizers"
)

// Limits on the number and the total bytes of the texts for choosing a tokenizer. The texts come from
// the first rows of the first table, or from files spread over the first folder.
const (
	sampleRows  = 2000
	sampleBytes = 8 << 20
)

// chooseTokenizer sets options.Tokenizer to a tokenizer that suits the first texts. It chooses the byte
// tokenizer for input that can be read only once, and if no text can be used.
func (c *converter) chooseTokenizer(ctx context.Context) error {
	choice := tokenizers.Choice{Name: "byte", Spec: []byte(`{"type":"byte"}`),
		Reason: "standard input and pipes are read only once, so nothing can be learned from them"}
	if path := c.options.From[0]; !table.ReadOnce(path) {
		texts, err := c.sample(ctx, path)
		if err != nil {
			return err
		}
		switch {
		case len(texts) > 0:
			choice = tokenizers.Choose(texts)
		case len(c.options.From) == 1: // no row can be used: the conversion reports the reasons
			c.options.Tokenizer = choice.Spec
			return nil
		default:
			choice.Reason = "no row of " + path + " can be used to learn a tokenizer"
		}
	}
	c.options.Tokenizer = choice.Spec
	if c.options.TokenizerChosen != nil {
		c.options.TokenizerChosen(choice)
	}
	return nil
}

// sample reads the texts of the first rows of a file, or of files spread over a folder, up to
// sampleRows texts or sampleBytes bytes.
func (c *converter) sample(ctx context.Context, path string) ([]string, error) {
	options := c.tableOptions(nil)
	options.MissingColumn = nil // the conversion reports missing columns after all rows
	options.Spread = true
	t, err := table.Open(ctx, path, options)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	var texts []string
	var row table.Row
	for size := 0; len(texts) < sampleRows && size < sampleBytes && ctx.Err() == nil; {
		err := t.Next(&row)
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		if c.joinWords(&row); row.Err != nil {
			continue
		}
		for _, v := range c.texts(&row) {
			text := v.Text
			if tokenizers.IsWAV(text) { // long audio must not end the sample after a few files
				text = text[:tokenizers.HeaderWAV]
			}
			if text != "" {
				texts = append(texts, strings.Clone(text)) // the table reuses the row's memory
				size += len(text)
			}
		}
	}
	return texts, ctx.Err()
}

// levelNumbers is the tokenizer of gray levels that are written as numbers.
var levelNumbers = tokenizers.IDs{Vocab: tokenizers.Pixel{}.VocabSize()}

// checkPixels returns an error if the tokenizer reads bytes as gray levels, but the texts of the first
// rows list the levels as numbers.
func (c *converter) checkPixels(ctx context.Context) error {
	path := c.options.From[0]
	if _, ok := c.tokenizer.(tokenizers.Pixel); !ok || table.ReadOnce(path) {
		return nil
	}
	texts, err := c.sample(ctx, path)
	isBytes := func(text string) bool {
		levels, err := levelNumbers.Encode(text)
		return err != nil || len(levels) < 2
	}
	if err != nil || len(texts) == 0 || slices.ContainsFunc(texts, isBytes) {
		return err
	}
	return fmt.Errorf("the tokenizer pixel reads each byte of a text as a gray level, but the texts of %s are lists "+
		"of numbers, such as %.40q: read the numbers with --tokenizer ids:%d", path, texts[0], levelNumbers.Vocab)
}
