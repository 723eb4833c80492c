package table

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"
)

// OutputColumn is a column of a table that a [Writer] writes.
type OutputColumn struct {
	Name  string
	Kind  ColumnKind
	Width int         // length of the vectors of a VectorColumn
	Omit  bool        // JSON lines leave out a null value instead of writing null
	Field arrow.Field // type of a StoredColumn, with its metadata
}

// ColumnKind is the type of a column. In a row every value may be nil, which is null.
type ColumnKind int

// The kinds, and the types of their values.
const (
	TextColumn   ColumnKind = iota // string, or json.RawMessage, which is its text
	IntColumn                      // int64
	FloatColumn                    // float32
	VectorColumn                   // []float32
	ObjectColumn                   // anything that JSON can hold, for JSON lines only
	ListColumn                     // []int32, of any length, for JSON lines, Parquet and Arrow
	StoredColumn                   // Stored, of the type of Field, for Parquet and Arrow only
)

// Writer writes a table row by row, in constant memory. The table is complete after Close, which does not
// close the underlying writer.
type Writer interface {
	// Write writes a row with a value for each column.
	Write(row []any) error
	// Flush writes buffered rows, if the format can be read before its end.
	Flush() error
	Close() error
}

// OutputFormats are the formats that [NewWriter] writes.
var OutputFormats = []string{"jsonl", "csv", "tsv", "parquet", "arrow"}

// BED is the format of named intervals. [NewWriter] does not write it, because it has no columns of its own.
const BED = "bed"

// outputExtensions are the formats by file name extension.
var outputExtensions = map[string]string{".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv",
	".tsv": "tsv", ".tab": "tsv",
	".bed": BED, ".parquet": "parquet", ".pq": "parquet", ".arrow": "arrow", ".feather": "arrow", ".ipc": "arrow"}

// OutputFormat returns the format of a file by its name. No name and "-" mean JSON lines.
func OutputFormat(path string) (string, error) {
	if path == "" || path == "-" {
		return "jsonl", nil
	}
	format, ok := outputExtensions[strings.ToLower(filepath.Ext(path))]
	if !ok {
		return "", errors.New("its name does not say what it is to be: expected one that ends in .jsonl, .csv, .tsv, .parquet or .arrow, or - for JSON lines")
	}
	return format, nil
}

// safeSuffix marks the formats whose text no spreadsheet takes for a formula.
const safeSuffix = "-safe"

// SafeFormat returns the format of a table of text, csv or tsv, whose texts spreadsheets do not compute: a
// text that a spreadsheet would take for a formula begins with an apostrophe.
func SafeFormat(format string) (string, error) {
	if format != "csv" && format != "tsv" {
		return "", fmt.Errorf("expected a table of text, csv or tsv, found %s, whose texts no spreadsheet computes",
			format)
	}
	return format + safeSuffix, nil
}

// NewWriter returns a writer of one of the [OutputFormats], or of a [SafeFormat].
func NewWriter(w io.Writer, format string, columns []OutputColumn) (Writer, error) {
	columns = slices.Clone(columns)
	format, safe := strings.CutSuffix(format, safeSuffix)
	switch format {
	case "jsonl":
		return newLineWriter(w, columns)
	case "csv":
		return newDelimitedWriter(w, ',', columns, safe)
	case "tsv":
		return newDelimitedWriter(w, '\t', columns, safe)
	case "parquet":
		return newRecordWriter(w, columns, nil, parquetFile)
	case "arrow":
		return newRecordWriter(w, columns, nil, arrowFile)
	}
	return nil, fmt.Errorf("format %q: expected one of %s", format, strings.Join(OutputFormats, ", "))
}

// kindError is for a value that is not of its column's kind, which is a mistake of the program.
func kindError(c *OutputColumn, v any) error {
	return fmt.Errorf("column %s: a value of type %T does not belong there", c.Name, v)
}

// text is a value of text.
func text(c *OutputColumn, v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case json.RawMessage:
		return string(v), nil
	}
	return "", kindError(c, v)
}

// number is a number as JSON and CSV have it: the shortest text that is the same number.
func number(v float32) string { return strconv.FormatFloat(float64(v), 'g', -1, 32) }

// ArrowType is a column's type in an Arrow file.
func (c *OutputColumn) ArrowType() (arrow.DataType, error) { return c.arrowType(true) }

// arrowType is a column's type, of which a vector has two.
func (c *OutputColumn) arrowType(fixed bool) (arrow.DataType, error) {
	switch c.Kind {
	case TextColumn:
		return arrow.BinaryTypes.String, nil
	case IntColumn:
		return arrow.PrimitiveTypes.Int64, nil
	case FloatColumn:
		return arrow.PrimitiveTypes.Float32, nil
	case VectorColumn:
		if fixed {
			return arrow.FixedSizeListOf(int32(c.Width), arrow.PrimitiveTypes.Float32), nil
		}
		return arrow.ListOf(arrow.PrimitiveTypes.Float32), nil
	case ListColumn:
		return arrow.ListOf(arrow.PrimitiveTypes.Int32), nil
	case StoredColumn:
		return c.Field.Type, nil
	}
	return nil, fmt.Errorf("column %s: only JSON lines can hold it", c.Name)
}
