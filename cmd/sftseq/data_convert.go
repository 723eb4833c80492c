package main

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/convert"
	"github.com/sftseq/sftseq/internal/table"
	"github.com/sftseq/sftseq/lra"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/tokenizers"
)

func dataConvertCommand() *cli.Command {
	out := &cli.Command{
		Name:  "convert",
		Usage: "convert tables, or a task's official files, to a data set",
		UsageText: `sftseq data convert --from FILE… --to DIR --text COLUMN --label COLUMN [flags]
sftseq data convert TASK --from FILE|DIR --to DIR [flags]

Example: sftseq data convert --from reviews.csv.gz --to data/reviews --text review --label stars
         sftseq train custom --data data/reviews`,
		Description: `Reads CSV, TSV, JSON, Parquet, Arrow, FASTA, FASTQ, CoNLL and text, plain or compressed, from files,
folders or standard input (-). The label flags choose the targets: one class or several labels
per row, numbers, a tag per token, spans or intervals. Rows that cannot be used are left out and listed by reason.
More: docs/own-data.md`,
		Flags:  customFlags(),
		Action: convertCustom,
	}
	for _, task := range importedTasks() {
		out.Subcommands = append(out.Subcommands, convertTaskCommand(task))
	}
	out.Subcommands = append(out.Subcommands, convertCloudCommand(), convertGraphCommand())
	return out
}

// customFlags returns the flags for tables.
func customFlags() []cli.Flag {
	return slices.Concat(
		group(inputGroup,
			&cli.StringSliceFlag{Name: "from",
				Usage: "read `FILE`, a folder or - (standard input); repeatable (required)", TakesFile: true},
			&cli.StringFlag{Name: "text", Usage: "read the text in `COLUMN`"},
			&cli.StringFlag{Name: "pair", Usage: "read pairs of texts to compare from columns `A,B`"},
			&cli.StringFlag{Name: "tokens", Usage: "read lists of token ids, below --vocab, from `COLUMN`"},
			seriesFlag(),
			&cli.StringFlag{Name: "features",
				Usage: "read a list of numbers for each token from `COLUMN`"},
			&cli.StringFlag{Name: "id", Usage: "take the ids of rows from `COLUMN`",
				DefaultText: "name of the record, or FILE:LINE"},
			&cli.StringFlag{Name: "tokenizer", Value: chooseTokenizer,
				Usage: "tokenize by `NAME`: " + chooseTokenizer +
					", byte, words:20000, hf:FILE, from:DIR, … (docs/data-text.md)"}),
		advancedGroup(inputGroup, formatFlags()...),
		advancedGroup(inputGroup,
			&cli.IntFlag{Name: "vocab", Usage: "set the number `N` of token ids (--tokens)"},
			&cli.StringFlag{Name: "feature-names",
				Usage: "name the numbers of a token `NAME,…`; nx, ny, nz are a normal", DefaultText: "x,y,z"},
			&cli.IntFlag{Name: "max-length", Usage: "leave out rows of more than `N` tokens"},
			&cli.StringFlag{Name: "max-row", Value: "64MiB", Usage: "leave out rows of more than `SIZE`"},
			&cli.BoolFlag{Name: "strict", Usage: "stop at the first row that cannot be used"}),
		group(labelGroup,
			&cli.StringFlag{Name: "label", Usage: "predict the class, or the list of labels, in `COLUMN`"},
			&cli.StringFlag{Name: "label-columns",
				Usage: "predict several labels, each marked 0 or 1 in one of `COLUMN,…`"},
			&cli.StringFlag{Name: "numbers", Usage: "predict the numbers in `COLUMN,…`"}),
		tagFlags(),
		advancedGroup(labelGroup,
			&cli.StringFlag{Name: "label-separator",
				Usage: "predict several labels per row: split --label at `TEXT`"},
			&cli.StringFlag{Name: "label-pattern",
				Usage: "extract the label by `REGEX`; leave out rows without a match"},
			&cli.StringFlag{Name: "labels", Usage: "use labels `NAME,…` in this order; leave out rows with other labels",
				DefaultText: "all labels, sorted"}),
		group(splitGroup,
			&cli.StringFlag{Name: "split", Value: "0.9,0.05,0.05", DefaultText: "0.9,0.05,0.05, but more val and test in small tables",
				Usage: "split at random by the fractions `TRAIN,VAL,TEST`"},
			&cli.StringFlag{Name: "split-column", Usage: "take the split of a row from `COLUMN`"},
			&cli.Float64Flag{Name: "val-part",
				Usage: "move `FRACTION` of the training rows to validation (needs --split-column)"}),
		advancedGroup(splitGroup,
			&cli.StringFlag{Name: "split-pattern",
				Usage: "extract the split by `REGEX`; leave out rows without a match"},
			&cli.Uint64Flag{Name: "seed", Usage: "split by seed `N` (default: 0)"}),
		outputFlags(),
		advancedGroup(outputGroup,
			&cli.StringFlag{Name: "name", Usage: "name the data set `NAME`", DefaultText: "as --to"}),
	)
}

// outputFlags returns the flags of the output directory.
func outputFlags() []cli.Flag {
	return slices.Concat(
		group(outputGroup,
			&cli.StringFlag{Name: "to", Aliases: []string{"o"},
				Usage: "write the data set to `DIR` (required)", TakesFile: true},
			forceFlag(), noBaselinesFlag()))
}

func forceFlag() cli.Flag {
	return &cli.BoolFlag{Name: "force", Usage: "replace an existing data set"}
}

// convertCustom converts the user's tables to a data set.
func convertCustom(c *cli.Context) error {
	if c.Args().Present() {
		name := c.Args().First()
		if suggestion := suggestCommand(c.Command.Subcommands, name); suggestion != "" {
			return usage(c, "unknown task %q. %s", name, suggestion)
		}
		var taskNames []string
		for _, task := range c.Command.Subcommands {
			if task.Name != "help" {
				taskNames = append(taskNames, task.Name)
			}
		}
		advice := "pass the input with --from"
		if slices.Contains(c.Args().Slice(), "--from") {
			advice = fmt.Sprintf("choose one of these tasks, or omit %q to convert a table", name)
		}
		return usage(c, "expected a task (%s) or flags only, found %q: %s", strings.Join(taskNames, ", "), name, advice)
	}
	o, err := customOptions(c)
	if err != nil {
		return err
	}
	total := int64(0)
	for _, path := range o.From {
		if path != table.StandardInput {
			total += lra.SizeBelow(path)
		}
	}
	var bars phases
	o.TokenizerChosen = func(choice tokenizers.Choice) {
		fmt.Fprintf(c.App.Writer, "tokenizer %s: %s (choose another tokenizer with --tokenizer)\n", choice.Name,
			choice.Reason)
	}
	o.TokenizerProgress = func(bytes int64) { bars.phase(total, "reading for the tokenizer", unitBytes).Add(bytes) }
	o.TokenizerRounds = func(done, all int) {
		bar := bars.phase(int64(all), "learning the tokenizer", "rounds")
		bar.Add(min(1, int64(done))) // done is 0 in the first call
	}
	o.Progress = func(bytes int64) { bars.phase(total, "converting", unitBytes).Add(bytes) }
	d, skipped, err := convert.Convert(c.Context, o)
	bars.Finish()
	if err == nil {
		fmt.Fprint(c.App.ErrWriter, skipped)
	} else {
		err = addTokenizerAdvice(c, addFolderAdvice(err, &o, skipped), &o, skipped)
	}
	if err := reportDataset(c, d, err); err != nil {
		return err
	}
	if names := d.Manifest.LabelNames; names != nil {
		_, err = fmt.Fprintf(c.App.Writer, "labels: %s\n", shortList(names, 20))
	}
	for _, n := range d.Manifest.Splits["train"].Numbers {
		_, err = fmt.Fprintf(c.App.Writer, "number %s of train: %s\n", n.Name, describeNumber(n))
	}
	if text := leftOutWarning(&o, skipped); text != "" {
		printWarnings(c, []string{text})
	}
	printWarnings(c, customWarnings(c, d.Manifest, &o))
	warnClasses(c, d.Manifest)
	return errors.Join(err, addBaselines(c, d))
}

// shortList joins at most maxNames names by commas, and adds the number of omitted names.
func shortList(names []string, maxNames int) string {
	if len(names) <= maxNames {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNames], ", "), len(names)-maxNames)
}

// customOptions returns the options of a conversion of tables, according to the flags.
func customOptions(c *cli.Context) (o convert.Options, err error) {
	if err := requireFlags(c, "from", "to"); err != nil {
		return o, err
	}
	maxRow, err := sizeFlag(c, "max-row", 1<<10, 1<<30)
	if err != nil {
		return o, err
	}
	tokenizer, file, err := tokenizerFlag(c)
	if err != nil {
		return o, err
	}
	o = convert.Options{
		From: c.StringSlice("from"), To: c.String("to"), Format: c.String("format"), Name: c.String("name"),
		Text: c.String("text"), Tokens: c.String("tokens"), Features: c.String("features"), Label: c.String("label"),
		LabelSeparator: c.String("label-separator"), ID: c.String("id"), Tokenizer: tokenizer,
		TokenizerFile: file, Vocab: c.Int("vocab"),
		SplitColumn: c.String("split-column"), Val: c.Float64("val-part"), Seed: c.Uint64("seed"),
		MaxLength: c.Int("max-length"),
		Strict:    c.Bool("strict"), Replace: c.Bool("force"), MaxField: int(maxRow),
	}
	if o.Name == "" {
		o.Name = filepath.Base(filepath.Clean(o.To))
	}
	if c.IsSet("pair") {
		o.Pair = strings.Split(c.String("pair"), ",")
	}
	if o.Features != "" {
		o.FeatureNames = seq.PositionNames
	}
	for _, names := range []struct {
		flag string
		into *[]string
	}{{"series", &o.Series}, {"feature-names", &o.FeatureNames}, {"labels", &o.Labels},
		{"label-columns", &o.LabelColumns}, {"numbers", &o.Numbers}} {
		if err := parseNamesFlag(c, names.flag, names.into); err != nil {
			return o, err
		}
	}
	keepSplits(c, &o)
	if o.LabelPattern, err = patternFlag(c, "label-pattern"); err != nil {
		return o, err
	}
	if o.SplitPattern, err = patternFlag(c, "split-pattern"); err != nil {
		return o, err
	}
	if c.IsSet("delimiter") {
		if o.Delimiter, err = table.ParseDelimiter(c.String("delimiter")); err != nil {
			return o, invalidFlag(c, "delimiter", err)
		}
	}
	if o.SplitFractions, err = parseSplitFractions(c.String("split")); err != nil {
		return o, invalidFlag(c, "split", err)
	}
	if err := tagOptions(c, &o); err != nil {
		return o, err
	}
	noText := func(path string) bool {
		format, err := table.FormatOf(path)
		return o.Format != "text" &&
			(o.Format != "" || err != nil || format != "text" || table.IsFolder(path, o.Format))
	}
	switch {
	case o.Text != "" || o.Tokens != "" || o.Features != "" || o.Series != nil || o.Pair != nil:
	case areFolders(o.From, o.Format):
		o.Text = table.FolderColumns[0]
		if o.Numbers == nil && o.LabelColumns == nil {
			o.Label = cmp.Or(o.Label, table.FolderColumns[1])
		}
	case !slices.ContainsFunc(o.From, noText):
		o.Text = table.TextColumns[0]
	}
	return o, checkCustom(c, &o)
}

// areFolders reports whether all inputs are folders of files.
func areFolders(paths []string, format string) bool {
	return !slices.ContainsFunc(paths, func(path string) bool { return !table.IsFolder(path, format) })
}

// parseSplitFractions parses the fractions of train, val and test.
func parseSplitFractions(text string) (fractions []convert.SplitFraction, err error) {
	names := []string{"train", "val", "test"}
	parts := strings.Split(text, ",")
	if len(parts) != len(names) {
		return nil, fmt.Errorf("expected three numbers, the fractions of train, val and test, found %d", len(parts))
	}
	for i, part := range parts {
		v, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
		if err != nil {
			return nil, fmt.Errorf("expected a number, found %q", part)
		}
		fractions = append(fractions, convert.SplitFraction{Split: names[i], Fraction: v})
	}
	return fractions, nil
}
