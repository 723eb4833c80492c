// Package table reads and writes tables of other programs, row by row, in bounded memory.
//
// [Open] reads CSV, TSV, JSON lines, JSON lists, text lines, CoNLL, Arrow, FASTA and FASTQ from
// files or standard input, optionally compressed by gzip or Zstandard. It also reads Parquet,
// directories of Hugging Face data sets, folders of such tables, and folders of files. A row that
// cannot be read is reported with its position, and reading continues after it if possible.
//
// [Writer] writes JSON lines, CSV, TSV, Parquet and Arrow.
package table

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sftseq/sftseq/internal/jsonlines"
	"github.com/sftseq/sftseq/internal/source"
	"github.com/sftseq/sftseq/seq"
)

// Row has a row's values of the requested columns, in the order of the request.
type Row struct {
	File   string
	Line   int64  // line, or row number in JSON lists, Arrow and Parquet, from 1; 0 if unknown or a whole file
	Byte   int64  // byte at which the row begins in a part of JSON lines, from 1; otherwise 0
	Name   string // name of the record in the file, or ""
	Values []Value
	Err    error // error of the row; Values is then empty, or has null for each invalid value
	Uneven bool  // the fields do not fit the columns, or repeat the header; values up to the error are valid

	shared int // bytes of memory that the values share
}

// begin resets the row for reading the next row.
func (r *Row) begin(file string, line int64) {
	*r = Row{File: file, Line: line, Values: r.Values[:0]}
}

// fail removes the row's values and sets its error.
func (r *Row) fail(err error) { r.Values, r.Err = r.Values[:0], err }

// setNull replaces a value that cannot be read by null, and keeps the row's other values. It sets the
// row's error unless the row has one already.
func (r *Row) setNull(v *Value, err error) {
	*v = Value{Null: true}
	if r.Err == nil {
		r.Err = err
	}
}

// insert inserts a text at each of the given indices. The indices ascend and count inserted values.
func (r *Row) insert(indices []int, text string) {
	for _, at := range indices {
		r.Values = slices.Insert(r.Values, at, Value{Text: text})
	}
}

// Size returns the approximate memory of the row in bytes.
func (r *Row) Size() int {
	n := 0
	for _, v := range r.Values {
		n += len(v.Text) + len(v.Stored) + 4*len(v.Tokens)
		for _, item := range v.Items {
			n += itemBytes + len(item)
		}
		n += featureBytes(v.Features) + edgeBytes*len(v.Edges)
	}
	return max(n, r.shared)
}

// Position returns the position of a row: FILE:LINE, FILE, or FILE@BYTE in a part of JSON lines.
func (r *Row) Position() string {
	if r.Byte > 0 {
		return fmt.Sprintf("%s@%d", r.File, r.Byte)
	}
	return Position(r.File, r.Line)
}

// Position returns the position of a row as FILE:LINE, or FILE if line is 0.
func Position(file string, line int64) string {
	if line == 0 {
		return file
	}
	return fmt.Sprintf("%s:%d", file, line)
}

// Value is a row's value in a column.
type Value struct {
	Text   string
	Tokens []int32  // instead of Text, for lists of token ids
	Items  []string // instead of Text, for lists in columns of [Options].Lists
	// Features are set instead of Text, for a series and for lists in columns of [Options].Features.
	Features [][]float32
	Edges    [][2]int32 // instead of Text, for lists in columns of [Options].Edges
	Gaps     []bool     // whether each of Items is null, in columns of [Options].Gaps
	Null     bool       // whether the value is missing
	IsWords  bool       // whether Text is a list of words separated by spaces, each of which may have a tag
	// JSON reports whether the table stores Text as a number or a boolean, or as a list or object that is
	// copied. Text is then valid JSON, unless it is NaN or an infinity. With Items, JSON is set only in
	// Arrow and Parquet.
	JSON   bool
	Stored Stored // value in Arrow's representation, in columns of [Options].Typed
}

// ColumnError is an error of one value in a column, or of the whole column.
type ColumnError struct {
	Column string
	IsList bool  // the value is a list
	Err    error // includes the column's name
}

func (e *ColumnError) Error() string { return e.Err.Error() }

// Unwrap returns the underlying error.
func (e *ColumnError) Unwrap() error { return e.Err }

// Reader reads a table.
type Reader interface {
	// Columns returns the names of all columns, or nil if only the rows determine them.
	Columns() []string
	// Next reads the next row into row, reusing its Values. It returns io.EOF after the last row.
	// Any other error is final.
	Next(row *Row) error
	io.Closer
}

// Options control how a table is read.
type Options struct {
	Columns []string // columns to read
	Format  string   // one of [Formats]; "" derives it from the file's name
	// Copied are the names among Columns that are only copied: JSON lists and objects become compact
	// JSON text, and Arrow dates and times become text.
	Copied []string
	// Typed are the names among Columns whose values are also returned as [Stored]. Lists,
	// structs and maps that are also Copied become JSON with every element, in Arrow and Parquet.
	Typed     []string
	Lists     []string // columns with lists of texts instead of token ids
	Features  []string // columns with lists of token features
	Series    []string // columns of a series, named SeriesName(Series) in Columns
	NotSeries []string // columns that a name with * in Series does not match
	// Edges are the names among Columns of Arrow and Parquet that have lists of pairs of numbers:
	// the source and the target of each edge.
	Edges     []string
	Gaps      []string          // names among Lists whose elements may be null, in Arrow and Parquet
	Delimiter byte              // delimiter of CSV; 0 means a comma
	MaxField  int               // maximum bytes of a row
	Progress  func(bytes int64) // called with the number of bytes read since the last call; may be nil
	// MissingColumn, if not nil, is called at the end of a file whose rows can have different
	// columns. It receives a requested column that no row has, and the columns of the first rows.
	MissingColumn func(file, column string, found []string)
	Note          func(line string) // called with notes on files; may be nil
	Spread        bool              // read the files of a folder in an order whose beginning is a sample of all files

	part   *Part    // part of the rows; nil means all rows
	series []string // columns with lists of numbers
	// classesNamed means that the caller replaces class numbers by names.
	classesNamed bool
}

// StandardInput is the path that means standard input.
const StandardInput = source.StandardInput

// DefaultMaxField is the default of [Options].MaxField in bytes.
const DefaultMaxField = 64 << 20

// Open opens a table: a file, a folder of tables that are read as one, a data set saved by Hugging Face's
// library, or a folder of other files with a row per file. The path "-" means standard input.
func Open(ctx context.Context, path string, o Options) (Reader, error) {
	if o.MaxField == 0 {
		o.MaxField = DefaultMaxField
	}
	if o.Series != nil {
		return openSeries(ctx, path, o)
	}
	if info, err := os.Stat(path); path != StandardInput && err == nil && info.IsDir() {
		return openDirectory(ctx, path, o)
	}
	format := o.Format
	if _, err := os.Stat(path); path != StandardInput && errors.Is(err, fs.ErrNotExist) {
		return nil, err // a missing file is an error for any name
	}
	if format == "" {
		var err error
		if format, err = FormatOf(path); err != nil {
			return nil, err
		}
	}
	if o.Delimiter != 0 && format != "csv" {
		return nil, fmt.Errorf("%s: found a delimiter for the format %s, expected CSV (--format csv)",
			path, format)
	}
	if format == "parquet" {
		r, err := newParquet(path, o)
		if err != nil {
			return nil, addPath(path, err)
		}
		return r, nil
	}
	in, err := source.Open(ctx, path, o.Progress)
	if err != nil {
		return nil, err
	}
	if err := checkUTF16(in); err != nil {
		in.Close()
		return nil, fmt.Errorf("%s: %w", in.Name, err)
	}
	var r Reader
	switch format {
	case "csv":
		r, err = newCSV(in, o)
	case "tsv":
		r, err = newTSV(in, o)
	case "jsonl":
		r, err = newJSONLines(in, o)
	case "json":
		r, err = newJSON(in, o)
	case "text":
		r, err = newText(in, o)
	case "conll":
		r, err = newCoNLL(in, o)
	case "arrow":
		r, err = newArrow(in, o)
	case "fasta", "fastq":
		r, err = newFASTA(in, format == "fastq", o)
	default:
		err = fmt.Errorf("format %q: expected one of %s", format, strings.Join(Formats, ", "))
	}
	if err != nil {
		in.Close()
		return nil, fmt.Errorf("%s: %w", in.Name, err)
	}
	if isJSON := strings.HasPrefix(format, "json"); isJSON || format == "csv" || format == "tsv" {
		r = withCardClasses(r, path, isJSON, o)
	}
	return r, nil
}

// openDirectory opens a directory as a saved data set, a folder of tables, or a folder of files.
func openDirectory(ctx context.Context, path string, o Options) (r Reader, err error) {
	if _, err := os.Stat(filepath.Join(path, seq.ManifestName)); err == nil {
		example := ""
		if files, _ := filepath.Glob(filepath.Join(path, "*.arrow")); files != nil {
			example = ", such as " + files[0]
		}
		return nil, fmt.Errorf("%s: expected a table or a folder of files by class, found a data set (%s): "+
			"pass its .arrow files%s", path, seq.ManifestName, example)
	}
	if isHF(path) {
		r, err = newHF(ctx, path, o)
	} else if shards, wrong := findShards(path, o.Format); wrong != nil {
		err = wrong
	} else if shards != nil {
		r, err = newShards(ctx, path, shards, o)
	} else {
		r, err = newFolder(ctx, path, o)
	}
	if err != nil {
		return nil, addPath(path, err)
	}
	return r, nil
}

// addPath prefixes an error with a path, unless the error already begins with that path or a file
// in it.
func addPath(path string, err error) error {
	var known *fs.PathError
	clean := filepath.Clean(path)
	switch {
	case err == nil:
		return nil
	case strings.HasPrefix(err.Error(), path+":"), strings.HasPrefix(err.Error(), clean+":"),
		strings.HasPrefix(err.Error(), clean+string(filepath.Separator)),
		strings.HasPrefix(err.Error(), path+string(filepath.Separator)),
		errors.As(err, &known) && strings.HasPrefix(known.Path, path):
		return err
	}
	return fmt.Errorf("%s: %w", path, err)
}

// ReadOnce reports whether a path can be read only once, like standard input and pipes.
func ReadOnce(path string) bool {
	info, err := os.Stat(path)
	return path == StandardInput || err == nil && !info.IsDir() && !info.Mode().IsRegular()
}

// IsFolder reports whether [Open] reads a path as a folder of files, one row with [FolderColumns] per
// file. format is the requested format, or "".
func IsFolder(path, format string) bool {
	info, err := os.Stat(path)
	if path == StandardInput || err != nil || !info.IsDir() || isHF(path) {
		return false
	}
	shards, err := findShards(path, format)
	return err == nil && shards == nil
}

// columnIndices returns the indices of the wanted columns among the existing columns. Missing and
// duplicate columns are errors.
func columnIndices(existing, wanted []string) ([]int, error) {
	var out []int
	for _, name := range wanted {
		at, count := -1, 0
		for i, column := range existing {
			if column == name {
				at, count = i, count+1
			}
		}
		switch count {
		case 0:
			return nil, fmt.Errorf("column %q: expected one of %s", name, jsonlines.QuoteNames(existing))
		case 1:
			out = append(out, at)
		default:
			return nil, fmt.Errorf("column %q: expected one column of this name, found %d", name, count)
		}
	}
	return out, nil
}
