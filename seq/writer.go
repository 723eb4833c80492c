package seq

import (
	"fmt"
	"io"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"sftseq/internal/atomicfile"
)

// A Format is one of Arrow's two IPC formats.
type Format int

// The formats: a file has a footer for random access, a stream can be read and
// written through a pipe.
const (
	FileFormat Format = iota
	StreamFormat
)

// Small record batches keep the memory of readers and of random access small.
const (
	batchBytes = 64 << 10
	batchRows  = 1024
)

// A Writer writes rows as an Arrow IPC file or stream, holding one record batch
// in memory. After an error it stays in error. It is not safe for concurrent use.
type Writer struct {
	spec    Spec
	out     recordWriter
	file    *atomicfile.File // nil for NewWriter
	builder *array.RecordBuilder
	row     int64
	pending int // rows in builder
	size    int // bytes of their tokens
	err     error
}

// recordWriter is what Arrow's two writers have in common.
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
	writer := &Writer{spec: spec, builder: array.NewRecordBuilder(memory.DefaultAllocator, schema)}
	if format == StreamFormat {
		writer.out = ipc.NewWriter(w, ipc.WithSchema(schema))
		return writer, nil
	}
	out, err := ipc.NewFileWriter(&countingWriter{w: w}, ipc.WithSchema(schema))
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

// create is Create with a copy of the bytes to tee, for a checksum.
func create(path string, spec Spec, tee io.Writer) (*Writer, error) {
	file, err := atomicfile.Create(path)
	if err != nil {
		return nil, err
	}
	w, err := NewWriter(io.MultiWriter(file, tee), spec, FileFormat)
	if err != nil {
		file.Abort()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	w.file = file
	return w, nil
}

// Rows returns the number of rows written so far.
func (w *Writer) Rows() int64 { return w.row }

// Write appends one row; e.Index is ignored. A row that a reader would refuse
// is refused here, and the writer can go on after it.
func (w *Writer) Write(e Example) error {
	if w.err != nil {
		return w.err
	}
	if err := w.check(e); err != nil {
		return fmt.Errorf("row %d, %w", w.row, err)
	}
	w.append(0, e.A)
	label := 1
	if w.spec.Pair() {
		w.append(1, e.B)
		label = 2
	}
	labels := w.builder.Field(label).(*array.Int32Builder)
	if e.Label == NoLabel {
		labels.AppendNull()
	} else {
		labels.Append(e.Label)
	}
	w.row++
	w.pending++
	if w.pending >= batchRows || w.size >= batchBytes {
		w.err = w.flush()
	}
	return w.err
}

func (w *Writer) check(e Example) error {
	columns := w.spec.TokenColumns()
	for i, tokens := range [][]int32{e.A, e.B} {
		if i >= len(columns) {
			if tokens != nil {
				return fmt.Errorf("column %s: expected none for task %s", ColumnTokensB, w.spec.Task)
			}
			break
		}
		if len(tokens) == 0 {
			return fmt.Errorf("column %s: expected at least one token, found an empty sequence", columns[i])
		}
		if len(tokens) > maxBody/16 {
			return fmt.Errorf("column %s: expected at most %d tokens, found %d", columns[i], maxBody/16, len(tokens))
		}
		if at := firstBad(tokens, &w.spec); at >= 0 {
			return fmt.Errorf("column %s, index %d: %w", columns[i], at, w.spec.checkID(tokens[at]))
		}
	}
	if e.Label != NoLabel {
		if err := w.spec.checkLabel(e.Label); err != nil {
			return fmt.Errorf("column %s: %w", ColumnLabel, err)
		}
	}
	return nil
}

func (w *Writer) append(column int, tokens []int32) {
	list := w.builder.Field(column).(*array.ListBuilder)
	list.Append(true)
	width := 4
	switch values := list.ValueBuilder().(type) {
	case *array.Uint8Builder:
		width = 1
		values.Reserve(len(tokens))
		for _, id := range tokens {
			values.UnsafeAppend(uint8(id))
		}
	case *array.Uint16Builder:
		width = 2
		values.Reserve(len(tokens))
		for _, id := range tokens {
			values.UnsafeAppend(uint16(id))
		}
	case *array.Int32Builder:
		values.AppendValues(tokens, nil)
	}
	w.size += width * len(tokens)
}

func (w *Writer) flush() error {
	if w.pending == 0 {
		return nil
	}
	record := w.builder.NewRecord()
	w.pending, w.size = 0, 0
	return w.out.Write(record)
}

// Close writes what is pending and the end, and gives a file of Create its
// name. After an error it leaves no file behind and returns the error.
func (w *Writer) Close() error {
	if w.err == nil {
		w.err = w.flush()
	}
	if w.err == nil {
		w.err = w.out.Close()
	}
	if w.err != nil {
		w.Abort()
		return w.err
	}
	w.err = fmt.Errorf("the writer is closed")
	if w.file == nil {
		return nil
	}
	return w.file.Commit()
}

// Abort drops a file of Create. After Close it does nothing, so it can be
// deferred.
func (w *Writer) Abort() {
	if w.err == nil {
		w.err = fmt.Errorf("the writer was aborted")
	}
	if w.file != nil {
		w.file.Abort()
	}
}

// A countingWriter is the seeker that Arrow's file writer asks for, and which
// it only uses to learn its position.
type countingWriter struct {
	w   io.Writer
	pos int64
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.pos += int64(n)
	return n, err
}

// Seek answers where the writer is and refuses everything else.
func (c *countingWriter) Seek(offset int64, whence int) (int64, error) {
	if offset != 0 || whence != io.SeekCurrent {
		return 0, fmt.Errorf("seek to %d (%d): the output is written in order", offset, whence)
	}
	return c.pos, nil
}
