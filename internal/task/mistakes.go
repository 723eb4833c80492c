package task

import (
	"github.com/sftseq/sftseq/internal/table"
	"github.com/sftseq/sftseq/seq"
)

// Mistakes writes a table of the rows of a data set that a model predicts wrongly. The first columns are
// the row's id, if the rows have ids, and the row's number. The other columns depend on the task:
//   - classification: the class, the predicted class and all probabilities;
//   - spans: a missed or wrong span, in tokens and as text;
//   - points and nodes: a wrong token, its tag and the predicted tag;
//   - multi-label: the labels, the predicted labels, the number of wrong labels, the loss and all
//     probabilities, for the [MaxWorst] rows with the most wrong labels, then the largest loss;
//   - numbers: the largest error in standard deviations of the training split, the name of this number,
//     and all actual and predicted numbers, for the [MaxWorst] rows with the largest errors.
type Mistakes interface {
	// See records the mistakes of a row. It is called with each row, truncated to the model's input.
	// length is the row's length before truncation.
	See(x *seq.Example, length int, logits []float32)
	// Omitted returns the number of wrong rows that are not written.
	Omitted() int
	// Close completes the table. It returns the error of the first row that could not be written.
	Close() error
}

// mistakeWriter writes rows until the first write error.
type mistakeWriter struct {
	out table.Writer
	ids bool  // whether the table has a column of ids
	err error // first write error
}

// write writes a row of a data set. id is "" for a row without id.
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

func (w *mistakeWriter) Omitted() int { return 0 }

func (w *mistakeWriter) Close() error {
	if w.err != nil {
		return w.err
	}
	return w.out.Close()
}
