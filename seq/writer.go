package seq

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/ipc"

	"github.com/sftseq/sftseq/internal/arrowipc"
	"github.com/sftseq/sftseq/internal/atomicfile"
)

// Format is one of Arrow's two IPC formats.
type Format int

// The file format has a footer for random access. The stream format can be read and written through
// a pipe.
const (
	FileFormat Format = iota
	StreamFormat
)

// Writer writes rows as an Arrow IPC file or stream and holds one record batch in memory. After an
// error of the output, all later calls return this error. A Writer is not safe for concurrent use.
type Writer struct {
	spec    Spec
	schema  *arrow.Schema
	out     recordWriter
	file    *atomicfile.File // nil for a Writer from NewWriter
	pending *Block           // rows not written yet, at most one record batch
	row     int64            // number of rows, including pending rows
	largest int32            // largest label in the written rows
	ended   bool             // true after the end of the file was written
	err     error
}

// recordWriter is the common interface of Arrow's two writers.
type recordWriter interface {
	Write(arrow.Record) error
	Close() error
}

// NewWriter returns a Writer that writes to w. The output is complete after Close, which does not
// close w.
func NewWriter(w io.Writer, spec Spec, format Format) (*Writer, error) {
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	schema := spec.Schema()
	writer := &Writer{spec: spec, schema: schema}
	writer.pending = NewBlock(&writer.spec)
	if format == StreamFormat {
		writer.out = ipc.NewWriter(w, ipc.WithSchema(schema))
		return writer, nil
	}
	out, err := arrowipc.NewFileWriter(w, schema)
	if err != nil {
		return nil, err
	}
	writer.out = out
	return writer, nil
}

// Create returns a Writer for a file at path. The rows are written to a temporary file, which Close
// renames to path. Until then an existing file at path stays unchanged.
func Create(path string, spec Spec) (*Writer, error) {
	return create(path, spec, io.Discard)
}

// create implements Create. It also writes all bytes to tee, such as a checksum, whose writes must not
// fail. It does not remove temporary files of other writers, as a manifest may refer to them.
func create(path string, spec Spec, tee io.Writer) (*Writer, error) {
	file, err := atomicfile.CreateKeeping(path)
	if err != nil {
		return nil, err
	}
	w, err := NewWriter(io.MultiWriter(tee, file), spec, FileFormat)
	if err != nil {
		file.Abort()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	w.file = file
	return w, nil
}

// Write appends one row; it ignores e.Index. It returns an error for a row that a reader would
// refuse; the next call may succeed.
func (w *Writer) Write(e Example) error {
	if w.err != nil {
		return w.err
	}
	if err := w.pending.Append(e); err != nil {
		return fmt.Errorf("row %d, %w", w.row, err)
	}
	w.row++
	if w.pending.batches[0].full() {
		w.err = w.flush()
	}
	return w.err
}

// WriteBlock appends the rows of a block as separate record batches, and empties the block. The
// block must have the Writer's specification. Only Close refuses a label without a name, as names
// may be set later.
func (w *Writer) WriteBlock(b *Block) error {
	if w.err == nil {
		w.err = w.flush()
	}
	if w.err == nil {
		w.row += int64(b.rows)
		w.err = w.writeBatches(b)
	}
	return w.err
}

func (w *Writer) flush() error {
	return w.writeBatches(w.pending)
}

func (w *Writer) writeBatches(b *Block) error {
	for _, batch := range b.batches {
		w.largest = max(w.largest, slices.Max(batch.labels))
		if len(batch.lists.values) > 0 {
			w.largest = max(w.largest, slices.Max(batch.lists.values))
		}
		if err := withoutArrow(w.out.Write(batch.record(w.schema))); err != nil {
			return err
		}
		batchPool.Put(batch)
	}
	b.batches, b.rows = nil, 0
	return nil
}

// finish writes the pending rows and the end of the file.
func (w *Writer) finish() error {
	if w.err != nil || w.ended {
		return w.err
	}
	w.ended = true
	if w.err = w.flush(); w.err == nil {
		w.err = withoutArrow(w.out.Close())
	}
	return w.err
}

// withoutArrow removes the Arrow library's prefix from an error of the output file. The wrapped error
// already names the file.
func withoutArrow(err error) error {
	for err != nil && strings.HasPrefix(err.Error(), "arrow/ipc: ") && errors.Unwrap(err) != nil {
		err = errors.Unwrap(err)
	}
	return err
}

// prepare does everything that Close does before it renames the file. Afterwards a file from Create
// is complete on the disk under its temporary name.
func (w *Writer) prepare() error {
	if w.finish() == nil && w.spec.NumberNames == nil {
		w.err = w.spec.checkLabel(w.largest)
	}
	if w.err == nil && w.file != nil {
		w.err = w.file.Sync()
	}
	return w.err
}

// Close writes the pending rows and the end of the output, and renames a file from Create to its
// final name. After an error it removes the temporary file and returns the error.
func (w *Writer) Close() error {
	if w.prepare() != nil {
		w.Abort()
		return w.err
	}
	w.err = fmt.Errorf("the writer is closed")
	if w.file == nil {
		return nil
	}
	return w.file.Commit()
}

// Abort removes the temporary file of a Writer from Create. After Close it does nothing, so it can
// be deferred.
func (w *Writer) Abort() {
	if w.err == nil {
		w.err = fmt.Errorf("the writer was aborted")
	}
	if w.file != nil {
		w.file.Abort()
	}
}
