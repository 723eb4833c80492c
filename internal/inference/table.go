package inference

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sftseq/sftseq/internal/requests"
	"github.com/sftseq/sftseq/internal/table"
)

// Rows writes a row of predictions for each row of a table.
type Rows struct {
	Count, Failed int    // numbers of written rows and of rows with an error
	First         string // error of the first failed row
	Spans         int    // number of predicted spans, for a model that predicts spans

	part   bool // the output is part of a job
	strict bool // the first failed row ends the output with an error
	model  *Model
	table  *Table
	reply  replyColumns
	out    table.Writer
}

// NoSpans reports whether a model that predicts spans found none, although at least one row was valid.
func (o *Rows) NoSpans() bool { return o.model.hasPositions && o.Spans == 0 && o.Count > o.Failed }

// NewRows returns a writer of a model's predictions for the rows of a table. The format is one of
// [table.OutputFormats], or [table.BED] for predicted spans. The caller must call Close.
func (m *Model) NewRows(to io.Writer, format string, t *Table) (*Rows, error) {
	o := &Rows{model: m, table: t, reply: m.columns(m.config, format, len(t.Sources) == 2)}
	var err error
	if format == table.BED {
		o.out, err = m.newBED(to, t)
		return o, err
	}
	o.out, err = table.NewWriter(to, format, tableColumns(t, o.reply.columns, format))
	return o, err
}

// NewPart returns a writer like [Model.NewRows] for one part of a job. It writes an Arrow file, or a
// stream if stream is set, whose schema has the given metadata. If strict is set, the first failed row
// is an error and there is no error column. The caller must call Close.
func (m *Model) NewPart(to io.Writer, t *Table, metadata *arrow.Metadata, stream, strict bool) (*Rows, error) {
	o := &Rows{model: m, table: t, part: true, strict: strict, reply: m.columns(m.config, "arrow", len(t.Sources) == 2)}
	columns := tableColumns(t, o.reply.columns, "arrow")
	if strict {
		columns = columns[:len(columns)-1]
	}
	var err error
	o.out, err = table.NewArrowWriter(to, columns, metadata, stream)
	return o, err
}

// Close completes the output; it does not close the underlying writer.
func (o *Rows) Close() error { return o.out.Close() }

// Predict writes the predictions for all rows of the table t. A goroutine reads t and closes it; after
// an error, Predict may return before t is closed. It calls done with the number of rows of each written batch.
func (o *Rows) Predict(ctx context.Context, parser *requests.Parser, t table.Reader, done func(int64)) error {
	r := newTableReader(o.table, parser, t.Columns())
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var readError error // written before rows is closed
	for batch := range gather(ctx,
		func(to chan<- *tableRow) { readError = errors.Join(r.read(ctx, t, to), t.Close()) }) {
		if err := o.predictBatch(ctx, batch); err != nil {
			if flush := o.out.Flush(); flush != nil && !errors.Is(err, flush) {
				err = errors.Join(err, flush)
			}
			return err
		}
		done(int64(len(batch)))
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return readError
}

// predictBatch writes the rows of a batch.
func (o *Rows) predictBatch(ctx context.Context, batch []*tableRow) error {
	inputs := make([]*requests.Request, len(batch))
	for i, row := range batch {
		inputs[i] = row.Request
	}
	replies, err := o.model.Reply(ctx, inputs)
	if err != nil {
		return err
	}
	for i, reply := range replies {
		row := o.row(batch[i], reply)
		if o.strict {
			if o.Failed > 0 {
				return errors.New(o.First)
			}
			row = row[:len(row)-1]
		}
		if err := o.out.Write(row); err != nil {
			return err
		}
	}
	return o.out.Flush()
}

// row returns the row of the output for a reply. It counts rows, failed rows and spans.
func (o *Rows) row(r *tableRow, reply any) []any {
	o.Count++
	row := append([]any{r.id}, r.kept...)
	refusal, bad := reply.(requests.Refusal)
	if !bad {
		if r, ok := reply.(requests.Reply); ok && o.model.hasPositions {
			o.Spans += len(r.Prediction.(requests.Spans).Spans)
		}
		return append(append(row, o.reply.values(reply)...), nil)
	}
	place := r.place
	if o.part && !o.strict { // the part stores the error with the name of the row, without the path of the file
		place = r.name
	}
	why := requests.Failure{Code: refusal.Error.Code, Message: fmt.Sprintf("%s: %s", place, refusal.Error.Message)}
	if o.Failed++; o.Failed == 1 {
		o.First = why.Message
	}
	for range o.reply.columns {
		row = append(row, nil)
	}
	if o.reply.lines {
		return append(row, why)
	}
	return append(row, why.Message)
}
