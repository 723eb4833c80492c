package seq

import (
	"fmt"
	"io"
	"iter"
	"os"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sftseq/sftseq/internal/arrowipc"
)

// Reader reads an Arrow IPC file or stream from beginning to end, one record batch at a time. It
// holds one batch in memory, and 24 bytes for each batch that it has read.
type Reader struct {
	name    string
	closer  io.Closer
	records recordReader
	spec    *Spec
	batches int             // number of batches read
	row     int64           // index of the next row
	rows    int64           // number of rows that the manifest states, if stated is not nil
	stated  *statedChecksum // checksum that the manifest states; nil without a manifest
	err     error           // io.EOF or the first error; final
}

// recordReader is the source of the records.
type recordReader interface {
	Schema() *arrow.Schema
	Next() (arrow.Record, error)
	IsFile() bool
}

// Open opens the file or stream at path for sequential reading. The path "-" means standard input.
func Open(path string) (*Reader, error) {
	if path == "-" {
		return NewReader(os.Stdin, "standard input")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	r, err := NewReader(f, path)
	if err != nil {
		f.Close()
		return nil, err
	}
	r.closer = f
	return r, nil
}

// NewReader reads the schema from r. It detects the format from the first bytes. Errors begin with
// name.
func NewReader(r io.Reader, name string) (*Reader, error) {
	records, err := arrowipc.NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	spec, err := SpecOf(records.Schema())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &Reader{name: name, records: records, spec: spec}, nil
}

// Spec returns the specification of the file's sequences.
func (r *Reader) Spec() *Spec { return r.spec }

// Schema returns the file's Arrow schema.
func (r *Reader) Schema() *arrow.Schema { return r.records.Schema() }

// IsFile reports whether the source is in the file format rather than the stream format.
func (r *Reader) IsFile() bool { return r.records.IsFile() }

// Next returns the next record batch, or io.EOF after the last batch. For a truncated source it
// returns an error other than io.EOF.
func (r *Reader) Next() (*Rows, error) {
	if r.err != nil {
		return nil, r.err
	}
	rows, err := r.next()
	if err == io.EOF {
		if damaged := r.stated.compare(); damaged != nil {
			err = fmt.Errorf("%s: %w", r.name, damaged)
		} else if r.stated != nil && r.row != r.rows {
			err = fmt.Errorf("%s: expected %d rows as stated in %s, found %d", r.name, r.rows, ManifestName, r.row)
		}
	} else if err != nil {
		err = fmt.Errorf("%s: record batch %d: %w", r.name, r.batches, err)
	}
	r.err = err
	return rows, err
}

// All returns the remaining record batches. The iteration ends after an error.
func (r *Reader) All() iter.Seq2[*Rows, error] {
	return func(yield func(*Rows, error) bool) {
		for {
			rows, err := r.Next()
			if err == io.EOF || !yield(rows, err) || err != nil {
				return
			}
		}
	}
}

// next implements Next without the checks at the end of the source.
func (r *Reader) next() (*Rows, error) {
	record, err := r.records.Next()
	if err != nil {
		return nil, err
	}
	rows, err := rowsOf(record, r.spec, r.row)
	if err != nil {
		return nil, err
	}
	r.batches++
	r.row += int64(rows.Len())
	return rows, nil
}

// Close closes the file that the Reader has opened. It does nothing for standard input, and for a
// Reader from NewReader.
func (r *Reader) Close() error {
	if r.closer == nil {
		return nil
	}
	return r.closer.Close()
}
