package seq

import (
	"fmt"
	"io"
	"os"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sftseq/sftseq/internal/arrowipc"
	"github.com/sftseq/sftseq/internal/atomicfile"
)

// OpenPart opens a range of rows of a file, or of a stream in a file: the rows i with from ≤ i < to.
// It skips record batches before the first of these rows without decoding them.
func OpenPart(path string, from, to int64) (*Reader, error) {
	f, err := atomicfile.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	r, err := newPart(f, path, from, to)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

func newPart(f *os.File, path string, from, to int64) (*Reader, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	stream, err := arrowipc.NewFileOrStream(f, io.NewSectionReader(f, 0, info.Size()))
	if err != nil {
		return nil, err
	}
	spec, err := SpecOf(stream.Schema())
	if err != nil {
		return nil, err
	}
	skipped, err := stream.Skip(from)
	if err != nil {
		return nil, err
	}
	p := &part{Stream: stream, skip: from - skipped, remaining: to - from}
	return &Reader{name: path, closer: f, records: p, spec: spec, row: from}, nil
}

// part is a range of rows of a stream.
type part struct {
	*arrowipc.Stream
	skip      int64 // number of rows to skip first
	remaining int64 // number of remaining rows
}

// IsFile returns true. No caller depends on the format of a part.
func (p *part) IsFile() bool { return true }

// Next returns the next rows of the part, or io.EOF.
func (p *part) Next() (arrow.Record, error) {
	for p.remaining > 0 {
		record, err := p.Stream.Next()
		if err == io.EOF {
			err = fmt.Errorf("expected %d more rows, found the end of the file: another program may have changed it",
				p.remaining)
		}
		if err != nil {
			return nil, err
		}
		from := min(p.skip, record.NumRows())
		to := min(record.NumRows(), from+p.remaining)
		p.skip -= from
		p.remaining -= to - from
		if from < to {
			return record.NewSlice(from, to), nil
		}
	}
	return nil, io.EOF
}
