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

// ColumnKind is the type of a column. A nil value is null in a column of any kind.
type ColumnKind int

// The kinds, with the Go types of their values.
const (
	TextColumn   ColumnKind = iota // string, or json.RawMessage: a value in JSON lines, text in other formats
	IntColumn                      // int64
	FloatColumn                    // float32
	VectorColumn                   // []float32
	ObjectColumn                   // any value that JSON can represent; JSON lines only
	ListColumn                     // []int32 of any length; JSON lines, Parquet and Arrow
	StoredColumn                   // Stored, of the type of Field; Parquet and Arrow only
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

// BED is the format of named intervals. [NewWriter] does not write BED, whose columns are fixed.
const BED = "bed"

// outputExtensions maps file name extensions to output formats.
var outputExtensions = map[string]string{".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv",
	".tsv": "tsv", ".tab": "tsv",
	".bed": BED, ".parquet": "parquet", ".pq": "parquet", ".arrow": "arrow", ".feather": "arrow", ".ipc": "arrow"}

// OutputFormat returns the format of a file by its name. "" and "-" mean JSON lines.
func OutputFormat(path string) (string, error) {
	if path == "" || path == "-" {
		return "jsonl", nil
	}
	format, ok := outputExtensions[strings.ToLower(filepath.Ext(path))]
	if !ok {
		return "", errors.New("expected a file name that ends in .jsonl, .csv, .tsv, .parquet or .arrow, or - for JSON " +
			"lines")
	}
	return format, nil
}

// safeSuffix marks formats whose texts spreadsheets do not evaluate as formulas.
const safeSuffix = "-safe"

// SafeFormat returns the variant of csv or tsv whose texts spreadsheets do not evaluate: a text
// that would be a formula gets a leading apostrophe.
func SafeFormat(format string) (string, error) {
	if format != "csv" && format != "tsv" {
		return "", fmt.Errorf("expected csv or tsv, found %s, in which spreadsheets evaluate no formulas", format)
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

// kindError returns the error for a value of the wrong type or length, which is a programming error.
func kindError(c *OutputColumn, v any) error {
	return fmt.Errorf("column %s: found a value of type %T, which the column cannot store", c.Name, v)
}

// text returns the text of a string or of a json.RawMessage, and an error for other types.
func text(c *OutputColumn, v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case json.RawMessage:
		return string(v), nil
	}
	return "", kindError(c, v)
}

// formatFloat formats a number for CSV and TSV: the shortest text that parses to the same
// number.
func formatFloat(v float32) string { return strconv.FormatFloat(float64(v), 'g', -1, 32) }

// ArrowType returns a column's type in an Arrow file.
func (c *OutputColumn) ArrowType() (arrow.DataType, error) { return c.arrowType(true) }

// arrowType returns a column's type. Vectors are fixed-size lists if fixed is set, else lists.
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
	return nil, fmt.Errorf("column %s: expected JSON lines, because other formats cannot store its values", c.Name)
}
