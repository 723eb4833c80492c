package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/tokenizers"
)

func dataHeadCommand() *cli.Command {
	return &cli.Command{
		Name:      "head",
		Usage:     "print the first rows as JSON lines",
		ArgsUsage: "FILE|DIR",
		UsageText: "sftseq data head [--rows N] [--split NAME] [--tokens] FILE|DIR\n\nExample: sftseq data head --rows 3 --tokens data/reviews | sftseq predict --model runs/reviews",
		Description: `Prints rows of an Arrow file, a stream (- is standard input) or a split of a data set in the
format that predict reads: as text if tokenizing the text yields the same tokens, otherwise as ids.`,
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "rows", Aliases: []string{"n"}, Value: 10, Usage: "print `N` rows"},
			&cli.StringFlag{Name: "split", Value: "train", Usage: "print rows of split `NAME` of a data set"},
			&cli.BoolFlag{Name: "tokens", Usage: "print token ids, which are exact"},
		},
		Action: dataHead,
	}
}

// headRow is a row in the format that predict reads.
type headRow struct {
	ID       any                `json:"id"` // the row's id, or its number
	Text     string             `json:"text,omitempty"`
	TextA    string             `json:"text_a,omitempty"`
	TextB    string             `json:"text_b,omitempty"`
	Tokens   []int32            `json:"tokens,omitempty"`
	Features [][]float32        `json:"features,omitempty"` // features of each token, instead of token ids
	Edges    []seq.Edge         `json:"edges,omitzero"`     // source, target and features of each edge
	TokensA  []int32            `json:"tokens_a,omitempty"`
	TokensB  []int32            `json:"tokens_b,omitempty"`
	Label    string             `json:"label,omitempty"`
	Labels   []string           `json:"labels,omitzero"`
	Numbers  map[string]float32 `json:"numbers,omitempty"`
	Tags     []*string          `json:"tags,omitempty"` // tags of tokens; null if missing
}

func dataHead(c *cli.Context) error {
	if c.NArg() != 1 {
		return usage(c, "expected one FILE or DIR, found %d arguments", c.NArg())
	}
	if c.Int("rows") < 0 {
		return badFlag(c, "rows", "0 or more")
	}
	path := c.Args().First()
	if err := refuseTable(path); err != nil {
		return err
	}
	if info, err := os.Stat(path); path != "-" && err == nil && info.IsDir() {
		d, err := seq.OpenDataset(path)
		if err != nil {
			return err
		}
		if path, err = d.Path(c.String("split")); err != nil {
			return err
		}
	}
	r, err := seq.Open(path)
	if err != nil {
		return err
	}
	defer r.Close()
	if c.Bool("tokens") && r.Spec().FeatureNames != nil {
		return usage(c, "--tokens: the tokens of %s have features in place of ids", path)
	}
	var tokenizer tokenizers.Tokenizer // nil if rows are shown as ids
	if spec := r.Spec(); !c.Bool("tokens") && spec.Tokenizer != nil {
		if tokenizer, err = tokenizers.Open(spec.Tokenizer, filepath.Dir(path)); err != nil {
			return err
		}
	}
	out := json.NewEncoder(c.App.Writer)
	out.SetEscapeHTML(false)
	for remaining := c.Int("rows"); remaining > 0; {
		rows, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		for i := 0; i < rows.Len() && remaining > 0; i++ {
			if err := out.Encode(newHeadRow(r.Spec(), rows.Example(i), tokenizer)); err != nil {
				return err
			}
			remaining--
		}
	}
	return nil
}

func newHeadRow(spec *seq.Spec, e seq.Example, tokenizer tokenizers.Tokenizer) headRow {
	row := headRow{ID: e.Index, Numbers: namedNumbers(spec, &e)}
	if e.ID != "" {
		row.ID = e.ID
	}
	if e.Label != seq.NoLabel {
		row.Label = seq.LabelName(spec.LabelNames, e.Label)
	}
	switch spec.Task {
	case seq.MultiLabel:
		row.Labels = namedLabels(spec, &e)
	case seq.Tagging:
		row.Tags = tagNames(spec.LabelNames, e.Labels)
	}
	textA, okA := textOf(tokenizer, e.A)
	textB, okB := textOf(tokenizer, e.B)
	switch {
	case okA && okB && spec.Pair():
		row.TextA, row.TextB = textA, textB
	case okA && !spec.Pair():
		row.Text = textA
	case spec.Pair():
		row.TokensA, row.TokensB = e.A, e.B
	case e.Features != nil:
		row.Features, row.Edges = e.Features, e.Edges
	default:
		row.Tokens = e.A
	}
	return row
}

// textOf decodes tokens to text. ok is false if there is no tokenizer, if the text is not valid UTF-8, or if
// the tokenizer encodes the text to other tokens, as for unknown words.
func textOf(t tokenizers.Tokenizer, tokens []int32) (text string, ok bool) {
	if t == nil {
		return "", false
	}
	text = t.Decode(tokens)
	again, err := t.Encode(text)
	return text, err == nil && slices.Equal(again, tokens) && utf8.ValidString(text)
}
