package inference

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/sftseq/sftseq/internal/requests"
	"github.com/sftseq/sftseq/internal/table"
	"github.com/sftseq/sftseq/tokenizers"
)

// bedWriter writes spans as lines of BED with six columns: the name of the record, the start from
// 0, the exclusive end, the label without a suffix (+) or (-), 1000 times the score, and the strand: + or -
// from this suffix, otherwise a dot. Rows without spans or with an error have no line.
//
// Source: Niu, Denisko, Hoffman, "The Browser Extensible Data (BED) format", GA4GH, 2022.
type bedWriter struct{ w *bufio.Writer }

// newBED returns a BED writer for the predictions of a table's rows.
func (m *Model) newBED(to io.Writer, t *Table) (table.Writer, error) {
	switch {
	case !m.hasPositions:
		found := m.config.Task
		if m.config.HasFeatures() {
			found += ", whose tokens have features"
		}
		return nil, fmt.Errorf("BED output requires a model that tags the tokens of a text, found a model of task "+
			"%s: write CSV, "+
			"JSON lines or Parquet", found)
	case t.Tokens:
		return nil, errors.New("BED output requires positions in text: expected --text, found --tokens")
	case len(t.Keep) > 0:
		return nil, fmt.Errorf("BED output has no columns for --keep %q: omit the flag, or write CSV, JSON lines or "+
			"Parquet", t.Keep)
	}
	t.letters = tokenizers.TypeOf(m.config.Tokenizer) == tokenizers.DNA{}.Type()
	return &bedWriter{bufio.NewWriterSize(to, 1<<16)}, nil
}

// Write writes the spans of a row. The row has three values: its id, the spans or nil, and an error or nil.
func (b *bedWriter) Write(row []any) error {
	if row[1] == nil {
		return nil
	}
	spans := row[1].(requests.Spans)
	name := fmt.Sprint(row[0])
	if number, ok := row[0].(json.RawMessage); ok {
		name = string(number)
	}
	if spans.Unit != requests.Characters {
		return errors.New("BED output requires positions in the sequence, " +
			"but the model's tokenizer does not provide token positions")
	}
	for _, s := range spans.Spans {
		for _, field := range []string{name, s.Label} {
			if field == "" || strings.ContainsAny(field, "\t\r\n") {
				return fmt.Errorf("record %.40q, label %.40q: BED requires names that are not empty "+
					"and have no tab or line break", name, s.Label)
			}
		}
		label, strand := strandOf(s.Label)
		if _, err := fmt.Fprintf(b.w, "%s\t%d\t%d\t%s\t%.0f\t%s\n", name, s.Start, s.End, label,
			1000*s.Score, strand); err != nil {
			return err
		}
	}
	return nil
}

// strandOf splits a label such as gene(+) into name and strand. The strand is "." for a label
// without a strand.
func strandOf(label string) (name, strand string) {
	for _, strand := range []string{"+", "-"} {
		if name, ok := strings.CutSuffix(label, "("+strand+")"); ok && name != "" {
			return name, strand
		}
	}
	return label, "."
}

// Flush writes buffered lines.
func (b *bedWriter) Flush() error { return b.w.Flush() }

// Close flushes buffered lines. It does not close the file.
func (b *bedWriter) Close() error { return b.w.Flush() }
