package table

import (
	"context"
	"fmt"
	"math"
	"os"

	"github.com/sftseq/sftseq/internal/arrowipc"
	"github.com/sftseq/sftseq/internal/source"
)

// Part is a range of the rows of a file.
type Part struct {
	Path, Format string
	// From and To are row numbers of Arrow and Parquet, from 0; To is exclusive. For JSON lines,
	// they are the byte range in which rows begin; To may be math.MaxInt64.
	From, To int64
}

// OpenPart opens a part of an Arrow, Parquet or JSON lines file. Its rows have their positions in
// the whole file: the row number, or for JSON lines the byte, because the line number is unknown in
// the middle of a file.
func OpenPart(ctx context.Context, p Part, o Options) (Reader, error) {
	o.Format, o.part = p.Format, &p
	return Open(ctx, p.Path, o)
}

// Parts reads several parts in sequence.
type Parts struct {
	chain
	columns []string
}

// OpenParts returns a reader of several parts. It opens the first part immediately, and each
// further part after the previous part was read.
func OpenParts(ctx context.Context, parts []Part, o Options) (*Parts, error) {
	r := &Parts{}
	r.open = func() (Reader, error) {
		if len(parts) == 0 {
			return nil, nil
		}
		next := parts[0]
		parts = parts[1:]
		return OpenPart(ctx, next, o)
	}
	var err error
	if r.rows, err = r.open(); err != nil {
		return nil, err
	}
	if r.rows != nil {
		r.columns = r.rows.Columns()
	}
	return r, nil
}

// Columns returns the columns of the first part.
func (r *Parts) Columns() []string { return r.columns }

// Next reads the next row into row. It returns io.EOF after the last row.
func (r *Parts) Next(row *Row) error { return r.read(row) }

// Extent describes how a file can be divided into parts.
type Extent struct {
	Bytes      int64 // size of the file
	Rows       int64 // rows of Arrow and Parquet files; otherwise -1
	Compressed bool  // the file is compressed, so it cannot be divided
}

// ExtentOf returns the extent of an Arrow, Parquet or JSON lines file. It reads the row counts of
// row groups and record batches.
func ExtentOf(ctx context.Context, path, format string) (e Extent, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return Extent{}, err
	}
	if !info.Mode().IsRegular() {
		return Extent{}, fmt.Errorf("%s: expected a file, found %v", path, info.Mode())
	}
	e = Extent{Bytes: info.Size(), Rows: -1}
	if format == "parquet" {
		e.Rows, err = countParquetRows(path)
		return e, addPath(path, err)
	}
	in, err := source.Open(ctx, path, nil)
	if err != nil {
		return Extent{}, err
	}
	defer in.Close()
	if err := checkUTF16(in); err != nil {
		return Extent{}, addPath(path, err)
	}
	whole := in.Whole()
	switch {
	case format == "jsonl":
		e.Compressed = whole == nil
		return e, nil
	case format != "arrow":
		return Extent{}, fmt.Errorf("%s: expected Arrow, Parquet or JSON lines, found %s", path, format)
	case whole == nil:
		return Extent{}, fmt.Errorf("%s: expected an uncompressed Arrow file, found a compressed file, "+
			"which cannot be divided", path)
	}
	stream, err := arrowipc.NewFileOrStream(in, whole)
	if err == nil {
		e.Rows, err = stream.Skip(math.MaxInt64)
	}
	return e, addPath(path, err)
}
