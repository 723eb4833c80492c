// Package table reads and writes tables of other programs, row by row, in constant memory. [Writer] writes
// JSON lines, CSV, TSV, Parquet and Arrow. It reads
// CSV, TSV, JSON lines, JSON lists, lines of text, CoNLL, Arrow, FASTA and FASTQ, plain or
// compressed by gzip or Zstandard, from files or standard input; Parquet; directories of
// Hugging Face's datasets; folders of such tables; and folders of files. A row that cannot
// be read is reported with its place, and reading goes on behind it wherever that is
// possible.
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

	"github.com/sftseq/sftseq/internal/source"
	"github.com/sftseq/sftseq/seq"
)

// Row is a row's values of the columns that were asked for, in their order.
type Row struct {
	File   string
	Line   int64  // where the row begins, from 1; 0 where it is the whole file, or that is not known
	Byte   int64  // where the line begins in a file of which a part is read, from 1; otherwise 0
	Name   string // name of the record in the file, or ""
	Values []Value
	Err    error // why the row cannot be read; then it has no values, or those that can be
	Uneven bool  // it has other fields than there are columns: its values are in place up to the wrong one

	whole int // bytes of the row, whose memory its values share
}

// begin makes it another row.
func (r *Row) begin(file string, line int64) {
	*r = Row{File: file, Line: line, Values: r.Values[:0]}
}

// fail makes it one that cannot be read.
func (r *Row) fail(err error) { r.Values, r.Err = r.Values[:0], err }

// setNull marks a value that cannot be read as null. The row's other values stay.
func (r *Row) setNull(v *Value, err error) {
	*v = Value{Null: true}
	if r.Err == nil {
		r.Err = err
	}
}

// insert adds a text at several places among the values, of which the first is the first.
func (r *Row) insert(places []int, text string) {
	for _, at := range places {
		r.Values = slices.Insert(r.Values, at, Value{Text: text})
	}
}

// Size is about how many bytes of memory the row has.
func (r *Row) Size() int {
	n := 0
	for _, v := range r.Values {
		n += len(v.Text) + len(v.Stored) + 4*len(v.Tokens)
		for _, item := range v.Items {
			n += itemBytes + len(item)
		}
		n += featureBytes(v.Features) + edgeBytes*len(v.Edges)
	}
	return max(n, r.whole)
}

// Place is where a row is: FILE:LINE, FILE, or of a part of JSON lines FILE@BYTE.
func (r *Row) Place() string {
	if r.Byte > 0 {
		return fmt.Sprintf("%s@%d", r.File, r.Byte)
	}
	return Place(r.File, r.Line)
}

// Place is where a row of a file is.
func Place(file string, line int64) string {
	if line == 0 {
		return file
	}
	return fmt.Sprintf("%s:%d", file, line)
}

// Value is what a row has in a column.
type Value struct {
	Text   string
	Tokens []int32  // in place of text, from a list of numbers
	Items  []string // in place of text, from a list in a column of [Options].Lists
	// Features are in place of text, from a list in a column of [Options].Features.
	Features [][]float32
	Edges    [][2]int32 // in place of text, from a list in a column of [Options].Edges
	Gaps     []bool     // missing elements of Items, in columns of [Options].Gaps
	Null     bool       // it is missing
	Words    bool       // the text is words with a space between them, each of which may have a tag
	// the text is a number, true or false, as JSON has it, or what [Options].Copied has taken; so are Items
	JSON   bool
	Stored Stored // also the value as Arrow stores it, in a column of [Options].Typed
}

// ColumnError is what is wrong with a row's value of a column, or with all of them.
type ColumnError struct {
	Column string
	List   bool  // it is a list
	Err    error // names the column
}

func (e *ColumnError) Error() string { return e.Err.Error() }

// Unwrap returns what is wrong.
func (e *ColumnError) Unwrap() error { return e.Err }

// Reader reads a table.
type Reader interface {
	// Columns are the names of all columns, or nil if they are known only from rows.
	Columns() []string
	// Next reads the next row in place of another, whose Values it takes; it returns
	// io.EOF after the last. Any other error is final.
	Next(row *Row) error
	io.Closer
}

// Options say how a table is read.
type Options struct {
	Columns []string // to be read
	Format  string   // one of [Formats]; "" derives it from the file's name
	// of Columns, those that are only copied: lists and objects of JSON are taken as they stand, dates and times of
	// Arrow as text
	Copied    []string
	Typed     []string // names among Columns whose values are also returned as [Stored]
	Lists     []string // columns with lists of texts, not of token ids
	Features  []string // columns with lists of the feature lists of tokens
	Series    []string // columns of a series of numbers, which are called SeriesName in Columns
	NotSeries []string // columns that a name with * in Series leaves out
	// of Columns of Arrow and Parquet, those whose lists are of pairs of numbers, the source and the target of an edge
	Edges     []string
	Gaps      []string          // columns of Lists whose elements may be null, in Arrow and Parquet
	Delimiter byte              // between the fields of CSV; 0 is a comma
	MaxField  int               // bytes of a row that are accepted at most
	Progress  func(bytes int64) // called with the bytes of the file read; may be nil
	// Absent is called at the end of a file where each row may have other columns, with one
	// of Columns that no row has, and those that the first rows have; may be nil.
	Absent func(file, column string, found []string)
	Note   func(line string) // called with remarks on files that are not rows; may be nil
	Spread bool              // read the files of a folder in an order whose beginning is a sample of all of them

	part   *Part    // part of the rows; nil means all
	series []string // columns with lists of numbers
}

// StandardInput is the name of what comes through a pipe.
const StandardInput = source.StandardInput

// DefaultMaxField is what a row may have if nothing else is said.
const DefaultMaxField = 64 << 20

// Open opens a table: a file, a folder of tables that are read as one, or a folder of other
// files, each of which is a row; the name "-" is standard input.
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
		return nil, err // whatever its name says
	}
	if format == "" {
		var err error
		if format, err = FormatOf(path); err != nil {
			return nil, err
		}
	}
	if o.Delimiter != 0 && format != "csv" {
		return nil, fmt.Errorf("%s: a delimiter is for CSV, the file is read as %s: expected --format csv with it",
			path, format)
	}
	if format == "parquet" {
		r, err := newParquet(path, o)
		if err != nil {
			return nil, named(path, err)
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
	return r, nil
}

// openDirectory opens what is in a directory.
func openDirectory(ctx context.Context, path string, o Options) (r Reader, err error) {
	if _, err := os.Stat(filepath.Join(path, seq.ManifestName)); err == nil {
		return nil, fmt.Errorf("%s: expected a table or a folder of files by class, found a data set (%s): name its .arrow files", path, seq.ManifestName)
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
		return nil, named(path, err)
	}
	return r, nil
}

// named is an error with the path that it is of, unless it names that, or a file there,
// itself.
func named(path string, err error) error {
	var known *fs.PathError
	switch {
	case err == nil:
		return nil
	case strings.HasPrefix(err.Error(), path+":"), strings.HasPrefix(err.Error(), path+string(filepath.Separator)),
		errors.As(err, &known) && strings.HasPrefix(known.Path, path):
		return err
	}
	return fmt.Errorf("%s: %w", path, err)
}

// ReadOnce reports whether what a path names can be read once only: standard input, or
// another pipe.
func ReadOnce(path string) bool {
	info, err := os.Stat(path)
	return path == StandardInput || err == nil && !info.IsDir() && !info.Mode().IsRegular()
}

// IsFolder reports whether a path is a folder of files, each of which is a row with
// [FolderColumns], if files of this format, or "", are read.
func IsFolder(path, format string) bool {
	info, err := os.Stat(path)
	if path == StandardInput || err != nil || !info.IsDir() || isHF(path) {
		return false
	}
	shards, err := findShards(path, format)
	return err == nil && shards == nil
}

// listed are names in an error, of many the first ones.
func listed(names []string) string {
	const most, longest = 40, 100
	text := fmt.Sprintf("%.*q", longest, names[:min(len(names), most)])
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// index finds the columns that were asked for among those that there are.
func index(have, want []string) ([]int, error) {
	var out []int
	for _, name := range want {
		at, times := -1, 0
		for i, column := range have {
			if column == name {
				at, times = i, times+1
			}
		}
		switch times {
		case 0:
			return nil, fmt.Errorf("column %q: expected one of %s", name, listed(have))
		case 1:
			out = append(out, at)
		default:
			return nil, fmt.Errorf("column %q is there %d times", name, times)
		}
	}
	return out, nil
}
