package table

import (
	"context"
	"fmt"
	"math"
	"os"

	"github.com/sftseq/sftseq/internal/arrowipc"
	"github.com/sftseq/sftseq/internal/source"
)

// Part is a run of the rows of a file.
type Part struct {
	Path, Format string
	// From and To are rows of Arrow and Parquet, from 0, up to the one before To; of JSON
	// lines the bytes between which rows begin, or math.MaxInt64 for all that follow.
	From, To int64
}

// OpenPart opens a part of a file of Arrow, Parquet or JSON lines. Its rows have the places
// that they have in the file: the number of the row, and of JSON lines the byte, since who
// begins in the middle does not know the number of the line.
func OpenPart(ctx context.Context, p Part, o Options) (Reader, error) {
	o.Format, o.part = p.Format, &p
	return Open(ctx, p.Path, o)
}

// Parts reads parts one behind the other.
type Parts struct {
	chain
	columns []string
}

// OpenParts opens the first of some parts; the others are opened when those before are
// read.
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

// Columns returns those of the first part.
func (r *Parts) Columns() []string { return r.columns }

// Next returns the next row.
func (r *Parts) Next(row *Row) error { return r.read(row) }

// Extent is how a file can be cut into parts.
type Extent struct {
	Bytes int64 // bytes of the file
	Rows  int64 // rows of Arrow and Parquet files; otherwise -1
	Whole bool  // it is compressed, so that it cannot be cut
}

// ExtentOf looks at a file of Arrow, Parquet or JSON lines. It reads where row groups and
// record batches say how many rows they have.
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
		e.Rows, err = parquetRowsOf(path)
		return e, named(path, err)
	}
	in, err := source.Open(ctx, path, nil)
	if err != nil {
		return Extent{}, err
	}
	defer in.Close()
	if err := checkUTF16(in); err != nil {
		return Extent{}, named(path, err)
	}
	whole := in.Whole()
	switch {
	case format == "jsonl":
		e.Whole = whole == nil
		return e, nil
	case format != "arrow":
		return Extent{}, fmt.Errorf("%s: expected Arrow, Parquet or JSON lines, found %s", path, format)
	case whole == nil:
		return Extent{}, fmt.Errorf("%s: expected Arrow that is not compressed as a whole, so that a part can be read", path)
	}
	stream, err := arrowipc.NewFileOrStream(in, whole)
	if err == nil {
		e.Rows, err = stream.Skip(math.MaxInt64)
	}
	return e, named(path, err)
}
