package seq

import (
	"fmt"
	"io"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/ipc"

	"github.com/sftseq/sftseq/internal/arrowipc"
	"github.com/sftseq/sftseq/internal/atomicfile"
)

// A Format is one of Arrow's two IPC formats.
type Format int

// The formats: a file has a footer for random access, a stream can be read and
// written through a pipe.
const (
	FileFormat Format = iota
	StreamFormat
)

// A Writer writes rows as an Arrow IPC file or stream and holds one record batch in memory. After
// an error, all methods return this error. It is not safe for concurrent use.
type Writer struct {
	spec    Spec
	schema  *arrow.Schema
	out     recordWriter
	file    *atomicfile.File // nil for NewWriter
	pending *Block           // at most one record batch
	row     int64
	largest int32 // largest label so far
	ended   bool  // the end has been written
	err     error
}

// recordWriter is the common interface of Arrow's two writers.
type recordWriter interface {
	Write(arrow.Record) error
	Close() error
}

// NewWriter writes to w. The output is complete after Close, which does not
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

// Create writes a file at path, which appears complete on Close or not at all.
func Create(path string, spec Spec) (*Writer, error) {
	return create(path, spec, io.Discard)
}

// create is Create with a copy of the bytes to tee, which must not fail; it is for a checksum. It
// does not remove temporary files, as a manifest may refer to them.
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

// Write appends one row; e.Index is ignored. It refuses rows that a reader would refuse; the next
// call may succeed.
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

// WriteBlock appends the rows of a block of the same specification, as separate record batches, and
// empties the block. A label without a name is an error of Close only, as names may be set until
// then.
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
		if err := w.out.Write(batch.record(w.schema)); err != nil {
			return err
		}
		batches.Put(batch)
	}
	b.batches, b.rows = nil, 0
	return nil
}

// finish writes pending rows and the end of the file.
func (w *Writer) finish() error {
	if w.err != nil || w.ended {
		return w.err
	}
	w.ended = true
	if w.err = w.flush(); w.err == nil {
		w.err = w.out.Close()
	}
	return w.err
}

// prepare does the part of Close that may fail: afterwards a file of Create is on the disk.
func (w *Writer) prepare() error {
	if w.finish() == nil && w.spec.NumberNames == nil {
		w.err = w.spec.checkLabel(w.largest)
	}
	if w.err == nil && w.file != nil {
		w.err = w.file.Sync()
	}
	return w.err
}

// Close writes pending rows and the end, and renames a file of Create to its final name. After an
// error it leaves no file and returns the error.
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

// Abort removes a file of Create. After Close it does nothing, so it can be deferred.
func (w *Writer) Abort() {
	if w.err == nil {
		w.err = fmt.Errorf("the writer was aborted")
	}
	if w.file != nil {
		w.file.Abort()
	}
}
