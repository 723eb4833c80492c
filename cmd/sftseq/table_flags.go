package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/inference"
	"github.com/sftseq/sftseq/internal/jsonlines"
	"github.com/sftseq/sftseq/internal/table"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// tableNames lists the flags of tableFlags except --input, --output and --csv-safe.
var tableNames = []string{"text", "tokens", "series", "features", "pair", "id", "keep", "format", "delimiter"}

// Formats of --output, by the endings of file names.
const (
	vectorFormats     = ".jsonl, .csv, .tsv, .parquet or .arrow"
	predictionFormats = ".jsonl, .csv, .tsv, .parquet, .arrow, .bed (spans)"
)

// tableFlags returns the flags of tables. formats lists the formats of --output.
func tableFlags(formats string) []cli.Flag {
	return slices.Concat(
		group(inputGroup,
			&cli.StringFlag{Name: "input",
				Usage:     "read a table from `FILE` or a folder, in place of JSON lines; - is standard input",
				TakesFile: true},
			&cli.StringFlag{Name: "text", Usage: "read the text in `COLUMN`"},
			&cli.StringFlag{Name: "pair", Usage: "read pairs of texts from columns `A,B`"},
			&cli.StringFlag{Name: "tokens", Usage: "read lists of token ids from `COLUMN`"},
			seriesFlag(),
			&cli.StringFlag{Name: "features",
				Usage: "read a list of numbers for each token from `COLUMN`"},
			&cli.StringFlag{Name: "id", Usage: "take the ids of rows from `COLUMN`",
				DefaultText: "name of the record, or FILE:LINE"}),
		advancedGroup(inputGroup, formatFlags()...),
		group(outputGroup,
			&cli.StringFlag{Name: "output", Aliases: []string{"o"},
				Usage:       "write `FILE`: " + formats + "; or DIR/ for the parts of --shard",
				DefaultText: "JSON lines on standard output", TakesFile: true},
			&cli.StringFlag{Name: "keep", Usage: "copy columns `A,B`, or all, to the output"},
			csvSafeFlag()),
	)
}

// csvSafe is the name of the flag for tables that are opened in spreadsheets.
const csvSafe = "csv-safe"

func csvSafeFlag() cli.Flag {
	return &cli.BoolFlag{Name: csvSafe,
		Usage: "prefix ' to CSV and TSV texts that a spreadsheet would read as formulas (= + - @)"}
}

// outputFormat returns the format of the output file that a flag names. --csv-safe selects the variant
// that is safe for spreadsheets.
func outputFormat(c *cli.Context, flag string) (string, error) {
	format, err := table.OutputFormat(c.String(flag))
	if err != nil || !c.Bool(csvSafe) {
		return format, err
	}
	if format, err = table.SafeFormat(format); err != nil {
		err = fmt.Errorf("--%s: %w", csvSafe, err)
	}
	return format, err
}

func seriesFlag() cli.Flag {
	return &cli.StringFlag{Name: "series",
		Usage: "read a series of numbers: lists in `COLUMN`, or 't*' for one column per step"}
}

// formatFlags returns the flags for the format and the delimiter of a table.
func formatFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "format", Usage: "read as `KIND`: " + strings.Join(table.Formats,
			", "), DefaultText: "by name"},
		&cli.StringFlag{Name: "delimiter", Usage: "split fields of CSV at `CHARACTER`: ; or | or another, or tab",
			DefaultText: "comma"},
	}
}

// checkTableFlags reports whether --input is set. It returns an error for table flags without --input,
// for files in addition to --input without shards, for a task of a cluster job if no flag selects shards,
// and for a FILE that is not JSON lines.
func checkTableFlags(c *cli.Context) (hasInput bool, err error) {
	if c.String("input") != "" {
		if c.Args().Present() && !sharded(c) {
			return true, usage(c, "--input %s and %s: expected one of them", c.String("input"), c.Args().First())
		}
		return true, checkJob(c)
	}
	for _, name := range append([]string{"input", "output", csvSafe}, tableNames...) {
		if c.IsSet(name) {
			return true, usage(c, "--%s needs --input FILE with the table to read", name)
		}
	}
	if c.IsSet("shard") || c.IsSet("on-error") {
		return true, usage(c, "--shard and --on-error need --input with the files to read")
	}
	if err := refuseNonLines(c.Args().First()); err != nil {
		return false, usage(c, "%w", err)
	}
	return false, nil
}

// copiesArrow reports whether the input is processed by record batch: the input and the output are Arrow
// files, and neither --csv-safe nor a flag in tableNames is set. A file whose name has no known format
// counts as an Arrow file.
func copiesArrow(c *cli.Context) bool {
	if slices.ContainsFunc(tableNames, c.IsSet) || c.Bool(csvSafe) {
		return false
	}
	in, err := table.FormatOf(c.String("input"))
	if err != nil {
		in = "arrow"
	}
	out, err := table.OutputFormat(c.String("output"))
	if err != nil {
		out = "arrow"
	}
	info, err := os.Stat(c.String("input"))
	return in == "arrow" && out == "arrow" && (err != nil || !info.IsDir())
}

// tableInput is the input table of the flags.
type tableInput struct{ inference.Table }

// newTableInput returns the input table at path for a model. sequences lists the numbers of sequences
// per row that the model accepts: 1, 2 or both.
func newTableInput(c *cli.Context, config *sft.Config, sequences []int, path string) (*tableInput, error) {
	in := &tableInput{inference.Table{Path: path, ID: c.String("id"), Tokens: c.IsSet("tokens"),
		Points: config.HasFeatures()}}
	in.Options = table.Options{Format: c.String("format"), MaxField: table.DefaultMaxField}
	if c.IsSet("max-line") {
		in.Options.MaxField = c.Int("max-line")
	}
	if err := in.checkFormat(c); err != nil {
		return nil, err
	}
	if err := in.findSources(c); err != nil {
		return nil, err
	}
	if reads := c.String("features")+c.String("series") != ""; len(in.Sources) > 0 && reads != in.Points {
		what, flags := "tokens", "--text or --tokens"
		if in.Points {
			what, flags = "features", "--features COLUMN or --series"
		}
		found := "column"
		if c.IsSet("series") {
			found = "--series"
		}
		return nil, usage(c, "the model %s reads %s: expected %s COLUMN, found %s %s", givenModel(c), what,
			flags, found, strings.Join(in.Sources, ","))
	}
	have, err := in.columns(c)
	if err != nil {
		return nil, err
	}
	if len(in.Sources) == 0 && in.Options.Format == "arrow" {
		in.ownColumns(have)
	}
	if in.Points && in.Options.Series == nil {
		in.Options.Features = in.Sources
	}
	switch {
	case len(in.Sources) == 0 && in.Points && table.IsFolder(in.Path, in.Options.Format):
		return nil, usage(c, "--input %s: the model reads features, found a folder of files: convert files of "+
			"points with sftseq data convert cloud --from %s --to DIR --val-part 0 --test-part 0 --no-baselines, "+
			"then pass --input DIR/train.arrow", in.Path, shellQuote(in.Path))
	case len(in.Sources) == 0 && in.Points:
		return nil, usage(c, "expected --series or --features with the column of %s to read%s", in.Path,
			listOf(have))
	case len(in.Sources) == 0:
		return nil, usage(c, "expected --text, --tokens or --pair with the column of %s to read%s", in.Path,
			listOf(have))
	case len(in.Sources) == 1 && !slices.Contains(sequences, 1):
		return nil, usage(c, "the model %s compares two sequences: expected --pair A,B, found one column, %s",
			givenModel(c), in.Sources[0])
	case len(in.Sources) == 2 && !slices.Contains(sequences, 2):
		return nil, usage(c, "the model %s reads one sequence: expected --text COLUMN, found a pair, %s",
			givenModel(c), strings.Join(in.Sources, ","))
	}
	if in.Keep, err = in.kept(c, have); err != nil {
		return nil, err
	}
	in.Options.Columns = in.read()
	for _, name := range in.Keep {
		if name != in.ID && !slices.Contains(in.Sources, name) {
			in.Options.Copied = append(in.Options.Copied, name)
		}
	}
	in.Warn = func(text string) { printWarnings(c, []string{text}) }
	in.Options.Typed = in.copied() // the checks below open the table
	if c.String("keep") == "all" {
		in.leaveOut(c)
	}
	return in, in.checkDeclared(c, config)
}

// leaveOut removes columns of --keep all that cannot be copied, with a warning.
func (in *tableInput) leaveOut(c *cli.Context) {
	for {
		t, err := table.Open(c.Context, in.Path, in.Options)
		if err == nil {
			t.Close()
			return
		}
		var column *table.ColumnError
		if !errors.As(err, &column) || !slices.Contains(in.Options.Copied, column.Column) {
			return // the error is reported when the table is read
		}
		isRefused := func(name string) bool { return name == column.Column }
		in.Keep = slices.DeleteFunc(in.Keep, isRefused)
		in.Options.Copied = slices.DeleteFunc(in.Options.Copied, isRefused)
		in.Options.Columns = slices.DeleteFunc(in.Options.Columns, isRefused)
		in.Options.Typed = in.copied()
		printWarnings(c, []string{fmt.Sprintf("%v (--keep all leaves it out)", err)})
	}
}

// checkFormat checks --format, --output and --delimiter. Without --format, it determines the format of
// the input from the name.
func (in *tableInput) checkFormat(c *cli.Context) error {
	if f := in.Options.Format; f != "" && !slices.Contains(table.Formats, f) {
		hint := ""
		if f == table.BED {
			hint = " (--format is the format of --input; write spans as BED with --output FILE.bed)"
		}
		return badFlag(c, "format", "one of %s%s", strings.Join(table.Formats, ", "), hint)
	}
	if _, err := outputFormat(c, "output"); err != nil && !sharded(c) {
		return invalidFlag(c, "output", err)
	}
	if format, err := outputFormat(c, "output"); err == nil && format == table.BED && c.Command.Name == "embed" {
		return badFlag(c, "output", "a file name that ends in %s: BED has spans, not vectors", vectorFormats)
	}
	if c.IsSet("delimiter") {
		var err error
		if in.Options.Delimiter, err = table.ParseDelimiter(c.String("delimiter")); err != nil {
			return invalidFlag(c, "delimiter", err)
		}
	}
	info, missing := os.Stat(in.Path)
	if in.Options.Format == "" && (missing != nil || !info.IsDir()) {
		var err error
		in.Options.Format, err = table.FormatOf(in.Path)
		if err != nil && in.Path != table.StandardInput && errors.Is(missing, fs.ErrNotExist) {
			return missing // reported before an unknown format of the name
		}
		if err != nil {
			return usage(c, "--input: %w", err)
		}
	}
	return nil
}

// findSources sets the source columns from the flags, or to the default column of a folder, a file with
// lines of text or a CoNLL file.
func (in *tableInput) findSources(c *cli.Context) error {
	var flags []string
	for _, name := range []string{"text", "tokens", "series", "features", "pair"} {
		if c.String(name) != "" {
			flags, in.Sources = append(flags, "--"+name), []string{c.String(name)}
		}
	}
	if len(flags) > 1 {
		return usage(c, "%s exclude each other", strings.Join(flags, " and "))
	}
	if c.String("pair") != "" {
		if in.Sources = strings.Split(c.String("pair"), ","); len(in.Sources) != 2 || slices.Contains(in.Sources, "") {
			return badFlag(c, "pair", "two columns, A,B")
		}
	}
	if c.String("series") != "" {
		if err := parseNamesFlag(c, "series", &in.Options.Series); err != nil {
			return err
		}
		in.Sources = []string{table.SeriesName(in.Options.Series)}
	}
	switch {
	case len(flags) > 0 || in.Points:
	case table.IsFolder(in.Path, in.Options.Format):
		in.Sources = table.FolderColumns[:1]
	case in.Options.Format == "text":
		in.Sources = table.TextColumns[:1]
	case in.Options.Format == "conll":
		in.Sources = []string{"token"} // the default column of data convert
	}
	return nil
}

// columns returns the columns of the table, or nil if only the rows determine them or the table can
// be read only once.
func (in *tableInput) columns(c *cli.Context) ([]string, error) {
	if table.ReadOnce(in.Path) {
		return nil, nil
	}
	t, err := table.Open(c.Context, in.Path, in.Options)
	if err != nil {
		return nil, err
	}
	return t.Columns(), t.Close()
}

// ownColumns sets the source columns and the id column of a data set's file.
func (in *tableInput) ownColumns(have []string) {
	for _, name := range have {
		if in.Points && name == seq.ColumnFeatures {
			in.Sources = append(in.Sources, name)
		} else if !in.Points && seq.IsTokenColumn(name) {
			in.Sources, in.Tokens = append(in.Sources, name), true
		}
	}
	if in.Sources != nil && in.ID == "" && slices.Contains(have, seq.ColumnID) {
		in.ID = seq.ColumnID
	}
}

// kept returns the columns of --keep.
func (in *tableInput) kept(c *cli.Context, have []string) (keep []string, err error) {
	switch text := c.String("keep"); {
	case text == "":
		return nil, nil
	case text != "all" || slices.Contains(have, "all"):
		lines := csv.NewReader(strings.NewReader(text)) // a name may contain commas between quotes
		lines.LazyQuotes = true
		names, err := lines.ReadAll()
		if err != nil || len(names) != 1 || slices.Contains(names[0], "") {
			return nil, badFlag(c, "keep", `columns, A,B or "A,1",B, or all`)
		}
		keep = names[0]
	case have == nil:
		return nil, usage(c, "--keep all: the columns of %s are unknown until it is read: "+
			"name the columns to keep, --keep A,B", in.Path)
	default:
		for _, name := range have {
			// The contents of whole files are not copied. The output always has the column id.
			wholeFiles := table.IsFolder(in.Path, in.Options.Format) && name == table.FolderColumns[0]
			if !wholeFiles && (name != in.ID || name != seq.ColumnID) {
				keep = append(keep, name)
			}
		}
	}
	for i, name := range keep {
		if slices.Contains(keep[:i], name) {
			return nil, usage(c, "--keep %q: %s is given twice", c.String("keep"), name)
		}
	}
	return keep, nil
}

// read returns the columns to read, without duplicates.
func (in *tableInput) read() (all []string) {
	own := in.Sources
	if in.ID != "" {
		own = append(slices.Clip(own), in.ID)
	}
	for _, name := range slices.Concat(own, in.Keep) { // a column may have the empty name ""
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// copied returns the columns that are copied to the output: the columns of --keep, and the id
// column.
func (in *tableInput) copied() []string {
	if in.ID == "" || slices.Contains(in.Keep, in.ID) {
		return in.Keep
	}
	return append(slices.Clip(in.Keep), in.ID)
}

// keepTypes keeps the types of copied columns if the output is Parquet or Arrow, and warns if types differ
// between files. In other formats, copied dates and times become text.
func (in *tableInput) keepTypes(c *cli.Context, paths []string, format string) error {
	in.Options.Typed = in.copied()
	if format != "parquet" && format != "arrow" {
		return nil
	}
	types, err := table.NewStoredTypes(c.Context, paths, in.Options.Format, in.Options.Typed, format == "parquet")
	if err != nil {
		return in.keepError(err)
	}
	printWarnings(c, types.Conflicts)
	in.Types = types.Fields
	return nil
}

// keepError adds advice to leave a column out of --keep to an error about a column that is only
// copied.
func (in *tableInput) keepError(err error) error {
	var column *table.ColumnError
	if errors.As(err, &column) && slices.Contains(in.Options.Copied, column.Column) {
		return fmt.Errorf("%w, or leave it out of --keep", err)
	}
	return err
}

// checkDeclared returns an error if a file's declared token ids or features differ from the
// model's.
func (in *tableInput) checkDeclared(c *cli.Context, config *sft.Config) error {
	switch {
	case !in.Tokens && !in.Points || table.ReadOnce(in.Path):
		return nil
	case in.Sources[0] == seq.ColumnFeatures:
		return in.checkFeatures(c, config)
	case in.Options.Format == "arrow" && seq.IsTokenColumn(in.Sources[0]):
		return in.checkIDs(config)
	}
	return nil
}

// checkIDs returns an error if a file's declared token ids differ from the model's.
func (in *tableInput) checkIDs(config *sft.Config) error {
	r, err := seq.Open(in.Path)
	if err != nil {
		return nil // a file of another program declares nothing
	}
	defer r.Close()
	if err := checkTokens(config, r.Spec()); err != nil {
		return fmt.Errorf("%s: %w", in.Path, err)
	}
	return nil
}

// checkFeatures returns an error if the feature names of an Arrow or Parquet file differ from the
// model's.
func (in *tableInput) checkFeatures(c *cli.Context, config *sft.Config) error {
	t, err := table.Open(c.Context, in.Path, in.Options)
	if err != nil {
		return err
	}
	defer t.Close()
	var names []string
	if err := table.MetadataNames(t, in.Path, seq.KeyFeatureNames, &names); err != nil || names == nil {
		return err
	}
	if err := checkFeatures(config, names); err != nil {
		return fmt.Errorf("%s: %w", in.Path, err)
	}
	return nil
}

// listOf returns a list of the existing columns for an error, or "" if they are unknown.
func listOf(columns []string) string {
	if columns == nil {
		return ""
	}
	return ", one of " + jsonlines.QuoteNames(columns)
}
