package table

import (
	"fmt"
	"io"

	"github.com/apache/arrow/go/v15/arrow"

	"sftseq/seq"
)

// newArrow reads an Arrow IPC file or stream, both from beginning to end.
func newArrow(in *input, o Options) (*records, error) {
	stream, err := seq.NewAnyStream(in, in.whole())
	if err != nil {
		return nil, err
	}
	columns, err := checkColumns(stream.Schema(), o.Columns)
	if err != nil {
		return nil, err
	}
	return &records{name: in.name, columns: columns, wanted: o.Columns, limit: o.MaxField, close: in.Close, next: func() (arrow.Record, error) {
		record, err := stream.Next()
		if err != nil && err != io.EOF {
			err = fmt.Errorf("%s: byte %d: %w", in.name, stream.Offset(), err)
		}
		return record, err
	}}, nil
}
