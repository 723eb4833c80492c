package table

import (
	"fmt"
	"io"

	"github.com/apache/arrow/go/v15/arrow"

	"sftseq/internal/source"
	"sftseq/seq"
)

// newArrow reads an Arrow IPC file or stream, both from beginning to end.
func newArrow(in *source.Source, o Options) (*records, error) {
	stream, err := seq.NewAnyStream(in, in.Whole())
	if err != nil {
		return nil, err
	}
	columns, err := checkColumns(stream.Schema(), o.Columns)
	if err != nil {
		return nil, err
	}
	return &records{name: in.Name, columns: columns, wanted: o.Columns, limit: o.MaxField, close: in.Close, next: func() (arrow.Record, error) {
		record, err := stream.Next()
		if err != nil && err != io.EOF {
			err = fmt.Errorf("%s: byte %d: %w", in.Name, stream.Offset(), err)
		}
		return record, err
	}}, nil
}
