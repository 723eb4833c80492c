package convert

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/sftseq/sftseq/internal/table"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/tokenizers"
)

// headBytes is the number of bytes of data that are kept in memory before the files are begun,
// because the files begin with the label names. Usually all labels have occurred by then. If a
// later row has a new label, finish copies the files.
const headBytes = 16 << 20

// output writes a data set as chunks arrive.
type output struct {
	*converter
	head        []*converted // converted chunks that are not written yet
	headSize    int          // bytes in head
	builder     *seq.DatasetBuilder
	names       []string // label names when the files were begun
	final       []int32  // maps provisional label numbers in blocks to label numbers in the files
	splits      map[string]*seq.SplitWriter
	splitsFound map[string]bool // splits with rows
	texts       repeats         // hashes of texts, tagged with their split's index in tags
	labelled    repeats         // hashes of texts with their labels; empty before the first label
	tags        []string        // splits in order of first occurrence
	ids         repeats         // hashes of ids; empty before the first id
	tokens      repeats         // hashes of tokens, tagged with their split's index in tags; empty before the first
	anomalies   anomalyCounts
}

// maxSplits is the maximum number of splits; a column with more values is probably the wrong
// column.
const maxSplits = 64

// errSplits returns the error for more than maxSplits splits.
func errSplits(column string) error {
	return fmt.Errorf("column %q: expected at most %d splits, found more", column, maxSplits)
}

// write writes a chunk of converted rows. Chunks arrive in order.
func (o *output) write(j *chunk) error {
	rows := j.out
	if rows.failure != nil {
		return rows.failure
	}
	o.skipped.Read += rows.rows
	for _, split := range rows.splits {
		if o.splitsFound[split] = true; len(o.splitsFound) > maxSplits {
			return errSplits(o.options.SplitColumn)
		}
	}
	for _, l := range rows.skippedRow {
		o.skipped.Add(l.position, l.reason)
	}
	for _, k := range j.keptRow {
		position := func() string { return table.Position(k.file, k.line) }
		o.anomalies.add(k.anomalies, position)
		if before, first := o.texts.add(k.text, o.splitTag(k.split)); before {
			o.skipped.Repeated.Add(position)
			if o.tags[first] != k.split {
				o.skipped.OtherSplit.Add(position)
			}
			if k.label != 0 && o.isOtherLabel(k.label, otherLabel) {
				o.skipped.OtherLabel++
			}
		} else {
			if k.label != 0 {
				o.isOtherLabel(k.label, firstLabel)
			}
			o.countSharedTokens(&k, position)
		}
		if k.id == 0 {
			continue
		}
		if o.ids.slots == nil {
			o.ids = newRepeats()
		}
		if before, _ := o.ids.add(k.id, 0); before {
			o.skipped.SameID.Add(position)
		}
	}
	rows.skippedRow = nil
	if o.builder != nil {
		return o.writeBlocks(rows)
	}
	o.head = append(o.head, rows)
	for _, b := range rows.blocks {
		o.headSize += b.Bytes()
	}
	if o.headSize < o.options.head {
		return nil
	}
	return o.begin()
}

// Tags of the hashes in output.labelled.
const (
	firstLabel = iota // the label of the text's first row
	otherLabel        // a different label
)

// isOtherLabel adds the hash of a text with its label. It reports whether the label differs from
// the label of the first row with this text. It returns false for new hashes once the table is full.
func (o *output) isOtherLabel(hash uint64, tag int) bool {
	if o.labelled.slots == nil {
		o.labelled = newRepeats()
	}
	full := o.labelled.used == maxTexts
	before, first := o.labelled.add(hash, tag)
	return first == otherLabel && (before || !full)
}

// countSharedTokens counts a row, whose text is new, if exactly one of this row and the first row with
// the same tokens is in train.
func (o *output) countSharedTokens(k *keptRow, position func() string) {
	if k.tokens == 0 {
		return
	}
	if o.tokens.slots == nil {
		o.tokens = newRepeats()
	}
	if before, first := o.tokens.add(k.tokens, o.splitTag(k.split)); before && o.tags[first] != k.split &&
		(o.tags[first] == "train" || k.split == "train") {
		o.skipped.OtherTokens.Add(position)
	}
}

// splitTag returns the index of a split in tags. It appends a new split.
func (o *output) splitTag(split string) int {
	at := slices.Index(o.tags, split)
	if at < 0 {
		at = len(o.tags)
		o.tags = append(o.tags, strings.Clone(split)) // split shares the memory of its row
	}
	return at
}

// begin creates the files of the data set and writes the rows in head.
func (o *output) begin() error {
	spec := o.spec
	o.names, o.final = o.labels.sorted()
	if len(o.names) > 0 {
		spec.LabelNames = o.names
	}
	var err error
	if o.builder, err = seq.CreateDataset(o.options.To, spec, o.options.Replace); err != nil {
		return err
	}
	for _, rows := range o.head {
		if err := o.writeBlocks(rows); err != nil {
			return err
		}
	}
	o.head = nil
	return nil
}

// writeBlocks writes the rows of each split.
func (o *output) writeBlocks(rows *converted) error {
	for _, split := range rows.splits {
		out := o.splits[split]
		if out == nil {
			var err error
			if out, err = o.builder.Split(split); err != nil {
				return err
			}
			o.splits[split] = out
		}
		block := rows.blocks[split]
		block.Relabel(o.earlyNumber)
		if err := out.WriteBlock(block); err != nil {
			return err
		}
	}
	return nil
}

// earlyNumber maps a provisional label number to its number in the files. A label found after the
// files were begun keeps its provisional number, which is larger than the mapped numbers.
func (o *output) earlyNumber(label int32) int32 {
	if int(label) < len(o.final) {
		return o.final[label]
	}
	return label
}

// noRows returns the error for a data set without rows.
func (o *output) noRows() error {
	if o.skipped.Read == 0 {
		return fmt.Errorf("%s: expected rows, found none", strings.Join(o.options.From, ", "))
	}
	return o.skipped.Nothing()
}

// finish completes and returns the data set.
func (o *output) finish(ctx context.Context) (*seq.Dataset, error) {
	if err := o.intervals.check(); err != nil {
		return nil, err
	}
	names, _ := o.labels.sorted()
	if err := o.checkMarks(names); err != nil {
		return nil, err
	}
	o.noteInconsistentMarks()
	if o.otherEncoding.Load() {
		o.skipped.Note("rows that are not UTF-8 are left out: convert the files to UTF-8, " +
			"for example with iconv -f latin1 -t utf-8")
	}
	if o.builder == nil {
		if !slices.ContainsFunc(o.head, func(rows *converted) bool { return len(rows.splits) > 0 }) {
			return nil, o.noRows()
		}
		if err := o.begin(); err != nil {
			return nil, err
		}
	}
	if err := o.renameLabels(ctx); err != nil {
		return nil, err
	}
	for _, split := range slices.Sorted(maps.Keys(o.splits)) {
		if err := errors.Join(ctx.Err(), o.splits[split].Close()); err != nil {
			return nil, err
		}
	}
	if o.file != nil {
		if err := tokenizers.WriteFile(o.options.To, o.file); err != nil {
			return nil, err
		}
	}
	d, err := o.builder.Finish(o.provenance())
	if err == nil {
		o.anomalies.note(o.skipped, sameLength(d.Manifest))
	}
	return d, err
}

// sameLength reports whether the data have several rows, all with the same number of tokens.
func sameLength(m *seq.Manifest) bool {
	rows, minLength, maxLength := int64(0), math.MaxInt, 0
	for _, s := range m.Splits {
		if s.Rows > 0 {
			rows, minLength, maxLength = rows+s.Rows, min(minLength, int(s.Lengths.Min)),
				max(maxLength, int(s.Lengths.Max))
		}
	}
	return rows > 1 && minLength == maxLength
}

// renameLabels rewrites the files with the names of all labels if new labels were found after the
// files were begun.
func (o *output) renameLabels(ctx context.Context) error {
	names, final := o.labels.sorted()
	if len(names) == len(o.names) {
		return nil
	}
	provisional := make([]int32, len(names)) // maps label numbers in the files to provisional numbers
	for number := range final {
		provisional[o.earlyNumber(int32(number))] = int32(number)
	}
	return o.builder.RenameLabels(ctx, names, func(label int32) int32 { return final[provisional[label]] })
}

// provenance returns the manifest's entries about the conversion: sources, columns, some options, and
// the numbers of rows.
func (o *output) provenance() map[string]any {
	p := map[string]any{"source": o.options.From, "columns": o.columns, "rows": o.skipped.Read,
		"left_out": o.skipped.Counts()}
	if pattern := o.options.LabelPattern; pattern != nil {
		p["label_pattern"] = pattern.String()
	}
	if o.options.LabelSeparator != "" {
		p["label_separator"] = o.options.LabelSeparator
	}
	if pattern := o.options.SplitPattern; pattern != nil {
		p["split_pattern"] = pattern.String()
	}
	if o.options.SplitColumn == "" {
		p["split_seed"], p["shares"] = o.options.Seed, o.options.SplitFractions
	}
	return p
}

// abort removes the incomplete files.
func (o *output) abort() {
	if o.builder != nil {
		o.builder.Abort()
	}
}
