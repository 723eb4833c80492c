package table

import (
	"context"
	"io"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/compress"
	parquetout "github.com/apache/arrow/go/v15/parquet/file"
	"github.com/apache/arrow/go/v15/parquet/pqarrow"
	parquetschema "github.com/apache/arrow/go/v15/parquet/schema"
)

// parquetWriter writes records of scalars and lists of scalars as row groups. It replaces Arrow's
// writer, which marks every time without a time zone as UTC and does not support UUIDs.
type parquetWriter struct{ out *parquetout.Writer }

func newParquetWriter(w io.Writer, schema *arrow.Schema) (recordFile, error) {
	// Arrow's default for the root, REPEATED, makes the reader hyparquet expect levels that the pages
	// lack.
	properties := parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Snappy),
		parquet.WithDictionaryDefault(false), parquet.WithRootRepetition(parquet.Repetitions.Required))
	own, err := pqarrow.ToParquet(schema, properties, pqarrow.DefaultWriterProps())
	if err != nil {
		return nil, err
	}
	var nodes parquetschema.FieldList
	for i, f := range schema.Fields() {
		node := own.Root().Field(i)
		if logical, physical, length := logicalType(f); logical != nil {
			if node, err = parquetschema.NewPrimitiveNodeLogical(f.Name,
				parquet.Repetitions.Optional, logical, physical,
				length, -1); err != nil {
				return nil, err
			}
		}
		nodes = append(nodes, node)
	}
	root, err := parquetschema.NewGroupNode(properties.RootName(), properties.RootRepetition(), nodes, -1)
	if err != nil {
		return nil, err
	}
	return &parquetWriter{parquetout.NewParquetWriter(w, root, parquetout.WithWriterProps(properties))}, nil
}

// logicalType returns the Parquet types of a column of times, timestamps, UUIDs or 64-bit dates, or nil
// for other columns. Parquet has no unit of seconds, so seconds become milliseconds.
func logicalType(f arrow.Field) (logical parquetschema.LogicalType, physical parquet.Type, length int) {
	units := []parquetschema.TimeUnitType{arrow.Second: parquetschema.TimeUnitMillis,
		arrow.Millisecond: parquetschema.TimeUnitMillis, arrow.Microsecond: parquetschema.TimeUnitMicros,
		arrow.Nanosecond: parquetschema.TimeUnitNanos}
	_, utc := f.Metadata.GetValue(keyUTC)
	switch t := f.Type.(type) {
	case *arrow.Date64Type:
		return parquetschema.DateLogicalType{}, parquet.Types.Int32, -1
	case *arrow.Time32Type:
		return parquetschema.NewTimeLogicalType(utc, parquetschema.TimeUnitMillis), parquet.Types.Int32, -1
	case *arrow.Time64Type:
		return parquetschema.NewTimeLogicalType(utc, units[t.Unit]), parquet.Types.Int64, -1
	case *arrow.TimestampType:
		return parquetschema.NewTimestampLogicalType(t.TimeZone != "", units[t.Unit]), parquet.Types.Int64, -1
	}
	if isUUID(f) {
		return parquetschema.UUIDLogicalType{}, parquet.Types.FixedLenByteArray, uuidBytes
	}
	return nil, 0, 0
}

// Write writes a record as a row group.
func (p *parquetWriter) Write(record arrow.Record) error {
	group := p.out.AppendRowGroup()
	properties := pqarrow.DefaultWriterProps()
	ctx := pqarrow.NewArrowWriteContext(context.Background(), &properties)
	for _, column := range record.Columns() {
		to, err := group.NextColumn()
		if err != nil {
			return err
		}
		values, definitions, repetitions := levels(column)
		if err := pqarrow.WriteArrowToColumn(ctx, to, values, definitions, repetitions, true); err != nil {
			return err
		}
	}
	return group.Close()
}

// levels returns the scalars of a column and their levels. Definition level 0 is a null, 1 a scalar or
// an empty list, 3 an item of a list. Repetition level 1 is an item after the first.
func levels(column arrow.Array) (values arrow.Array, definitions, repetitions []int16) {
	list, ok := column.(*array.List)
	if !ok {
		definitions = make([]int16, column.Len())
		for i := range definitions {
			if column.IsValid(i) {
				definitions[i] = 1
			}
		}
		return column, definitions, nil
	}
	const empty, item = 1, 3
	begin, end := int64(0), int64(0)
	for i := range list.Len() {
		from, to := list.ValueOffsets(i)
		if i == 0 {
			begin = from
		}
		end = to
		switch {
		case list.IsNull(i):
			definitions, repetitions = append(definitions, 0), append(repetitions, 0)
		case from == to:
			definitions, repetitions = append(definitions, empty), append(repetitions, 0)
		}
		for at := from; at < to; at++ {
			definitions = append(definitions, item)
			repetitions = append(repetitions, int16(min(1, at-from)))
		}
	}
	return array.NewSlice(list.ListValues(), begin, end), definitions, repetitions
}

// Close writes the file metadata.
func (p *parquetWriter) Close() error { return p.out.Close() }
