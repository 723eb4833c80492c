package convert

import (
	"context"
	"io"
	"strings"

	"github.com/sftseq/sftseq/internal/table"
	"github.com/sftseq/sftseq/tokenizers"
)

// Limits on the rows and the bytes of text from which a tokenizer is chosen. The texts come from
// the first table, or from files spread over a folder.
const (
	sampleRows  = 2000
	sampleBytes = 8 << 20
)

// chooseTokenizer selects the tokenizer that suits the texts.
func (c *converter) chooseTokenizer(ctx context.Context) error {
	choice := tokenizers.Choice{Name: "byte", Spec: []byte(`{"type":"byte"}`),
		Reason: "standard input and pipes are read only once, so nothing can be learned from them"}
	if path := c.options.From[0]; !table.ReadOnce(path) {
		texts, err := c.sample(ctx, path)
		if err != nil {
			return err
		}
		if choice.Reason = "none of the first rows can be used to learn a tokenizer"; len(texts) > 0 {
			choice = tokenizers.Choose(texts)
		}
	}
	c.options.Tokenizer = choice.Spec
	if c.options.TokenizerChosen != nil {
		c.options.TokenizerChosen(choice)
	}
	return nil
}

// sample reads the texts of the first rows of a file.
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
