package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/convert"
	"github.com/sftseq/sftseq/internal/source"
	"github.com/sftseq/sftseq/internal/stratify"
	"github.com/sftseq/sftseq/internal/table"
	"github.com/sftseq/sftseq/seq"
)

// checkCustom returns an error for missing or conflicting flags and for values out of range.
func checkCustom(c *cli.Context, o *convert.Options) error {
	var sources []string
	for _, name := range []string{"text", "tokens", "features", "series", "pair"} {
		if c.String(name) != "" {
			sources = append(sources, "--"+name)
		}
	}
	switch {
	case o.Text == "" && o.Tokens == "" && o.Features == "" && o.Series == nil && o.Pair == nil:
		return usage(c, "expected --text, --tokens, --series, --features or --pair with the column to read")
	case len(sources) > 1:
		return usage(c, "%s exclude each other", strings.Join(sources, " and "))
	case o.Pair != nil && (len(o.Pair) != 2 || slices.Contains(o.Pair, "")):
		return badFlag(c, "pair", "two columns, A,B")
	case o.Tokens != "" && !c.IsSet("vocab"):
		return usage(c, "--tokens needs --vocab N with the number of token ids, from 1 to %d", math.MaxInt32)
	case o.Tokens != "" && (o.Vocab < 1 || o.Vocab > math.MaxInt32):
		return badFlag(c, "vocab", "the number of token ids for --tokens, 1 to %d", math.MaxInt32)
	case o.Tokens == "" && c.IsSet("vocab"):
		return usage(c, "--vocab needs --tokens: for text, the tokenizer sets the vocabulary")
	case o.Tokens != "" && c.IsSet("tokenizer"):
		return usage(c, "--tokens and --tokenizer exclude each other: a tokenizer reads text")
	case o.Features == "" && c.IsSet("feature-names"):
		return usage(c, "--feature-names needs --features")
	case o.Features != "" && c.IsSet("tokenizer"):
		return usage(c, "--features and --tokenizer exclude each other: a tokenizer reads text")
	case o.Series != nil && c.IsSet("tokenizer"):
		return usage(c, "--series and --tokenizer exclude each other: a tokenizer reads text")
	case o.Numbers != nil && o.Label != "":
		return usage(c, "--numbers and --label exclude each other: choose numbers or a label as the target")
	case o.Numbers != nil && o.Pair != nil:
		return usage(c, "--numbers and --pair exclude each other: rows with numbers have one sequence")
	case o.LabelColumns != nil && (o.Label != "" || o.Labels != nil || o.Numbers != nil || o.Pair != nil):
		return usage(c, "--label-columns excludes --label, --labels, --numbers and --pair: expected one source of "+
			"labels, and one sequence per row")
	case c.IsSet("label-separator") && (o.LabelSeparator == "" || o.Label == "" || o.Pair != nil):
		return badFlag(c, "label-separator", "a separator that is not empty, with --label and without "+
			"--pair")
	case o.Labels != nil && o.Label == "" && o.Tags == "" && o.Spans == "" && o.Intervals == "":
		return usage(c, "--labels needs --label, --tags, --spans or --intervals")
	case o.LabelPattern != nil && o.Label == "":
		return usage(c, "--label-pattern needs --label")
	case o.SplitPattern != nil && o.SplitColumn == "":
		return usage(c, "--split-pattern needs --split-column")
	case o.Format != "" && !slices.Contains(table.Formats, o.Format):
		return badFlag(c, "format", "one of %s", strings.Join(table.Formats, ", "))
	case o.MaxLength < 0:
		return badFlag(c, "max-length", "0 (no limit) or more")
	case c.IsSet("split") && o.SplitColumn != "":
		return usage(c, "--split and --split-column exclude each other")
	case c.IsSet("val-part") && o.SplitColumn == "":
		return usage(c, "--val-part needs --split-column")
	case !(o.Val >= 0 && o.Val < 1):
		return badFlag(c, "val-part", "0 or more and less than 1")
	}
	if err := checkTags(c, o); err != nil {
		return err
	}
	if err := convert.CheckSplitFractions(o.SplitFractions); err != nil {
		return invalidFlag(c, "split", err)
	}
	if o.Features != "" {
		if err := seq.CheckFeatureNames(o.FeatureNames); err != nil {
			return invalidFlag(c, "feature-names", err)
		}
	}
	if o.Numbers != nil {
		if err := seq.CheckNumberNames(o.Numbers); err != nil {
			return invalidFlag(c, "numbers", err)
		}
	}
	if err := seq.CheckNames(o.LabelColumns); err != nil {
		return invalidFlag(c, "label-columns", err)
	}
	if err := seq.CheckNames(o.Labels); err != nil {
		return invalidFlag(c, "labels", err)
	}
	return checkColumns(c, o)
}

// checkColumns returns an error if the flags of an input and of a target name the same column.
func checkColumns(c *cli.Context, o *convert.Options) error {
	inputs := map[string][]string{"text": {o.Text}, "tokens": {o.Tokens}, "features": {o.Features}, "series": o.Series,
		"pair": o.Pair}
	targets := map[string][]string{"label": {o.Label}, "tags": {o.Tags}, "spans": {o.Spans}, "numbers": o.Numbers,
		"label-columns": o.LabelColumns}
	for _, input := range slices.Sorted(maps.Keys(inputs)) {
		for _, target := range slices.Sorted(maps.Keys(targets)) {
			for _, column := range inputs[input] {
				if column != "" && slices.Contains(targets[target], column) {
					return usage(c, "--%s and --%s both name the column %q: expected different columns for the "+
						"input and "+
						"the target", input, target, column)
				}
			}
		}
	}
	return nil
}

// customWarnings returns warnings about probably unintended properties of the data set, such as empty
// splits and missing labels.
func customWarnings(c *cli.Context, m *seq.Manifest, o *convert.Options) (out []string) {
	rows := func(split string) int64 { return m.Splits[split].Rows }
	if text := splitsWarning(c, o); text != "" {
		out = append(out, text)
	}
	out = append(out, missingShards(o.From, o.Format)...)
	if text := cloudsWarning(o); text != "" {
		out = append(out, text)
	}
	switch {
	case o.SplitColumn == "":
		if text := emptyWarning(m, o.SplitFractions, isStratified(m, o.From)); text != "" {
			out = append(out, text)
		}
	case rows("train") == 0:
		out = append(out, fmt.Sprintf("the split train is empty, so models cannot learn: no row has \"train\" in "+
			"the column %q",
			o.SplitColumn))
	case rows("val") == 0:
		out = append(out, "the split val is empty, so sftseq train cannot validate: "+
			"move rows from the split train to val with, for example, --val-part 0.1")
	}
	if len(m.LabelNames) == 0 && m.NumberNames == nil {
		if o.Label != "" || o.Tags != "" || o.Spans != "" || o.Intervals != "" {
			return append(out, "no row has a label, because the source of labels is empty or null in all rows: only "+
				"pretrain can use this data set")
		}
		out = append(out, "the rows have neither labels nor numbers, so only pretrain can use this data set: to use "+
			"it with train, convert it again with, for example, --label COLUMN or --numbers COLUMN")
	}
	if text := classWarning(m, o); text != "" {
		out = append(out, text)
	}
	return out
}

// leftOutWarning returns a warning if more rows were left out than kept, or "". It returns "" if flags
// choose rows, because they may leave out many rows on purpose.
func leftOutWarning(o *convert.Options, left *source.Skipped) string {
	chosen := o.LabelPattern != nil || o.SplitPattern != nil || o.Labels != nil || o.MaxLength > 0
	if n := left.Left(); !chosen && 2*n > left.Read {
		return fmt.Sprintf("%d of %d rows were left out, so the data set has only %s: the reasons are listed above "+
			"(--strict stops at the first such row)", n, left.Read, countRows(left.Read-n))
	}
	return ""
}

// missingShards returns a warning for each folder of numbered tables in which a number is missing.
func missingShards(paths []string, format string) (out []string) {
	for _, path := range paths {
		if missing := table.MissingShard(table.Shards(path, format)); missing != "" {
			out = append(out, fmt.Sprintf("%s is missing among the numbered tables beside it: "+
				"add the file if the data set should contain its rows", missing))
		}
	}
	return out
}

// isStratified reports whether the splits of a data set with m's number of rows are stratified by class. It returns
// false for a data set whose many rows repeat a few, and thus are stratified too.
func isStratified(m *seq.Manifest, from []string) bool {
	rows := int64(0)
	for _, split := range m.Splits {
		rows += split.Rows
	}
	return rows <= stratify.MaxRows && !slices.ContainsFunc(from, table.ReadOnce)
}

// emptyWarning returns a warning about empty splits whose fraction is positive, or "".
func emptyWarning(m *seq.Manifest, fractions []convert.SplitFraction, stratified bool) string {
	var empty []string
	for _, f := range fractions {
		if f.Fraction > 0 && m.Splits[f.Split].Rows == 0 {
			empty = append(empty, f.Split)
		}
	}
	if empty == nil {
		return ""
	}
	reason := "a hash of each row and --seed selects its split: add rows, or change --split or --seed"
	if stratified {
		reason = "there are too few distinct rows: add rows"
		if m.LabelNames != nil && m.Task == seq.Classification && fractions[0].Fraction > 0 {
			reason = fmt.Sprintf("each class keeps at least one row in %s, and too few other distinct rows remain: "+
				"add rows", fractions[0].Split)
		}
	}
	return fmt.Sprintf("no row was assigned to %s, because %s", strings.Join(empty, " or "), reason)
}
