// Package rowwriter writes rows of results as other programs read them: JSON lines, CSV,
// TSV, Parquet and Arrow, in constant memory.
package rowwriter

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

// Column is a column of the rows.
type Column struct {
	Name  string
	Kind  Kind
	Width int  // numbers of a Vector
	Omit  bool // JSON lines leave it out where it has no value, instead of null
}

// Kind is what a column holds. In a row every value may be nil, which stands for none.
type Kind int

// The kinds, and the types of their values.
const (
	Text   Kind = iota // string, or json.RawMessage, which is its text
	Whole              // int64
	Real               // float32
	Vector             // []float32
	Object             // anything that JSON can hold, for JSON lines only
	List               // []int32, of any length, for JSON lines, Parquet and Arrow
)

// Writer writes rows. What is written is complete after Close, which does not close what
// it is written to.
type Writer interface {
	// Write writes a row with a value for each column.
	Write(row []any) error
	// Flush writes what is held back, where a format can be read before its end.
	Flush() error
	Close() error
}

// Formats are those that can be written.
var Formats = []string{"jsonl", "csv", "tsv", "parquet", "arrow"}

// BED is a format of named intervals, which rows of columns do not make: [New] does not know it.
const BED = "bed"

// extensions say what a file is to be.
var extensions = map[string]string{".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".tsv": "tsv", ".tab": "tsv",
	".bed": BED, ".parquet": "parquet", ".pq": "parquet", ".arrow": "arrow", ".feather": "arrow", ".ipc": "arrow"}

// FormatOf is the format that a file's name asks for; no name and "-" are JSON lines.
func FormatOf(path string) (string, error) {
	if path == "" || path == "-" {
		return "jsonl", nil
	}
	format, ok := extensions[strings.ToLower(filepath.Ext(path))]
	if !ok {
		return "", errors.New("its name does not say what it is to be: expected one that ends in .jsonl, .csv, .tsv, .parquet or .arrow, or - for JSON lines")
	}
	return format, nil
}

// New returns a writer of a format.
func New(w io.Writer, format string, columns []Column) (Writer, error) {
	columns = slices.Clone(columns)
	switch format {
	case "jsonl":
		return newLines(w, columns)
	case "csv":
		return newDelimited(w, ',', columns)
	case "tsv":
		return newDelimited(w, '\t', columns)
	case "parquet":
		return newRecords(w, columns, nil, parquetFile)
	case "arrow":
		return newRecords(w, columns, nil, arrowFile)
	}
	return nil, fmt.Errorf("format %q: expected one of %s", format, strings.Join(Formats, ", "))
}

// kindError is for a value that is not of its column's kind, which is a mistake of the program.
func kindError(c *Column, v any) error {
	return fmt.Errorf("column %s: a value of type %T does not belong there", c.Name, v)
}

// text is a value of text.
func text(c *Column, v any) (string, error) {
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
func (c *Column) ArrowType() (arrow.DataType, error) { return c.arrowType(true) }

// arrowType is a column's type, of which a vector has two.
func (c *Column) arrowType(fixed bool) (arrow.DataType, error) {
	switch c.Kind {
	case Text:
		return arrow.BinaryTypes.String, nil
	case Whole:
		return arrow.PrimitiveTypes.Int64, nil
	case Real:
		return arrow.PrimitiveTypes.Float32, nil
	case Vector:
		if fixed {
			return arrow.FixedSizeListOf(int32(c.Width), arrow.PrimitiveTypes.Float32), nil
		}
		return arrow.ListOf(arrow.PrimitiveTypes.Float32), nil
	case List:
		return arrow.ListOf(arrow.PrimitiveTypes.Int32), nil
	}
	return nil, fmt.Errorf("column %s: only JSON lines can hold it", c.Name)
}
