package task

import (
	"github.com/sftseq/sftseq/internal/table"
	"github.com/sftseq/sftseq/seq"
)

// Mistakes writes the rows of a data set that a model predicts wrongly, each with its id, if it has one, and its
// number:
//   - classification: a row with its class, the predicted class and all probabilities;
//   - spans: a span that is missed or predicted wrongly, in tokens and as text; points and nodes: a token with its tag
//     and the predicted tag;
//   - several labels: the [MaxWorst] rows with the most wrong labels, then the largest loss;
//   - numbers: the [MaxWorst] rows that are furthest off in standard deviations of the training split.
type Mistakes interface {
	// See is called with each row, cut to what the model reads, and writes its mistakes.
	See(x *seq.Example, length int, logits []float32)
	// Left is the number of wrong rows that are not written.
	Left() int
	// Close completes the table, or returns the error of the first row that could not be written.
	Close() error
}

// mistakeWriter writes rows until one cannot be written.
type mistakeWriter struct {
	out table.Writer
	ids bool
	err error // the first row that could not be written
}

// write writes a row of a data set; no id is "".
func (w *mistakeWriter) write(id string, row uint32, values ...any) {
	if w.err != nil {
		return
	}
	own := []any{int64(row)}
	switch {
	case w.ids && id == "":
		own = append([]any{nil}, own...)
	case w.ids:
		own = append([]any{id}, own...)
	}
	w.err = w.out.Write(append(own, values...))
}

func (w *mistakeWriter) Left() int { return 0 }

func (w *mistakeWriter) Close() error {
	if w.err != nil {
		return w.err
	}
	return w.out.Close()
}
