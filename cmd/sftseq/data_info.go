package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/tokenizers"
)

// shownTokens is the maximum number of tokens with ids that data info shows of the first row.
// shownPoints is the maximum for tokens with features.
const (
	shownTokens = 200
	shownPoints = 3
)

func dataInfoCommand() *cli.Command {
	return &cli.Command{
		Name:      "info",
		Usage:     "show the format, size and columns of a data file or a data set",
		ArgsUsage: "FILE|DIR",
		UsageText: "sftseq data info [--json] [--verify] FILE|DIR|-\n\n" +
			"Example: sftseq data info --json data/listops/test.arrow",
		Description: `Reads an Arrow file, a stream (- is standard input) or each split of a data set to the end and shows
the schema, rows, quantiles of the lengths, labels and the first row. Invalid rows are errors; --verify
compares checksums first. --json has the vocabulary of a learned tokenizer.`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "json", Usage: "print JSON"},
			&cli.BoolFlag{Name: "verify", Usage: "compare a data set's files with its checksums first"},
		},
		Action: dataInfo,
	}
}

// fileInfo is the JSON description of a file.
type fileInfo struct {
	File    string              `json:"file"`
	Format  string              `json:"format"`
	Schema  schemaInfo          `json:"schema"`
	Rows    int64               `json:"rows"`
	Batches int                 `json:"record_batches"`
	Lengths seq.Quantiles       `json:"lengths"`
	Labels  map[string]int64    `json:"labels"`
	PerRow  []int64             `json:"labels_per_row,omitempty"` // multi-label: rows by number of labels
	Numbers []seq.NumberSummary `json:"numbers,omitempty"`
	Example *exampleInfo        `json:"example"`
}

type schemaInfo struct {
	Columns     []columnInfo    `json:"columns"`
	Task        string          `json:"task"`
	Name        string          `json:"name,omitempty"`
	Split       string          `json:"split,omitempty"`
	Tokenizer   json.RawMessage `json:"tokenizer,omitempty"`
	VocabSize   int             `json:"vocab_size"`
	PadTokenID  *int32          `json:"pad_token_id"`
	FirstToken  int32           `json:"first_token_id,omitempty"` // token id = stored number + FirstToken
	LabelNames  []string        `json:"label_names,omitempty"`
	NumberNames []string        `json:"number_names,omitempty"`
	Features    []string        `json:"feature_names,omitempty"` // nil if tokens have ids
}

type columnInfo struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

type exampleInfo struct {
	Length  int                `json:"length"`
	Tokens  []int32            `json:"tokens"`             // at most shownTokens
	Points  [][]float32        `json:"features,omitempty"` // features of the first tokens, instead of ids
	Text    string             `json:"text,omitempty"`
	TokensB []int32            `json:"tokens_b,omitempty"`
	TextB   string             `json:"text_b,omitempty"`
	Label   string             `json:"label,omitempty"`
	Labels  []string           `json:"labels,omitzero"` // for multi-label data; omitted if unknown
	Numbers map[string]float32 `json:"numbers,omitempty"`
	Tags    []*string          `json:"tags,omitempty"` // tags of at most shownTokens tokens; null if missing
}

func dataInfo(c *cli.Context) error {
	if c.NArg() != 1 {
		return usage(c, "expected one FILE or DIR, found %d arguments", c.NArg())
	}
	path := c.Args().First()
	if stat, err := os.Stat(path); path == "-" || err != nil || !stat.IsDir() {
		if c.Bool("verify") {
			return usage(c, "--verify: expected the directory of a data set, found %s", path)
		}
		if err := refuseTable(path); err != nil {
			return err
		}
		r, err := seq.Open(path)
		if err != nil {
			return err
		}
		info, err := inspect(r, path)
		if err != nil {
			return err
		}
		return show(c, info, info.write)
	}
	if err := refuseTable(path); err != nil {
		return err
	}
	d, err := seq.OpenDataset(path)
	if err != nil {
		return err
	}
	if c.Bool("verify") {
		if err := d.Verify(); err != nil {
			return err
		}
		fmt.Fprintln(c.App.ErrWriter, "the checksums agree")
	}
	// The total number of rows has the same key as the number of rows of a file.
	set := struct {
		Rows       int64                `json:"rows"`
		Splits     map[string]*fileInfo `json:"splits"`
		Provenance map[string]any       `json:"provenance,omitempty"`
	}{Splits: map[string]*fileInfo{}, Provenance: d.Manifest.Provenance}
	for _, name := range d.Manifest.SplitNames() {
		r, err := d.Reader(name)
		if err != nil {
			return err
		}
		info, err := inspect(r, filepath.Join(path, d.Manifest.Splits[name].File))
		if err != nil {
			return err
		}
		set.Splits[name] = info
		set.Rows += info.Rows
	}
	return show(c, set, func(w io.Writer) error {
		for _, name := range d.Manifest.SplitNames() {
			if err := set.Splits[name].write(w); err != nil {
				return err
			}
		}
		return nil
	})
}

// show writes value as JSON with --json, otherwise calls text.
func show(c *cli.Context, value any, text func(io.Writer) error) error {
	if !c.Bool("json") {
		return text(c.App.Writer)
	}
	encoder := json.NewEncoder(c.App.Writer)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false) // prints list<item: uint8> without escapes
	return encoder.Encode(value)
}

// inspect describes the file of r and closes r.
func inspect(r *seq.Reader, path string) (*fileInfo, error) {
	defer r.Close()
	found, err := seq.Inspect(r)
	if err != nil {
		return nil, err
	}
	spec := found.Spec
	info := &fileInfo{
		File: path, Format: "arrow stream", Rows: found.Rows, Batches: found.Batches, Lengths: found.Lengths,
		Labels: found.Labels, PerRow: found.PerRow, Numbers: found.Numbers,
		Schema: schemaInfo{
			Task: spec.Task, Name: spec.Name, Split: spec.Split, Tokenizer: spec.Tokenizer,
			VocabSize: spec.VocabSize, PadTokenID: spec.PadID, LabelNames: spec.LabelNames,
			NumberNames: spec.NumberNames, Features: spec.FeatureNames,
		},
	}
	if info.Schema.FirstToken, err = seq.FirstTokenID(found.Schema); err != nil {
		return nil, err
	}
	if found.IsFile {
		info.Format = "arrow file"
	}
	for _, field := range found.Schema.Fields() {
		info.Schema.Columns = append(info.Schema.Columns, columnInfo{field.Name, field.Type.String()})
	}
	if first := found.First; first != nil {
		info.Example = describeExample(first, spec, filepath.Dir(path))
	}
	return info, nil
}

// describeExample returns the beginning of a row. It includes text if this version knows the
// tokenizer and the tokenizer's file exists.
func describeExample(e *seq.Example, spec *seq.Spec, dir string) *exampleInfo {
	out := &exampleInfo{Length: e.Length(), Tokens: e.A[:min(len(e.A), shownTokens)],
		Points: e.Features[:min(len(e.Features), shownPoints)], Numbers: namedNumbers(spec, e)}
	switch {
	case spec.Task == seq.MultiLabel:
		out.Labels = namedLabels(spec, e)
	case spec.Task == seq.Tagging:
		out.Tags = tagNames(spec.LabelNames, e.Labels[:min(len(e.Labels), shownTokens)])
	case spec.NumberNames == nil:
		out.Label = seq.LabelName(spec.LabelNames, e.Label)
	}
	if e.B != nil {
		out.TokensB = e.B[:min(len(e.B), shownTokens)]
	}
	if spec.Tokenizer == nil {
		return out
	}
	if tokenizer, err := tokenizers.Open(spec.Tokenizer, dir); err == nil {
		out.Text = tokenizer.Decode(out.Tokens)
		if e.B != nil {
			out.TextB = tokenizer.Decode(out.TokensB)
		}
	}
	return out
}

// write writes the description of the file as text.
func (f *fileInfo) write(w io.Writer) error {
	out := &lineWriter{w: w}
	batches := fmt.Sprintf("%d record batches", f.Batches)
	if f.Batches == 1 {
		batches = "1 record batch"
	}
	out.add("%s (%s, %s)", f.File, f.Format, batches)
	for _, column := range f.Schema.Columns {
		out.add("  column      %s: %s", column.Name, column.Type)
	}
	out.add("  task        %s %s %s", f.Schema.Task, f.Schema.Name, f.Schema.Split)
	pad := "none"
	if f.Schema.PadTokenID != nil {
		pad = strconv.Itoa(int(*f.Schema.PadTokenID))
	}
	if f.Schema.Features != nil {
		out.add("  features    %s of each token", strings.Join(f.Schema.Features, ", "))
	} else {
		note := ""
		if tokenizers.TypeOf(f.Schema.Tokenizer) == new(tokenizers.Words).Type() {
			note = ", all words in lower case"
		}
		out.add("  vocabulary  %d, pad %s, tokenizer %s%s", f.Schema.VocabSize, pad, summary(f.Schema.Tokenizer), note)
	}
	if first := f.Schema.FirstToken; first > 0 {
		out.add("  stored      each id minus %d (first_token_id)", first)
	}
	out.add("  rows        %d", f.Rows)
	q := f.Lengths
	out.add("  lengths     min %d, 25%% %d, 50%% %d, 75%% %d, 95%% %d, max %d, mean %.1f", q.Min, q.P25, q.P50,
		q.P75, q.P95, q.Max, q.Mean)
	for _, n := range f.Numbers {
		out.add("  number      %s: %s", n.Name, describeNumber(n))
	}
	counted := float64(f.Rows)
	if f.Schema.Task == seq.Tagging {
		out.add("  labels of tokens")
		counted = sumCounts(f.Labels)
	} else if f.Numbers == nil {
		out.add("  labels")
	}
	for _, name := range labelRows(f.Labels) {
		title := name
		if name == seq.Unlabelled {
			title = withoutLabel
		}
		out.add("    %-10s %d (%.1f%%)", title, f.Labels[name], 100*float64(f.Labels[name])/counted)
	}
	for n, rows := range f.PerRow {
		out.add("  %-11s %d (%.1f%%)", formatLabelCount(n), rows, 100*float64(rows)/float64(f.Rows))
	}
	if e := f.Example; e != nil {
		target := "label " + e.Label
		switch {
		case f.Schema.Task == seq.MultiLabel:
			target = formatLabels(e.Labels)
		case f.Schema.Task == seq.Tagging:
			target = formatTags(e.Tags)
		case f.Numbers != nil:
			target = formatNumbers(f.Schema.NumberNames, e.Numbers)
		}
		out.add("  first row   %s, %s, beginning with", target, countOf(e.Length, "token"))
		for _, part := range []struct {
			tokens []int32
			text   string
		}{{e.Tokens, e.Text}, {e.TokensB, e.TextB}} {
			if part.text != "" {
				out.add("    %q", part.text)
			} else if part.tokens != nil {
				out.add("    %v", part.tokens)
			}
		}
		for _, point := range e.Points {
			out.add("    %v", point)
		}
	}
	return out.err
}

// lineWriter writes lines until the first error, which it keeps.
type lineWriter struct {
	w   io.Writer
	err error
}

func (l *lineWriter) add(format string, args ...any) {
	if l.err == nil {
		_, l.err = fmt.Fprintf(l.w, format+"\n", args...)
	}
}
