package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/convert"
	"github.com/sftseq/sftseq/seq"
)

// tagFlags returns the flags for rows with a label per token.
func tagFlags() []cli.Flag {
	return append(group(labelGroup,
		&cli.StringFlag{Name: "tags", Usage: "predict tags of tokens or words: lists in `COLUMN`",
			DefaultText: "tag, for CoNLL"},
		&cli.StringFlag{Name: "spans", Usage: "predict spans: lists of {start, end, label} in `COLUMN`"},
		&cli.StringFlag{Name: "intervals",
			Usage: "predict the intervals in `FILE` (.bed, .gff or .gtf) of FASTA records", TakesFile: true}),
		advancedGroup(labelGroup,
			&cli.StringFlag{Name: "types", Usage: "predict only the intervals called `NAME,…`", DefaultText: "all"},
			&cli.BoolFlag{Name: "strands", Usage: "predict the strand of intervals, too: NAME(+) and NAME(-)"})...)
}

// tagOptions reads the flags of [tagFlags], and sets defaults for tagged data.
func tagOptions(c *cli.Context, o *convert.Options) error {
	o.Tags, o.Spans, o.Intervals, o.Strands = c.String("tags"), c.String("spans"),
		c.String("intervals"), c.Bool("strands")
	if err := parseNamesFlag(c, "types", &o.IntervalTypes); err != nil {
		return err
	}
	isCoNLL := func(path string) bool {
		switch strings.ToLower(filepath.Ext(strings.TrimSuffix(strings.TrimSuffix(path, ".gz"), ".zst"))) {
		case ".conll", ".conllu", ".bio", ".iob":
			return true
		}
		return false
	}
	if o.Format == "conll" || o.Format == "" && len(o.From) > 0 &&
		!slices.ContainsFunc(o.From, func(p string) bool { return !isCoNLL(p) }) {
		o.Text = cmp.Or(o.Text, "token")
		if o.Tags == "" && o.Label == "" {
			o.Tags = "tag"
		}
	}
	if o.Intervals != "" && o.Text == "" {
		o.Text = "sequence"
	}
	if c.String("tokenizer") != chooseTokenizer || o.Tokens+o.Features != "" {
		return nil
	}
	switch {
	case o.Intervals != "":
		o.Tokenizer = []byte(`{"type":"dna"}`)
	case o.Spans != "":
		o.Tokenizer = []byte(`{"type":"byte"}`)
	case o.Tags != "":
		o.Tokenizer = []byte(`{"type":"words"}`)
	}
	return nil
}

// checkTags returns an error if the flags of tagged data conflict with other flags, or need a flag that
// is not set.
func checkTags(c *cli.Context, o *convert.Options) error {
	var sources []string
	for _, name := range []string{"tags", "spans", "intervals"} {
		if c.String(name) != "" {
			sources = append(sources, "--"+name)
		}
	}
	switch {
	case len(sources) > 1:
		return usage(c, "%s exclude each other: a token has one tag", strings.Join(sources, " and "))
	case len(sources) > 0 && (o.Label != "" || o.Numbers != nil || o.Pair != nil):
		return usage(c, "%s excludes --label, --numbers and --pair: either tokens or rows have labels", sources[0])
	case o.IntervalTypes != nil && o.Intervals == "":
		return usage(c, "--types needs --intervals")
	case o.Strands && o.Intervals == "":
		return usage(c, "--strands needs --intervals")
	case o.Tokens+o.Features != "" && (o.Spans != "" || o.Intervals != ""):
		return usage(c, "%s needs text: token ids and features have no character positions", sources[0])
	}
	return nil
}

// tagNames returns the tag of each token, or nil for an unlabelled token.
func tagNames(names []string, labels []int32) (out []*string) {
	for _, label := range labels {
		if label == seq.NoLabel {
			out = append(out, nil)
			continue
		}
		out = append(out, new(seq.LabelName(names, label)))
	}
	return out
}

// formatTags formats the first tags of a row.
func formatTags(tags []*string) string {
	if tags == nil {
		return "tags unknown"
	}
	var out []string
	for _, tag := range tags {
		if tag == nil {
			tag = new("–")
		}
		out = append(out, *tag)
	}
	return fmt.Sprintf("tags %s", shortList(out, shownTokens))
}

// sumCounts returns the sum of counts.
func sumCounts(counts map[string]int64) (sum float64) {
	for _, n := range counts {
		sum += float64(n)
	}
	return sum
}
