package seq

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/sftseq/sftseq/internal/arrowipc"
)

// RenameLabels sets the label names of all open splits and replaces every known label l by number(l).
// It copies all written rows, because the names are at the beginning of a file. It fails if the data
// set has a closed split. The caller must not write further rows.
func (b *DatasetBuilder) RenameLabels(ctx context.Context, names []string, number func(int32) int32) error {
	if len(b.manifest.Splits) > 0 {
		return errors.New("renaming labels: a split is already closed")
	}
	b.manifest.LabelNames = names
	for _, s := range b.open {
		if err := s.renameLabels(ctx, number); err != nil {
			return s.wrapError(err)
		}
	}
	return nil
}

func (s *SplitWriter) renameLabels(ctx context.Context, number func(int32) int32) error {
	old := s.writer
	defer old.Abort()
	if err := old.finish(); err != nil {
		return err
	}
	file, err := old.file.Reopen()
	if err != nil {
		return err
	}
	defer file.Close()
	in, err := arrowipc.NewReader(file)
	if err != nil {
		return err
	}
	if err := s.create(); err != nil {
		return err
	}
	s.summary.rename(number)
	for {
		record, err := in.Next()
		if err == io.EOF {
			return nil
		}
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		if err := s.writer.writeRelabeled(record, number); err != nil {
			return err
		}
	}
}

// writeRelabeled appends a record batch with renumbered labels.
func (w *Writer) writeRelabeled(record arrow.Record, number func(int32) int32) error {
	columns := append([]arrow.Array(nil), record.Columns()...)
	labelIndex := len(w.spec.TokenColumns()) + len(w.spec.edgeFields()) // index of the label column
	if w.spec.ListsLabels() {
		lists, err := w.relabelLists(record, number)
		if err != nil {
			return err
		}
		columns[labelIndex] = lists
		w.row += record.NumRows()
		return w.out.Write(array.NewRecord(w.schema, columns, record.NumRows()))
	}
	column := columns[labelIndex].(*array.Int32)
	labels, unlabeled := make([]int32, column.Len()), column.NullN()
	for i := range labels {
		if labels[i] = NoLabel; column.IsValid(i) {
			labels[i] = number(column.Value(i))
			w.largest = max(w.largest, labels[i])
		}
	}
	columns[labelIndex] = labelArray(labels, unlabeled)
	w.row += record.NumRows()
	return w.out.Write(array.NewRecord(w.schema, columns, record.NumRows()))
}

// relabelLists returns the column of lists of labels with renumbered labels.
func (w *Writer) relabelLists(record arrow.Record, number func(int32) int32) (arrow.Array, error) {
	unnamed := w.spec
	unnamed.LabelNames = nil
	rows, err := RowsOf(record, &unnamed)
	if err != nil {
		return nil, err
	}
	var lists labelListWriter
	lists.reset()
	for i := range rows.Len() {
		lists.append(rows.Labels(i))
	}
	lists.relabel(number, w.spec.Task == MultiLabel)
	if len(lists.values) > 0 {
		w.largest = max(w.largest, slices.Max(lists.values))
	}
	return lists.array(), nil
}
