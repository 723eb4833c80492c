package answer

import (
	"io"

	"github.com/sftseq/sftseq/internal/rowwriter"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// Mistakes writes the rows of a data set that a model answers wrong: their id and number,
// their class, the one predicted and the probability of each.
type Mistakes struct {
	config *sft.Config
	out    rowwriter.Writer
	err    error // of the first row that could not be written
}

// NewMistakes returns a writer of a format of rowwriter's. Close ends it.
func NewMistakes(to io.Writer, format string, config *sft.Config) (*Mistakes, error) {
	columns := append([]rowwriter.Column{{Name: "id"}, {Name: "row", Kind: rowwriter.Whole}, labelColumn(config, "label"), labelColumn(config, "predicted")}, probabilityColumns(config)...)
	out, err := rowwriter.New(to, format, columns)
	return &Mistakes{config: config, out: out}, err
}

// See writes a row if it is answered wrong.
func (m *Mistakes) See(x *seq.Example, _ int, logits []float32) {
	answer := sft.Argmax(logits)
	if answer == int(x.Label) || m.err != nil {
		return
	}
	row := []any{nil, int64(x.Index), columnValue(m.config.Label(int(x.Label))), columnValue(m.config.Label(answer))}
	if x.ID != "" {
		row[0] = x.ID
	}
	m.err = m.out.Write(append(row, realValues(sft.Probabilities(logits))...))
}

// Close completes what is written, unless a row could not be: that is the error then.
func (m *Mistakes) Close() error {
	if m.err != nil {
		return m.err
	}
	return m.out.Close()
}
