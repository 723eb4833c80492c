package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/arrowipc"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// recordFunc returns a record of predictions for a record of sequences.
type recordFunc func(context.Context, arrow.Record) (arrow.Record, error)

// predictArrow reads --input in batches and writes the predictions to --output, which becomes
// visible when it is complete.
func predictArrow(c *cli.Context, config *sft.Config, predict recordFunc) error {
	in, name, err := openArrow(c)
	if err != nil {
		return err
	}
	defer in.Close()
	// Try a record without rows first, to report a schema that does not fit the model before any work is
	// done, and to get the schema of the output.
	empty, err := predictRecord(c.Context, withoutRows(in.Schema()), predict)
	if err == nil {
		err = checkTokens(config, in.Spec())
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if sameFile(c.String("input"), c.String("output")) {
		return fmt.Errorf("%s: --output would replace --input", c.String("output"))
	}
	file, err := createFile(c.String("output"))
	if err != nil {
		return err
	}
	defer file.Abort()
	out, err := arrowipc.NewFileWriter(file, empty.Schema())
	if err != nil {
		return err
	}
	p := newProgress(0, "scoring "+name, "rows")
	defer p.Finish()
	for rows, err := range in.All() {
		if err != nil {
			return err
		}
		record, err := predictRecord(c.Context, rows.Record(), predict)
		if err != nil {
			return fmt.Errorf("%s: %w", name, withFileRow(err, rows.First()))
		}
		if err := out.Write(record); err != nil {
			return err
		}
		p.Add(record.NumRows())
	}
	if err := out.Close(); err != nil {
		return err
	}
	return file.Commit()
}

// withoutRows returns an empty record of a schema. It does not use Arrow's builder, which changes
// the type of fixed-size lists with non-nullable items.
func withoutRows(schema *arrow.Schema) arrow.Record {
	var columns []arrow.Array
	for _, f := range schema.Fields() {
		columns = append(columns, array.MakeArrayOfNull(memory.DefaultAllocator, f.Type, 0))
	}
	return array.NewRecord(schema, columns, 0)
}

// sameFile reports whether two paths name the same file.
func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// isInside reports whether path is, or would be, a file below a directory.
func isInside(dir, path string) bool {
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() {
		return false
	}
	for parent, err := filepath.Abs(filepath.Dir(path)); err == nil; parent = filepath.Dir(parent) {
		if sameFile(dir, parent) {
			return true
		}
		if parent == filepath.Dir(parent) {
			break
		}
	}
	return false
}

func openArrow(c *cli.Context) (r *seq.Reader, name string, err error) {
	name = c.String("input")
	if name == "-" {
		name = "standard input"
		r, err = seq.NewReader(c.App.Reader, name)
		return r, name, err
	}
	r, err = seq.Open(name)
	return r, name, err
}

// predictRecord returns the predictions for a record, with the record's id column if it has one.
func predictRecord(ctx context.Context, record arrow.Record, predict recordFunc) (arrow.Record, error) {
	out, err := predict(ctx, record)
	if err != nil {
		return nil, err
	}
	idColumns := record.Schema().FieldIndices("id")
	if len(idColumns) == 0 {
		return out, nil
	}
	fields := append([]arrow.Field{record.Schema().Field(idColumns[0])}, out.Schema().Fields()...)
	columns := append([]arrow.Array{record.Column(idColumns[0])}, out.Columns()...)
	metadata := out.Schema().Metadata()
	return array.NewRecord(arrow.NewSchema(fields, &metadata), columns, out.NumRows()), nil
}

// withFileRow replaces the row index in an error, counted from the start of the record, by the index
// in the file. first is the index of the record's first row in the file.
func withFileRow(err error, first int64) error {
	var e *sft.RowError
	if !errors.As(err, &e) {
		return err
	}
	return &sft.RowError{Row: int(first) + e.Row, Err: e.Err}
}
