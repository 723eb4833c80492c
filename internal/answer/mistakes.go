package answer

import (
	"io"

	"github.com/sftseq/sftseq/internal/table"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/tokenizers"
)

// Mistakes writes what a model answers wrong of the rows of a data set. Each has its id, where rows have
// any, and its number there:
//   - of classes a row, with its class, the one predicted and the probability of each;
//   - of tagging a span that is missed or answered wrongly, in tokens and as text, or, where tokens
//     have features and make no spans, a token, with its tag and the one predicted;
//   - of several labels a row, the [MostWorst] with the most labels wrong, then the largest loss;
//   - of numbers a row, the [MostWorst] furthest off in deviations of the training split.
type Mistakes interface {
	// See is told of each row, cut to what the model reads, and writes what is wrong.
	See(x *seq.Example, length int, logits []float32)
	// Left is how many rows are wrong, too, and are not written.
	Left() int
	// Close completes what is written, unless a row could not be: that is the error then.
	Close() error
}

// NewMistakes returns a writer of one of [table.OutputFormats], of rows that have ids or none. The tokenizer
// makes text of spans; nil is none.
func NewMistakes(to io.Writer, format string, config *sft.Config, tokenizer tokenizers.Tokenizer, ids bool) (Mistakes, error) {
	columns := []table.OutputColumn{{Name: "row", Kind: table.IntColumn}}
	if ids {
		columns = append([]table.OutputColumn{{Name: "id"}}, columns...)
	}
	var own []table.OutputColumn
	var ranked *worstRows
	switch {
	case config.Tags() && config.Featured():
		own = tagMistakeColumns(config)
	case config.Tags():
		own = spanMistakeColumns()
	case config.LabelsHold():
		own, ranked = wrongLabels(config, format)
	case config.Predicts():
		own, ranked = farNumbers(config)
	default:
		own = append([]table.OutputColumn{labelColumn(config, "label"), labelColumn(config, "predicted")}, probabilityColumns(config)...)
	}
	out, err := table.NewWriter(to, format, append(columns, own...))
	w := mistakeWriter{config: config, out: out, ids: ids}
	switch {
	case err != nil:
		return nil, err
	case config.Tags() && config.Featured():
		return &tagMistakes{w}, nil
	case config.Tags():
		return newSpanMistakes(w, tokenizer), nil
	case ranked != nil:
		ranked.mistakeWriter = w
		return ranked, nil
	}
	return &wrongClasses{w}, nil
}

// mistakeWriter writes rows until one cannot be written.
type mistakeWriter struct {
	config *sft.Config
	out    table.Writer
	ids    bool
	err    error // of the first row that could not be written
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

// wrongClasses are rows whose class is not the one predicted.
type wrongClasses struct{ mistakeWriter }

func (w *wrongClasses) See(x *seq.Example, _ int, logits []float32) {
	answer := sft.Argmax(logits)
	if answer == int(x.Label) {
		return
	}
	w.write(x.ID, x.Index, append([]any{columnValue(w.config.Label(int(x.Label))), columnValue(w.config.Label(answer))}, realValues(sft.Probabilities(logits))...)...)
}
