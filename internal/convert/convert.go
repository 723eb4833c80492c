// Package convert converts tables and graphs of other programs to a data set. Its memory use does not
// grow with the size of the tables. All CPUs tokenize rows, which are written in order, so that the same
// input always produces the same files.
//
// Unless a column names the splits, a hash of a row's text (of a pair's first text) determines the row's
// split, independent of the tokenizer, so that equal texts are in the same split. Small data sets are also
// stratified by class.
// Unusable rows are counted by reason, with the locations of the first few.
package convert

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"

	"github.com/sftseq/sftseq/internal/jsonlines"
	"github.com/sftseq/sftseq/internal/source"
	"github.com/sftseq/sftseq/internal/stratify"
	"github.com/sftseq/sftseq/internal/table"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/tokenizers"
)

// Options configure a conversion.
type Options struct {
	From   []string // files or folders, or "-" for standard input
	To     string   // directory of the data set
	Format string   // format of all files; "" derives it from their names

	Delimiter byte // delimiter of CSV; 0 means a comma

	Name     string // name of the data set
	Text     string // column with text; exactly one of Text, Tokens, Features, Series and Pair is set
	Tokens   string // column with lists of token ids
	Features string // column with lists of numbers for each token
	// Series are the columns of a series: a column with a list of numbers, or a column for each
	// step. They set Features and FeatureNames.
	Series        []string
	Pair          []string // the two columns of a pair
	Label         string   // column of the class or labels; "" without labels
	Numbers       []string // columns of a regression, instead of Label
	Tags          string   // column with a tag for each token or word, instead of Label
	Spans         string   // column with spans of the text and their labels, instead of Label
	Intervals     string   // file with intervals of sequences (BED, GFF, GTF), instead of Label
	IntervalTypes []string // types of intervals; nil means all
	Strands       bool     // intervals on different strands have different labels
	FeatureNames  []string // names of the numbers of a token
	Labels        []string // names of the labels, in order; nil means all names in the data, sorted
	ID            string   // column with row ids; "" means the record name if there is one, otherwise the location

	LabelColumns   []string // columns of 0 and 1, one per label, instead of Label
	LabelSeparator string   // separates the labels in the column Label; "" means that only lists have several labels

	LabelPattern *regexp.Regexp // extracts the class from the label; nil takes the whole label

	// Tokenizer is the JSON of the tokenizer for text; nil chooses a tokenizer that suits the texts.
	// Learning a tokenizer reads the files once more.
	Tokenizer       []byte
	TokenizerFile   string                  // tokenizer.json to use instead, stored with the data
	TokenizerChosen func(tokenizers.Choice) // receives the chosen tokenizer; may be nil
	Vocab           int                     // size of the vocabulary of Tokens

	SplitFractions []SplitFraction // nil means [DefaultSplitFractions]
	SplitColumn    string          // column with the split of a row, instead of random splits
	SplitPattern   *regexp.Regexp  // extracts the split from SplitColumn; nil takes the whole value
	Val            float64         // fraction of the train rows of SplitColumn to use for validation
	Seed           uint64          // seed of the random splits
	MaxLength      int             // rows with more tokens are left out; 0 means no limit

	Strict   bool // an unusable row is an error
	Replace  bool // replace a complete data set
	MaxField int  // maximum bytes of a row; 0 means table.DefaultMaxField

	// Callbacks for progress; each may be nil.
	TokenizerProgress func(bytes int64)   // bytes read since the last call, to learn a tokenizer
	TokenizerRounds   func(done, all int) // finished and total rounds of learning a tokenizer
	Progress          func(bytes int64)   // bytes converted since the last call

	head int // bytes to keep in memory before output files are created, for tests; 0 means headBytes
}

// SplitFraction is a split and its fraction of the rows.
type SplitFraction = stratify.SplitFraction

// DefaultSplitFractions are the default splits and their fractions.
var DefaultSplitFractions = []SplitFraction{{Split: "train", Fraction: 0.9}, {Split: "val", Fraction: 0.05},
	{Split: "test", Fraction: 0.05}}

// Convert converts the tables o.From to a data set in the directory o.To. The returned report of
// skipped rows is also valid if Convert returns an error.
func Convert(ctx context.Context, o Options) (*seq.Dataset, *source.Skipped, error) {
	c := &converter{options: o, skipped: source.NewSkipped()}
	if err := c.prepare(ctx); err != nil {
		return nil, c.skipped, err
	}
	c.skipped.Content = o.content()
	if err := c.assignSplits(ctx); err != nil {
		return nil, c.skipped, err
	}
	if err := c.prepareTokenizer(ctx); err != nil {
		return nil, c.skipped, err
	}
	out := output{converter: c, splits: map[string]*seq.SplitWriter{}, splitsFound: map[string]bool{},
		texts: newRepeats()}
	defer out.abort()
	if err := c.convertAll(ctx, out.write); err != nil {
		return nil, c.skipped, err
	}
	d, err := out.finish(ctx)
	return d, c.skipped, err
}

// content names the content of rows in reports: "features", "sequence" for FASTA, "content" for a
// folder of files of any kind, or "" for text.
func (o *Options) content() string {
	switch {
	case o.Features != "" || o.Series != nil:
		return "features"
	case o.Text == "sequence" || o.Text == "content":
		return o.Text
	}
	return ""
}

// converter is a running conversion.
type converter struct {
	options       Options
	columns       []string   // columns to read
	splitAt       int        // index of the split column in columns, if there is one
	idAt          int        // index of the id column in columns; -1 without an id column
	tagsAt        int        // index of the column of tags or spans
	intervals     *intervals // intervals of sequences; nil without intervals
	names         *table.Names
	tokenizer     tokenizers.Tokenizer
	bytes         bool   // the tokens are the bytes of the text
	file          []byte // file of the tokenizer; nil if the tokenizer has no file
	spec          seq.Spec
	labels        labels
	labelsDecided bool // whether it is known if the data are multi-label
	hasEndMarks   bool // the tags mark the ends of spans
	tagPositions  tagPositions
	inconsistent  atomic.Int64 // number of rows with inconsistent span tags

	otherEncoding  atomic.Bool // set if a row was left out because its text is not UTF-8
	marksDecided   bool        // whether hasEndMarks is known
	skipped        *source.Skipped
	assignedSplits map[uint64]string // splits by the hash of a text; nil if the hash and the fractions decide
	// firstUnreadable is the error of the first row that could not be read to learn a tokenizer, or nil.
	firstUnreadable error
	// firstUnsuitable is the error of the first text that was skipped when learning a tokenizer, or
	// nil.
	firstUnsuitable error
}

// Indices of columns.
const (
	firstText  = 0
	secondText = 1 // second text of a pair
)

// nameSeries replaces the columns of a series by features, whose names come from the first file.
func (c *converter) nameSeries(ctx context.Context) error {
	o := &c.options
	if o.Features != "" || len(o.From) == 0 {
		return errors.New("a series requires files and cannot be combined with other features")
	}
	names, err := table.SeriesNames(ctx, o.From[0], table.Options{Series: o.Series, NotSeries: o.targets(),
		Note: c.skipped.Note, Format: o.Format, Delimiter: o.Delimiter, MaxField: o.MaxField})
	o.Features, o.FeatureNames = table.SeriesName(o.Series), names
	return err
}

// tableOptions returns the options for reading tables.
func (c *converter) tableOptions(progress func(bytes int64)) table.Options {
	var copied []string // columns with lists of words, tags or spans, kept as JSON
	if c.options.isTagging() {
		copied = []string{c.options.Tags + c.options.Spans}
		if c.options.Tags != "" && c.options.Text != "" {
			copied = append(copied, c.options.Text)
		}
	}
	var features []string
	if c.options.Features != "" && c.options.Series == nil {
		features = []string{c.options.Features}
	}
	return table.Options{Columns: c.columns, Series: c.options.Series, NotSeries: c.options.targets(), Copied: copied,
		Features: features, Lists: c.options.labelLists(), Format: c.options.Format,
		Delimiter: c.options.Delimiter, MaxField: c.options.MaxField, Progress: progress,
		MissingColumn: c.noteMissingColumn, Note: c.skipped.Note}
}

// noteMissingColumn notes a column that no row of a file has. found lists the existing columns.
func (c *converter) noteMissingColumn(file, column string, found []string) {
	c.skipped.Note(table.MissingColumnText(file, column, found))
}

// prepareTokenizer reads, chooses or learns the tokenizer and sets its fields in c.spec.
func (c *converter) prepareTokenizer(ctx context.Context) error {
	o := &c.options
	if o.Features != "" {
		return nil
	}
	if o.Tokens != "" {
		spec, err := json.Marshal(map[string]any{"type": tokenizers.IDs{}.Type(), "vocab": o.Vocab})
		if err == nil { // predict reads texts of ids with this tokenizer
			_, err = tokenizers.New(spec)
		}
		c.spec.Tokenizer, c.spec.VocabSize = spec, o.Vocab
		return err
	}
	if o.TokenizerFile != "" {
		if err := c.readTokenizer(); err != nil {
			return err
		}
	} else if err := c.learnTokenizer(ctx); err != nil {
		return err
	}
	if err := c.checkPixels(ctx); err != nil {
		return err
	}
	_, c.bytes = c.tokenizer.(tokenizers.Byte)
	if o.Spans != "" || o.Intervals != "" {
		if err := tokenizers.HasOffsets(c.tokenizer); err != nil {
			return fmt.Errorf("tags of spans: %w", err)
		}
	}
	c.spec.Tokenizer, c.spec.VocabSize, c.spec.PadID = o.Tokenizer, c.tokenizer.VocabSize(), c.tokenizer.PadID()
	return nil
}

// example converts a row to an example, whose tokens are valid until the next call. With the byte
// tokenizer, the example has no tokens, because appendRow reads the text. Label and Labels hold
// provisional numbers: see [labels].
func (w *worker) example(row *table.Row) (e seq.Example, split string, reason *source.SkipReason) {
	if w.intervals != nil {
		w.intervals.recordSequence(w.sequenceName(row), row.File, row.Line)
	}
	if row.Err != nil {
		return e, "", w.unreadable(row.Err)
	}
	for i, v := range w.texts(row) {
		if reason = w.checkText(v); reason == nil && w.options.Features != "" {
			e.Features = v.Features
			reason = w.checkLength(len(v.Features))
		} else if reason == nil && w.bytes {
			reason = w.checkLength(len(v.Text))
		} else if reason == nil {
			reason = w.encode(&e, i, v)
		}
		if reason != nil {
			return e, "", reason
		}
	}
	if split, reason = w.split(row); reason != nil {
		return e, "", reason
	}
	e.Label = seq.NoLabel
	if names := w.options.Numbers; names != nil {
		e.Numbers, reason = w.numbersOf(row.Values[len(w.texts(row)):][:len(names)])
	}
	switch {
	case w.options.isTagging():
		if reason == nil {
			e.Labels, reason = w.tokenTags(row, &e)
		}
	case w.isMultiLabel():
		e.Labels, reason = w.labelsOf(row)
	case w.options.Label != "":
		e.Label, reason = w.label(row.Values[len(w.texts(row))]) // last, so that skipped rows add no class
	}
	return e, split, reason
}

// unreadable returns the skip reason of a row with the error err.
func (w *worker) unreadable(err error) *source.SkipReason {
	var column *table.ColumnError
	if errors.As(err, &column) && column.IsList && column.Column == w.options.Label && !w.isMultiLabel() {
		return listOfLabels(w.options.Label)
	}
	if column != nil && column.IsList && column.Column == w.options.Text {
		err = fmt.Errorf("column %s: expected a text, found %s", column.Column, describeList(err, column.Column))
	}
	if errors.Is(err, tokenizers.ErrNotUTF8) {
		w.otherEncoding.Store(true)
	}
	return source.Skip("the row cannot be read", err)
}

// describeList describes a list in the text column and states the next step. err is the error of
// reading the list as token ids; its text ends with the element that is not an id.
func describeList(err error, column string) string {
	switch _, element, _ := strings.Cut(err.Error(), ", found "); {
	case strings.HasPrefix(element, `"`):
		return "a list of texts (--text reads one text per row: join the texts, for example with spaces)"
	case strings.HasPrefix(element, "a list"):
		return fmt.Sprintf("a list of lists (read the features of tokens with --features %s)", column)
	}
	return fmt.Sprintf("a list of numbers (read it as a series with --series %s)", column)
}

// encode tokenizes text i of a row and stores the tokens in e.
func (w *worker) encode(e *seq.Example, i int, v table.Value) (reason *source.SkipReason) {
	into, scratch := &e.A, &w.first
	if i == secondText {
		into, scratch = &e.B, &w.second
	}
	*into, reason = w.tokens(v, (*scratch)[:0])
	*scratch = *into
	return reason
}

// texts returns the input values of a row: one text, or the two texts of a pair.
func (c *converter) texts(row *table.Row) []table.Value {
	if c.options.Pair != nil {
		return row.Values[:2]
	}
	return row.Values[:1]
}

// split returns the split of a row.
func (w *worker) split(row *table.Row) (string, *source.SkipReason) {
	o := &w.options
	fractions := o.SplitFractions
	if o.SplitColumn != "" {
		name := row.Values[w.splitAt].Text
		part, ok := extract(o.SplitPattern, name)
		if !ok {
			return "", unmatched("split", o.SplitPattern, name)
		}
		split := splitOf(part)
		if !validSplit(split) {
			return "", source.Skip("no split", fmt.Errorf("expected a name such as train, found %q",
				jsonlines.Shorten(part, 40)))
		}
		if split != "train" {
			return split, nil
		}
		fractions = o.valFractions()
	}
	w.digest = digestOf(o.Seed, row.Values[firstText], &w.text)
	if split, ok := w.assignedSplits[binary.BigEndian.Uint64(w.digest[:])]; ok {
		return split, nil
	}
	return drawSplit(fractions, w.digest), nil
}

// valFractions returns the fractions of train and validation among the train rows of SplitColumn.
func (o *Options) valFractions() []SplitFraction {
	return []SplitFraction{{Split: "train", Fraction: 1 - o.Val}, {Split: "val", Fraction: o.Val}}
}

// checkText returns a skip reason if a value is missing, or is not of the type that the options
// require: a text, a list of tokens, or features.
func (c *converter) checkText(v table.Value) *source.SkipReason {
	switch {
	case v.Null:
		return source.Skip("no "+c.inputName(), nil)
	case c.options.Features != "" && v.Features == nil:
		return source.Skip("no list of features", fmt.Errorf("found %q", jsonlines.Shorten(v.Text, 40)))
	case c.options.Features != "":
		return nil
	case c.tokenizer == nil && v.Tokens == nil:
		return source.Skip("no list of tokens", fmt.Errorf("found %q, expected a list of token ids (read a text of "+
			"ids with --text COLUMN --tokenizer ids:N)", jsonlines.Shorten(v.Text, 40)))
	case c.tokenizer != nil && v.Tokens != nil:
		return source.Skip("no text", fmt.Errorf("found a list (read token ids with --tokens %[1]s --vocab N, or "+
			"numbers with --series %[1]s)", cmp.Or(c.options.Text, "COLUMN")))
	}
	return nil
}

// inputName returns the name of a row's input in skip reasons: "features" or "text".
func (c *converter) inputName() string {
	if c.options.Features != "" {
		return "features"
	}
	return "text"
}

// checkLength returns a skip reason for an invalid number of tokens.
func (c *converter) checkLength(n int) *source.SkipReason {
	if n == 0 {
		return source.Skip("empty "+c.inputName(), nil)
	}
	if maxLength := c.options.MaxLength; maxLength > 0 && n > maxLength {
		return source.Skip(fmt.Sprintf("more than %d tokens", maxLength), fmt.Errorf("found %d", n))
	}
	return nil
}

// tokens returns the tokens of a value. It uses the memory of buf if its capacity suffices.
func (c *converter) tokens(v table.Value, buf []int32) ([]int32, *source.SkipReason) {
	if c.tokenizer == nil {
		if reason := c.checkTokens(v.Tokens); reason != nil {
			return buf, reason
		}
		return append(buf, v.Tokens...), c.checkLength(len(v.Tokens))
	}
	tokens, err := tokenizers.AppendEncode(c.tokenizer, buf, v.Text)
	switch {
	case errors.Is(err, tokenizers.ErrNotUTF8):
		c.otherEncoding.Store(true)
		return buf, source.Skip("the text is not UTF-8", err)
	case err != nil:
		return buf, source.Skip(Refused, err)
	}
	return tokens, c.checkLength(len(tokens))
}

// label returns the provisional number of a row's label.
func (w *worker) label(v table.Value) (int32, *source.SkipReason) {
	if v.Tokens != nil || v.Items != nil {
		return 0, listOfLabels(w.options.Label)
	}
	text, ok := extract(w.options.LabelPattern, v.Text)
	if text = strings.TrimSpace(text); v.Null || text == "" && ok {
		return 0, source.Skip(NoLabel, nil)
	}
	if !ok {
		return 0, unmatched("label", w.options.LabelPattern, v.Text)
	}
	if n, ok := w.known[text]; ok {
		return n, nil
	}
	n, reason := w.labels.number(text)
	if reason == nil {
		w.known[strings.Clone(text)] = n // text shares the memory of its row
	}
	return n, reason
}
