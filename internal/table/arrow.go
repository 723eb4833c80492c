package table

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sftseq/sftseq/internal/arrowipc"
	"github.com/sftseq/sftseq/internal/source"
)

// newArrow returns a reader of an Arrow IPC file or stream. Both are read sequentially.
func newArrow(in *source.Source, o Options) (*records, error) {
	stream, err := arrowipc.NewFileOrStream(in, in.Whole())
	if err != nil && in.Whole() != nil {
		head := make([]byte, 8)
		n, _ := in.Whole().ReadAt(head, 0)
		err = fmt.Errorf("%w: %s", err, otherFormat(head[:n]))
	}
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

// otherFormat describes the beginning of a file that is not of the format that its name states, with
// the next step.
func otherFormat(head []byte) string {
	magic := string(head)
	control := func(r rune) bool { return r == utf8.RuneError || r < ' ' && !strings.ContainsRune("\t\n\r", r) }
	switch {
	case strings.HasPrefix(magic, parquetMagic):
		return "the file begins as a Parquet file and may be truncated: copy it again, or read it with --format parquet"
	case strings.HasPrefix(magic, "ARROW1"):
		return "the file begins as an Arrow file and may be truncated: copy it again, or read it with --format arrow"
	case len(head) == 0:
		return "the file is empty"
	case !strings.ContainsFunc(magic, control):
		return fmt.Sprintf("the file begins with the text %q: name its format with --format, such as csv or "+
			"jsonl", magic)
	}
	return fmt.Sprintf("the file begins with %q", magic)
}
