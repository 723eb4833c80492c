package table

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"
	parquet "github.com/apache/arrow/go/v15/parquet/file"
	"github.com/apache/arrow/go/v15/parquet/pqarrow"
)

// parquetRows are read at a time.
const parquetRows = 256

// newParquet reads a Parquet file, one row group after the other. It is read here and
// there, so it must be a file.
func newParquet(path string, o Options) (_ *records, err error) {
	if path == StandardInput {
		return nil, errors.New("parquet has its contents at its end: expected a file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	defer func() {
		if p := recover(); p != nil { // what the file says is not checked before it is believed
			err = fmt.Errorf("the file is damaged: %v", p)
		}
	}()
	whole, err := parquet.NewParquetReader(tracked{f, o.Progress})
	if err != nil {
		return nil, err
	}
	reader, err := pqarrow.NewFileReader(whole, pqarrow.ArrowReadProperties{BatchSize: parquetRows}, memory.DefaultAllocator)
	if err != nil {
		return nil, err
	}
	schema, err := reader.Schema()
	if err != nil {
		return nil, err
	}
	columns, err := checkColumns(schema, o.Columns)
	if err != nil {
		return nil, err
	}
	var leaves []int
	for i := range whole.MetaData().Schema.NumColumns() {
		for _, name := range o.Columns {
			if whole.MetaData().Schema.ColumnRoot(i).Name() == name {
				leaves = append(leaves, i)
			}
		}
	}
	g := groups{reader: reader, leaves: leaves, count: whole.NumRowGroups()}
	return &records{name: path, columns: columns, wanted: o.Columns, close: f.Close, next: func() (arrow.Record, error) {
		record, err := g.read()
		if err != nil && err != io.EOF {
			err = fmt.Errorf("%s: row group %d: %w", path, g.next-1, err)
		}
		return record, err
	}}, nil
}

// groups reads one row group after the other: a record that is of two has no one
// dictionary, which Arrow's reader then asks for.
type groups struct {
	reader *pqarrow.FileReader
	leaves []int
	count  int
	next   int
	rows   pqarrow.RecordReader // nil between two
}

func (g *groups) read() (arrow.Record, error) {
	for {
		if g.rows == nil {
			if g.next == g.count {
				return nil, io.EOF
			}
			g.next++
			var err error
			if g.rows, err = g.reader.GetRecordReader(context.Background(), g.leaves, []int{g.next - 1}); err != nil {
				return nil, err
			}
		}
		if g.rows.Next() {
			return g.rows.Record(), nil
		}
		if err := g.rows.Err(); err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		g.rows = nil
	}
}

// tracked tells progress of what is read of a file.
type tracked struct {
	*os.File
	progress func(bytes int64)
}

// ReadAt reads at an offset.
func (t tracked) ReadAt(b []byte, at int64) (int, error) {
	n, err := t.File.ReadAt(b, at)
	if t.progress != nil {
		t.progress(int64(n))
	}
	return n, err
}
