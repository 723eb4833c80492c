package table

import (
	"fmt"
	"io"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sftseq/sftseq/internal/arrowipc"
)

// recordWriter collects rows in record batches.
type recordWriter struct {
	columns []OutputColumn
	schema  *arrow.Schema
	builder *array.RecordBuilder
	out     recordFile
	to      *errorRecorder
	format  recordFormat
	rows    int
	size    int // approximate bytes of the collected rows
}

// recordFile is the common interface of Arrow's and Parquet's writers.
type recordFile interface {
	Write(arrow.Record) error
	Close() error
}

// recordFormat is a format of record batches.
type recordFormat struct {
	fixed bool // vectors are fixed-size lists
	rows  int  // maximum rows of a batch
	size  int  // approximate bytes of a batch at which it is written
	flush bool // batches can be read before the file ends
	open  func(io.Writer, *arrow.Schema) (recordFile, error)
}

// errorRecorder records the first write error, because Arrow does not always return it.
type errorRecorder struct {
	io.Writer
	err error
}

func (w *errorRecorder) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	if err != nil && w.err == nil {
		w.err = err
	}
	return n, err
}

// arrowFile is an Arrow IPC file. Its small batches can be read one at a time.
var arrowFile = recordFormat{fixed: true, rows: 4096, size: 1 << 20,
	open: func(w io.Writer, schema *arrow.Schema) (recordFile, error) {
		return arrowipc.NewFileWriter(w, schema)
	}}

// arrowStream is an Arrow IPC stream.
var arrowStream = recordFormat{fixed: true, rows: 4096, size: 1 << 20, flush: true,
	open: func(w io.Writer, schema *arrow.Schema) (recordFile, error) {
		return ipc.NewWriter(w, ipc.WithSchema(schema)), nil
	}}

// parquetFile is a Parquet file. Its batches are row groups, which are large because other programs
// are slow with many row groups.
var parquetFile = recordFormat{rows: 1 << 16, size: 16 << 20,
	open: newParquetWriter}

// NewArrowWriter returns a writer of an Arrow IPC file or stream. metadata is the metadata of the
// schema and may be nil.
func NewArrowWriter(w io.Writer, columns []OutputColumn, metadata *arrow.Metadata, stream bool) (Writer, error) {
	format := arrowFile
	if stream {
		format = arrowStream
	}
	return newRecordWriter(w, slices.Clone(columns), metadata, format)
}

func newRecordWriter(w io.Writer, columns []OutputColumn, metadata *arrow.Metadata,
	format recordFormat) (*recordWriter, error) {
	var fields, builderFields []arrow.Field
	for i := range columns {
		kind, err := columns[i].arrowType(format.fixed)
		if err != nil {
			return nil, err
		}
		f := arrow.Field{Name: columns[i].Name, Type: kind, Nullable: true, Metadata: columns[i].Field.Metadata}
		fields = append(fields, f)
		if fixed, ok := kind.(arrow.FixedWidthDataType); ok && columns[i].Kind == StoredColumn &&
			kind.ID() != arrow.BOOL {
			f.Type = &arrow.FixedSizeBinaryType{ByteWidth: fixed.Bytes()} // holds the bytes of any fixed-width type
		}
		builderFields = append(builderFields, f)
	}
	schema := arrow.NewSchema(fields, metadata)
	r := &recordWriter{columns: columns, schema: schema,
		builder: array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema(builderFields, nil)),
		format:  format, to: &errorRecorder{Writer: w}}
	return r, r.recoverPanic(func() (err error) {
		r.out, err = format.open(r.to, schema)
		return err
	})
}

// Write writes a row.
func (r *recordWriter) Write(row []any) error {
	for i := range r.columns {
		if err := r.add(&r.columns[i], r.builder.Field(i), row[i]); err != nil {
			return err
		}
	}
	if r.rows++; r.rows >= r.format.rows || r.size >= r.format.size {
		return r.write()
	}
	return nil
}

// add appends a value to a column of the batch.
func (r *recordWriter) add(c *OutputColumn, to array.Builder, v any) error {
	r.size += 4
	switch to := to.(type) {
	case *array.StringBuilder:
		if v != nil {
			s, err := text(c, v)
			if err != nil {
				return err
			}
			r.size += len(s)
			to.Append(s)
			return nil
		}
	case *array.BooleanBuilder:
		if s, ok := v.(Stored); ok && len(s) == 1 {
			to.Append(s[0] != 0)
			return nil
		}
	case *array.BinaryBuilder:
		if s, ok := v.(Stored); ok {
			r.size += len(s)
			to.AppendString(string(s))
			return nil
		}
	case *array.FixedSizeBinaryBuilder:
		if s, ok := v.(Stored); ok && len(s) == to.Type().(*arrow.FixedSizeBinaryType).ByteWidth {
			r.size += len(s)
			to.Append([]byte(s))
			return nil
		}
	case *array.Int64Builder:
		if n, ok := v.(int64); ok {
			to.Append(n)
			return nil
		}
	case *array.Float32Builder:
		if n, ok := v.(float32); ok {
			to.Append(n)
			return nil
		}
	case interface { // fixed-size or variable-size list
		Append(bool)
		ValueBuilder() array.Builder
	}:
		if n, ok := v.([]int32); ok && c.Kind == ListColumn {
			r.size += 4 * len(n)
			to.Append(true)
			to.ValueBuilder().(*array.Int32Builder).AppendValues(n, nil)
			return nil
		}
		if n, ok := v.([]float32); ok && c.Kind == VectorColumn && len(n) == c.Width {
			r.size += 4 * len(n)
			to.Append(true)
			to.ValueBuilder().(*array.Float32Builder).AppendValues(n, nil)
			return nil
		}
	}
	if v != nil {
		return kindError(c, v)
	}
	to.AppendNull()
	return nil
}

// write writes the collected rows as a batch.
func (r *recordWriter) write() error {
	if r.rows == 0 {
		return nil
	}
	built := r.builder.NewRecord()
	defer built.Release()
	columns := slices.Clone(built.Columns())
	for i, c := range columns {
		if f := r.schema.Field(i); f.Type != c.DataType() && r.columns[i].Kind == StoredColumn {
			data := c.Data()
			columns[i] = array.MakeFromData(array.NewData(f.Type, data.Len(), data.Buffers(), nil, data.NullN(), 0))
		}
	}
	record := array.NewRecord(r.schema, columns, built.NumRows())
	r.rows, r.size = 0, 0
	return r.recoverPanic(func() error { return r.out.Write(record) })
}

// recoverPanic calls do and turns a panic into an error, because Arrow panics on some write errors.
// It prefers the error of the underlying writer.
func (r *recordWriter) recoverPanic(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
		if r.to.err != nil {
			err = r.to.err
		}
	}()
	return do()
}

// Flush writes the collected rows to a stream. It does nothing for files, which can only be read
// when complete.
func (r *recordWriter) Flush() error {
	if !r.format.flush {
		return nil
	}
	return r.write()
}

// Close writes the remaining rows and the end of the file.
func (r *recordWriter) Close() error {
	if err := r.write(); err != nil {
		return err
	}
	return r.recoverPanic(r.out.Close)
}
