// Package convert makes a data set of tables that others wrote. Memory does not grow
// with their size; rows are turned into tokens on all processors and written in their
// order, so that the same input gives the same files.
//
// Which split a row is in is decided by a hash of its text, whatever its tokens are, and in small
// data sets by the classes of all rows, too: the same text is never in two splits. Rows that cannot be used are counted
// by reason, with the first few places of each.
package convert

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"

	"github.com/sftseq/sftseq/internal/source"
	"github.com/sftseq/sftseq/internal/stratify"
	"github.com/sftseq/sftseq/internal/table"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/tokenizers"
)

// Options say what a data set is made of.
type Options struct {
	From   []string // files, or "-"
	To     string   // directory of the data set
	Format string   // of all files; "" is what their names say

	Delimiter byte // between the fields of CSV; 0 is a comma

	Name     string // of the data set
	Text     string // column with text, or
	Tokens   string // column with lists of token ids, or
	Features string // column with lists of numbers for each token, or
	// columns of a series: of a list of numbers, or of a number for each step; Features and FeatureNames are set by
	// them
	Series        []string
	Pair          []string // the two columns of a pair
	Label         string   // column; "" if there are no labels
	Numbers       []string // columns of a regression, in place of Label
	Tags          string   // column with a tag for each token or word, in place of Label, or
	Spans         string   // column with spans of the text and their labels, or
	Intervals     string   // file with those of sequences (BED, GFF, GTF)
	IntervalTypes []string // of these; nil for all
	Strands       bool     // whether intervals on different strands have different labels
	FeatureNames  []string // of each of these numbers
	Labels        []string // names of the labels, in their order; nil for what there is, sorted
	ID            string   // column of what rows are called; "" for the name of the record, or its place

	LabelColumns   []string // each says by 0 or 1 whether its label holds, in place of Label
	LabelSeparator string   // between the labels of a row in the column Label; "" where lists alone are several

	LabelPattern *regexp.Regexp // takes the class out of the label; nil takes all of it

	// JSON, of text; one that is learned reads the files twice; nil for what suits the texts
	Tokenizer     []byte
	TokenizerFile string                  // a tokenizer.json in its place, which is stored with the data
	Chosen        func(tokenizers.Choice) // is told what suits them; may be nil
	Vocab         int                     // of tokens

	Shares       []Share        // of the rows; nil for [DefaultShares]
	SplitColumn  string         // says which split a row is in, in place of shares
	SplitPattern *regexp.Regexp // takes the split out of SplitColumn; nil takes all of it
	Val          float64        // part of the rows that SplitColumn calls train that are for validation
	Seed         uint64         // of the shares
	MaxLength    int            // rows of more tokens are left out; 0 is no limit

	Strict   bool // a row that cannot be used is an error
	Replace  bool // a complete data set that is there already
	MaxField int  // bytes of a row at most; 0 is table.DefaultMaxField

	// What shows how far the work is; each may be nil.
	Reading  func(bytes int64)   // of the files, for a tokenizer that is learned from them
	Learning func(done, all int) // rounds, of one that is learned in many
	Progress func(bytes int64)   // of the files, as their rows are converted

	head int // bytes, in tests; 0 is headBytes
}

// Share is a split and its part of the rows.
type Share = stratify.Share

// DefaultShares are those of a data set that says nothing else.
var DefaultShares = []Share{{Split: "train", Part: 0.9}, {Split: "val", Part: 0.05}, {Split: "test", Part: 0.05}}

// Convert makes the data set. What it returns of the rows that were left out is there
// also with an error.
func Convert(ctx context.Context, o Options) (*seq.Dataset, *source.Skipped, error) {
	c := &converter{options: o, skipped: source.NewSkipped()}
	if err := c.prepare(ctx); err != nil {
		return nil, c.skipped, err
	}
	c.skipped.Content = o.content()
	if err := c.divide(ctx); err != nil {
		return nil, c.skipped, err
	}
	if err := c.readTokens(ctx); err != nil {
		return nil, c.skipped, err
	}
	out := output{converter: c, splits: map[string]*seq.SplitWriter{}, found: map[string]bool{}, seen: newRepeats()}
	defer out.abort()
	if err := c.convertAll(ctx, out.write); err != nil {
		return nil, c.skipped, err
	}
	d, err := out.finish(ctx)
	return d, c.skipped, err
}

// content names what the rows have, for reports: a record of FASTA has a sequence and a file of a folder has
// content, whatever it is of; "" is text.
func (o *Options) content() string {
	switch {
	case o.Features != "" || o.Series != nil:
		return "features"
	case o.Text == "sequence" || o.Text == "content":
		return o.Text
	}
	return ""
}

// converter is a conversion under way.
type converter struct {
	options   Options
	columns   []string   // that are read
	splitAt   int        // place of the column of splits among them, if there is one
	idAt      int        // place of that of ids, -1 if there is none
	tagsAt    int        // place of that of tags or spans
	intervals *intervals // nil without them
	names     *table.Names
	tokenizer tokenizers.Tokenizer
	bytes     bool   // of text are its tokens
	file      []byte // of the tokenizer, nil if it has none
	spec      seq.Spec
	labels    labels
	decided   bool // whether rows have one label or several
	marksEnds bool // the tags mark the ends of spans
	tagPlaces tagPlaces
	broken    atomic.Int64 // rows whose marks of spans do not go together

	otherEncoding atomic.Bool // a row is left out that is not UTF-8
	// marksDecided: marksEnds is known.
	marksDecided bool
	skipped      *source.Skipped
	divided      map[uint64]string // splits by the hash of a text; nil where shares alone decide
	// why the first row cannot be read that a tokenizer would be learned from; nil: all can
	unread error
	// why the first text that a tokenizer cannot be learned from is passed over; nil: none is
	unlearned error
}

// Which of the columns is what.
const (
	firstText  = 0
	secondText = 1 // of a pair
)

// nameSeries has a series be features, whose names the first file says.
func (c *converter) nameSeries(ctx context.Context) error {
	o := &c.options
	if o.Features != "" || len(o.From) == 0 {
		return errors.New("a series, expected from files and without other features")
	}
	names, err := table.SeriesNames(ctx, o.From[0], table.Options{Series: o.Series, NotSeries: o.targets(),
		Note: c.skipped.Note, Format: o.Format, Delimiter: o.Delimiter, MaxField: o.MaxField})
	o.Features, o.FeatureNames = table.SeriesName(o.Series), names
	return err
}

// table is how tables are read.
func (c *converter) table(progress func(bytes int64)) table.Options {
	var copied []string // lists of JSON
	if c.options.tags() {
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
		Features: features, Lists: c.options.lists(), Format: c.options.Format,
		Delimiter: c.options.Delimiter, MaxField: c.options.MaxField, Progress: progress,
		Absent: c.noteAbsent, Note: c.skipped.Note}
}

// noteAbsent takes a column that no row of a file has, and what the first rows have.
func (c *converter) noteAbsent(file, column string, found []string) {
	c.skipped.Note(table.AbsentText(file, column, found))
}

// readTokens decides what tokens are.
func (c *converter) readTokens(ctx context.Context) error {
	o := &c.options
	if o.Features != "" {
		return nil
	}
	if o.Tokens != "" {
		spec, err := json.Marshal(map[string]any{"type": tokenizers.IDs{}.Type(), "vocab": o.Vocab})
		if err == nil { // it is for texts that a model is given later
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
	_, c.bytes = c.tokenizer.(tokenizers.Byte)
	if o.Spans != "" || o.Intervals != "" {
		if err := tokenizers.HasOffsets(c.tokenizer); err != nil {
			return fmt.Errorf("tags of spans: %w", err)
		}
	}
	c.spec.Tokenizer, c.spec.VocabSize, c.spec.PadID = o.Tokenizer, c.tokenizer.VocabSize(), c.tokenizer.PadID()
	return nil
}

// example turns a row into tokens, which are valid until the next row, but for those of
// bytes. Its label is a number of c.labels.
func (w *worker) example(row *table.Row) (e seq.Example, split string, why *source.SkipReason) {
	if w.intervals != nil {
		w.intervals.see(w.called(row), row.File, row.Line)
	}
	if row.Err != nil {
		return e, "", w.unreadable(row.Err)
	}
	for i, v := range w.texts(row) {
		if why = w.checkText(v); why == nil && w.options.Features != "" {
			e.Features = v.Features
			why = w.checkLength(len(v.Features))
		} else if why == nil && w.bytes {
			why = w.checkLength(len(v.Text))
		} else if why == nil {
			why = w.encode(&e, i, v)
		}
		if why != nil {
			return e, "", why
		}
	}
	if split, why = w.split(row); why != nil {
		return e, "", why
	}
	e.Label = seq.NoLabel
	if names := w.options.Numbers; names != nil {
		e.Numbers, why = w.numbersOf(row.Values[len(w.texts(row)):][:len(names)])
	}
	switch {
	case w.options.tags():
		if why == nil {
			e.Labels, why = w.tagged(row, &e)
		}
	case w.manyLabels():
		e.Labels, why = w.labelsOf(row)
	case w.options.Label != "":
		e.Label, why = w.label(row.Values[len(w.texts(row))]) // the last: what is left out has no class
	}
	return e, split, why
}

// unreadable is the reason of a row that cannot be read.
func (w *worker) unreadable(err error) *source.SkipReason {
	var column *table.ColumnError
	if errors.As(err, &column) && column.List && column.Column == w.options.Label && !w.manyLabels() {
		return listOfLabels(w.options.Label)
	}
	if column != nil && column.List && column.Column == w.options.Text {
		err = fmt.Errorf("%w; a list of numbers is a series, which --series reads", err)
	}
	if errors.Is(err, tokenizers.ErrNotUTF8) {
		w.otherEncoding.Store(true)
	}
	return source.Skip("the row cannot be read", err)
}

// encode makes tokens of one of a row's texts.
func (w *worker) encode(e *seq.Example, i int, v table.Value) (why *source.SkipReason) {
	into, scratch := &e.A, &w.first
	if i == secondText {
		into, scratch = &e.B, &w.second
	}
	*into, why = w.tokens(v, (*scratch)[:0])
	*scratch = *into
	return why
}

// texts are the first values of a row: one text, or the two of a pair.
func (c *converter) texts(row *table.Row) []table.Value {
	if c.options.Pair != nil {
		return row.Values[:2]
	}
	return row.Values[:1]
}

// split is the one that a row is in.
func (w *worker) split(row *table.Row) (string, *source.SkipReason) {
	o := &w.options
	shares := o.Shares
	if o.SplitColumn != "" {
		name := row.Values[w.splitAt].Text
		part, ok := taken(o.SplitPattern, name)
		if !ok {
			return "", unmatched("split", o.SplitPattern, name)
		}
		split := splitOf(part)
		if !validSplit(split) {
			return "", source.Skip("no split", fmt.Errorf("expected a name such as train, found %.40q", part))
		}
		if split != "train" {
			return split, nil
		}
		shares = o.valShares()
	}
	w.digest = digestOf(o.Seed, row.Values[firstText], &w.text)
	if split, ok := w.divided[binary.BigEndian.Uint64(w.digest[:])]; ok {
		return split, nil
	}
	return shareOf(shares, w.digest), nil
}

// valShares are those of the rows that SplitColumn calls train.
func (o *Options) valShares() []Share {
	return []Share{{Split: "train", Part: 1 - o.Val}, {Split: "val", Part: o.Val}}
}

// checkText looks whether a value is of the kind that was asked for.
func (c *converter) checkText(v table.Value) *source.SkipReason {
	switch {
	case v.Null:
		return source.Skip("no "+c.reads(), nil)
	case c.options.Features != "" && v.Features == nil:
		return source.Skip("no list of features", fmt.Errorf("found %.40q", v.Text))
	case c.options.Features != "":
		return nil
	case c.tokenizer == nil && v.Tokens == nil:
		return source.Skip("no list of tokens", fmt.Errorf("found %.40q", v.Text))
	case c.tokenizer != nil && v.Tokens != nil:
		return source.Skip("no text", errors.New("found a list"))
	}
	return nil
}

// reads is what the rows of a data set have for a model to read.
func (c *converter) reads() string {
	if c.options.Features != "" {
		return "features"
	}
	return "text"
}

// checkLength looks at the number of a text's tokens.
func (c *converter) checkLength(n int) *source.SkipReason {
	if n == 0 {
		return source.Skip("empty "+c.reads(), nil)
	}
	if most := c.options.MaxLength; most > 0 && n > most {
		return source.Skip(fmt.Sprintf("more than %d tokens", most), fmt.Errorf("found %d", n))
	}
	return nil
}

// tokens are those of a value, in buf if there is room.
func (c *converter) tokens(v table.Value, buf []int32) ([]int32, *source.SkipReason) {
	if c.tokenizer == nil {
		if why := c.checkTokens(v.Tokens); why != nil {
			return buf, why
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

// label is the number of a row's label.
func (w *worker) label(v table.Value) (int32, *source.SkipReason) {
	if v.Tokens != nil || v.Items != nil {
		return 0, listOfLabels(w.options.Label)
	}
	text, ok := taken(w.options.LabelPattern, v.Text)
	if text = strings.TrimSpace(text); v.Null || text == "" && ok {
		return 0, source.Skip(NoLabel, nil)
	}
	if !ok {
		return 0, unmatched("label", w.options.LabelPattern, v.Text)
	}
	if n, ok := w.known[text]; ok {
		return n, nil
	}
	n, why := w.labels.number(text)
	if why == nil {
		w.known[strings.Clone(text)] = n // it shares the memory of its row
	}
	return n, why
}
