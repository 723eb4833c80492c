package table

import (
	"fmt"
	"io"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sftseq/sftseq/internal/arrowipc"
	"github.com/sftseq/sftseq/internal/source"
)

// newArrow returns a reader of an Arrow IPC file or stream. Both are read sequentially.
func newArrow(in *source.Source, o Options) (*records, error) {
	stream, err := arrowipc.NewFileOrStream(in, in.Whole())
	if err != nil {
		return nil, err
	}
	r, err := newRecords(in.Name, stream.Schema(), o)
	if err != nil {
		return nil, err
	}
	if o.part != nil {
		skipped, err := stream.Skip(o.part.From)
		if err != nil {
			return nil, err
		}
		r.skip = o.part.From - skipped
	}
	r.close, r.next = in.Close, func() (arrow.Record, error) {
		record, err := stream.Next()
		if err != nil && err != io.EOF {
			err = fmt.Errorf("%s: byte %d: %w", in.Name, stream.Offset(), err)
		}
		return record, err
	}
	return r, nil
}
