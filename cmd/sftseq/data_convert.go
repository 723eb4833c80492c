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
		Usage: "make a data set of tables, or of a task's official files",
		UsageText: `sftseq data convert --from FILE… --to DIR {--text | --tokens | --features} COLUMN {--label COLUMN | --label-columns COLUMN,… | --numbers COLUMN,… | --tags COLUMN | --spans COLUMN | --intervals FILE} [flags]
sftseq data convert TASK --from FILE|DIR --to DIR

Example: sftseq data convert --from reviews.csv.gz --to data/reviews --text review --label stars
         sftseq train custom --data data/reviews`,
		Description: `Reads CSV, TSV, JSON lines, JSON lists, lines of text, Parquet, Arrow, FASTA and FASTQ,
plain or compressed by gzip or Zstandard, from files, folders of them or standard input
(--from - --format csv). A column of JSON may be a path: doc.body, messages[0].content.
Text (.txt, .log) has the columns text, line and file. A row's split is decided by its text and --seed,
so that the same text is never in two; --split-column takes what the table says. Labels
are the names that are found, sorted, unless --labels lists them. With --numbers the rows
have one or several numbers, which a model of a regression predicts. With --tags, --spans or
--intervals each token has a label, which a model of tagging tells: CoNLL (.conll) has a
token a line, its tag last; JSON lines have lists of tags, or spans in characters of the
text; FASTA has the intervals of a BED or GFF file. Tags of spans are B-NAME and I-NAME,
and O for what is outside of them. Rows that cannot be
used are left out and listed by reason, with the first places; --strict stops there.

Any number of labels of a row may hold: where --label names a column of lists (JSON,
Parquet, Arrow), where --label-separator splits its text, or where each of --label-columns
says by 0 or 1, true or false, whether its label holds. An empty list is none of them; rows
whose labels are not known are left out.

A folder of tables of one kind is read as one, in the order of their names. Of any other
folder every file is a row, with the columns content, class (the folder that it is in),
split (the one above) and path; --text content --label class need not be said.

--label-pattern takes the class out of a longer text, --split-pattern the split: the text
of the regular expression's first group, or its whole match, or the name of a named group.
Sounds in one folder, called DIGIT_SPEAKER_NUMBER.wav, with a test split by number:

   sftseq data convert --from recordings --to data/digits --tokenizer audio-vq \
       --label path --label-pattern '^([0-9])_' \
       --split-column path --split-pattern '(?<test>_[0-4]\.wav$)|(?<train>\.wav$)' --val-part 0.1`,
		Flags:  customFlags(),
		Action: convertCustom,
	}
	for _, task := range importedTasks() {
		switch task {
		case lra.Molecules:
			out.Subcommands = append(out.Subcommands, convertMoleculesCommand())
		case lra.Superpixels:
			out.Subcommands = append(out.Subcommands, convertSuperpixelsCommand())
		default:
			out.Subcommands = append(out.Subcommands, convertTaskCommand(task))
		}
	}
	out.Subcommands = append(out.Subcommands, convertCloudCommand(), convertGraphCommand())
	return out
}

// customFlags are those for tables.
func customFlags() []cli.Flag {
	return append(tagFlags(), []cli.Flag{
		&cli.StringSliceFlag{Name: "from", Usage: "`FILE` or folder to read, as often as there are; - is standard input", TakesFile: true},
		&cli.StringFlag{Name: "to", Usage: "`DIR` of the data set", TakesFile: true},
		&cli.StringFlag{Name: "format", Usage: "`KIND` of the files: " + strings.Join(table.Formats, ", "), DefaultText: "what their names say"},
		&cli.StringFlag{Name: "delimiter", Usage: "`SIGN` between the fields of CSV: ; or | or another, or tab", DefaultText: "comma"},
		&cli.StringFlag{Name: "text", Usage: "`COLUMN` of text"},
		&cli.StringFlag{Name: "tokens", Usage: "`COLUMN` of lists of token ids, in place of text"},
		&cli.StringFlag{Name: "features", Usage: "`COLUMN` of lists of lists of numbers, those of a token each, such as the points of a cloud, in place of text"},
		&cli.StringFlag{Name: "feature-names", Usage: "with --features, `NAME,…` of the numbers of a token; x, y, z are a position, nx, ny, nz its normal", DefaultText: "x,y,z"},
		&cli.StringFlag{Name: "pair", Usage: "two columns of text, `A,B`, that are compared"},
		&cli.StringFlag{Name: "label", Usage: "`COLUMN` of the class"},
		&cli.StringFlag{Name: "label-separator", Usage: "`TEXT` between the labels of a row, such as ;, of which any number may hold"},
		&cli.StringFlag{Name: "label-columns", Usage: "`COLUMN,…` of 0 and 1, or true and false: labels of which any number may hold; a name with a comma in double quotes"},
		&cli.StringFlag{Name: "numbers", Usage: "`COLUMN,…` of numbers to predict, in place of a class; a name with a comma in double quotes"},
		&cli.StringFlag{Name: "id", Usage: "`COLUMN` of what rows are called, which predict, embed and eval give back", DefaultText: "the name of the record or file, or FILE:LINE"},
		&cli.StringFlag{Name: "label-pattern", Usage: "`REGEX` that takes the class out of the label's text; rows without a match are left out"},
		&cli.StringFlag{Name: "labels", Usage: "the classes, `NAME,NAME,…`, in their order, a name with a comma in double quotes; others are left out", DefaultText: "those that are found, sorted"},
		&cli.StringFlag{Name: "tokenizer", Value: chooseTokenizer, Usage: "`NAME` of what makes tokens of text: " + chooseTokenizer + " (what suits the first rows), " + strings.Join(tokenizers.Types(), ", ") + "; ids:1000 are 1000 token ids, dna:6 is of 6 bases, words:20000 of as many words, in lower case, hf:tokenizer.json a file of Hugging Face's tokenizers, from:DIR that of a model or data set"},
		&cli.IntFlag{Name: "vocab", Usage: "`N` token ids, with --tokens: all are below it"},
		&cli.StringFlag{Name: "split", Value: "0.9,0.05,0.05", Usage: "parts for `TRAIN,VAL,TEST`"},
		&cli.StringFlag{Name: "split-column", Usage: "`COLUMN` that says which split a row is in"},
		&cli.StringFlag{Name: "split-pattern", Usage: "`REGEX` that takes the split out of that column's text; rows without a match are left out"},
		&cli.Float64Flag{Name: "val-part", Usage: "with --split-column, `PART` of the rows for training that are for validation"},
		&cli.Uint64Flag{Name: "seed", Usage: "seed of --split"},
		&cli.IntFlag{Name: "max-length", Usage: "leave out rows of more than `N` tokens"},
		&cli.StringFlag{Name: "max-row", Value: "64MiB", Usage: "`SIZE` that a row has at most"},
		&cli.StringFlag{Name: "name", Usage: "`NAME` of the data set", DefaultText: "that of --to"},
		noBaselinesFlag(),
		&cli.BoolFlag{Name: "strict", Usage: "stop at the first row that cannot be used"},
		&cli.BoolFlag{Name: "force", Usage: "replace what is there already"},
	}...)
}

// convertCustom makes a data set of the user's own tables.
func convertCustom(c *cli.Context) error {
	if c.Args().Present() {
		name := c.Args().First()
		if like := suggestCommand(c.Command.Subcommands, name); like != "" {
			return usage(c, "unknown task %q. %s", name, like)
		}
		return usage(c, "expected a task (%s) or flags only, found %q: what is read is named by --from", namesOf(importedTasks()), name)
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
	var shown phases
	o.Chosen = func(choice tokenizers.Choice) {
		fmt.Fprintf(c.App.Writer, "tokenizer %s: %s (--tokenizer takes another)\n", choice.Name, choice.Reason)
	}
	o.Reading = func(bytes int64) { shown.of(total, "reading for the tokenizer", unitBytes).Add(bytes) }
	o.Learning = func(done, all int) {
		bar := shown.of(int64(all), "learning the tokenizer", "rounds")
		bar.Add(min(1, int64(done))) // the first call says that none is done
	}
	o.Progress = func(bytes int64) { shown.of(total, "converting", unitBytes).Add(bytes) }
	d, left, err := convert.Convert(c.Context, o)
	shown.Finish()
	if err == nil {
		fmt.Fprint(c.App.ErrWriter, left)
	} else {
		err = withoutFolders(err, &o, left)
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
	for _, text := range customWarnings(c, d.Manifest, &o) {
		fmt.Fprintf(c.App.ErrWriter, "warning: %s\n", text)
	}
	return errors.Join(err, newBaselines(c, d))
}

// shortList joins the first few of many names.
func shortList(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

func customOptions(c *cli.Context) (o convert.Options, err error) {
	if err := needFlags(c, "from", "to"); err != nil {
		return o, err
	}
	row, err := size(c, "max-row", 1<<10, 1<<30)
	if err != nil {
		return o, err
	}
	tokenizer, file, err := chosenTokenizer(c)
	if err != nil {
		return o, err
	}
	o = convert.Options{
		From: c.StringSlice("from"), To: c.String("to"), Format: c.String("format"), Name: c.String("name"),
		Text: c.String("text"), Tokens: c.String("tokens"), Features: c.String("features"), Label: c.String("label"),
		LabelSeparator: c.String("label-separator"), ID: c.String("id"), Tokenizer: tokenizer, TokenizerFile: file, Vocab: c.Int("vocab"),
		SplitColumn: c.String("split-column"), Val: c.Float64("val-part"), Seed: c.Uint64("seed"), MaxLength: c.Int("max-length"),
		Strict: c.Bool("strict"), Replace: c.Bool("force"), MaxField: int(row),
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
	if c.IsSet("feature-names") {
		if o.FeatureNames, err = parseLabels(c.String("feature-names")); err != nil {
			return o, usage(c, "--feature-names: %w", err)
		}
	}
	if c.IsSet("labels") {
		if o.Labels, err = parseLabels(c.String("labels")); err != nil {
			return o, usage(c, "--labels: %w", err)
		}
	}
	if c.IsSet("label-columns") {
		if o.LabelColumns, err = parseLabels(c.String("label-columns")); err != nil {
			return o, usage(c, "--label-columns: %w", err)
		}
	}
	if c.IsSet("numbers") {
		if o.Numbers, err = parseLabels(c.String("numbers")); err != nil {
			return o, usage(c, "--numbers: %w", err)
		}
	}
	if o.LabelPattern, err = pattern(c, "label-pattern"); err != nil {
		return o, err
	}
	if o.SplitPattern, err = pattern(c, "split-pattern"); err != nil {
		return o, err
	}
	if c.IsSet("delimiter") {
		if o.Delimiter, err = table.ParseDelimiter(c.String("delimiter")); err != nil {
			return o, usage(c, "--delimiter: %w", err)
		}
	}
	if o.Shares, err = parseShares(c.String("split")); err != nil {
		return o, usage(c, "--split %q: %w", c.String("split"), err)
	}
	if err := tagOptions(c, &o); err != nil {
		return o, err
	}
	noText := func(path string) bool {
		of, err := table.FormatOf(path)
		return o.Format != "text" && (o.Format != "" || err != nil || of != "text" || table.IsFolder(path, o.Format))
	}
	switch {
	case o.Text != "" || o.Tokens != "" || o.Features != "" || o.Pair != nil:
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

// areFolders reports whether all that is to be read is folders of files.
func areFolders(paths []string, format string) bool {
	return !slices.ContainsFunc(paths, func(path string) bool { return !table.IsFolder(path, format) })
}

// parseShares reads parts for train, val and test.
func parseShares(text string) (shares []convert.Share, err error) {
	names := []string{"train", "val", "test"}
	parts := strings.Split(text, ",")
	if len(parts) != len(names) {
		return nil, fmt.Errorf("expected three numbers, found %d", len(parts))
	}
	for i, part := range parts {
		v, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
		if err != nil {
			return nil, fmt.Errorf("expected a number, found %q", part)
		}
		shares = append(shares, convert.Share{Split: names[i], Part: v})
	}
	return shares, nil
}
