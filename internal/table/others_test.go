package table

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/source"
)

// otherFiles returns the paths of the tables written by other programs; see
// testdata/others/README.md.
func otherFiles(t testing.TB) []string {
	t.Helper()
	var paths []string
	for _, pattern := range []string{"*.parquet", "*.arrow", "*.arrows"} {
		more, err := filepath.Glob(filepath.Join("testdata", "others", pattern))
		if err != nil || len(more) == 0 {
			t.Fatalf("%s: got files %q, error %v, want at least one file", pattern, more, err)
		}
		paths = append(paths, more...)
	}
	return paths
}

// expectedRows returns the rows that a file of otherFiles should have. It decodes the file's original
// JSON lines with encoding/json.
func expectedRows(t testing.TB, name string) (rows []map[string]any) {
	t.Helper()
	from := "kinds.jsonl"
	if strings.Contains(name, "many") || strings.Contains(name, "lengths") || strings.Contains(name, "prefixes") {
		from = "many.jsonl.gz"
	}
	in := must.Get(source.Open(t.Context(), filepath.Join("testdata", "others", from), nil))(t)
	defer in.Close()
	for lines := bufio.NewScanner(in); lines.Scan(); {
		d := json.NewDecoder(strings.NewReader(lines.Text()))
		d.UseNumber()
		var row map[string]any
		must.Succeed(t, d.Decode(&row))
		rows = append(rows, row)
	}
	return rows
}

// checkValue returns an error if a value differs from the expected value, decoded by encoding/json.
func checkValue(column string, got Value, want any) error {
	switch want := want.(type) {
	case nil:
		if got.Null {
			return nil
		}
	case string:
		if column == "bytes" {
			raw, err := hex.DecodeString(want)
			if err != nil {
				return err
			}
			want = string(raw)
		}
		if !got.Null && got.Tokens == nil && got.Text == want {
			return nil
		}
	case bool:
		if !got.Null && got.Tokens == nil && got.Text == strconv.FormatBool(want) {
			return nil
		}
	case json.Number:
		number, err := strconv.ParseFloat(got.Text, 64)
		exact, _ := want.Float64()
		if got.Text == want.String() || err == nil && number == exact && (column == "real" || column == "single") {
			return nil
		}
	case []any:
		if !got.Null && got.Tokens != nil && fmt.Sprint(got.Tokens) == fmt.Sprint(want) {
			return nil
		}
	}
	return fmt.Errorf("got %+v, want %v", got, want)
}

// unreadableColumns maps the columns of otherFiles that cannot be read to their errors.
var unreadableColumns = map[string]string{
	"day":    `column "day": expected text, numbers or lists of whole numbers, found date32: convert the column to text`,
	"object": `column "object": expected text, numbers or lists of whole numbers, found struct<a: int32>: convert the column to text`,
}

// TestOtherFiles checks that files written by other programs are read correctly. Unreadable columns are
// errors that name their type, except dates that are only copied.
func TestOtherFiles(t *testing.T) {
	for _, path := range otherFiles(t) {
		name := filepath.Base(path)
		rows := expectedRows(t, name)
		columns := columnsOf(t, path)
		for column, want := range unreadableColumns {
			if !slices.Contains(columns, column) {
				continue
			}
			must.Fail(t, want, name)(readText(path, Options{Columns: []string{column}}))
		}
		columns = slices.DeleteFunc(columns, func(c string) bool { return unreadableColumns[c] != "" && c != "day" })
		got, err := readRows(path, Options{Columns: columns, Copied: []string{"day"}})
		if err != nil || len(got) != len(rows) {
			t.Errorf("%s: got %d rows, error %v; want %d rows", name, len(got), err, len(rows))
			continue
		}
		for i, row := range got {
			if row.Err != nil || row.Line != int64(i+1) {
				t.Errorf("%s: row %d: got line %d, row error %v, want line %d", name, i, row.Line, row.Err, i+1)
				continue
			}
			for k, column := range columns {
				must.Succeed(t, checkValue(column, row.Values[k], rows[i][column]), name, "row", i+1, "column", column)
			}
		}
	}
}

// columnsOf returns all columns of a table.
func columnsOf(t testing.TB, path string) []string {
	t.Helper()
	r := must.Get(Open(context.Background(), path, Options{}))(t)
	defer r.Close()
	return slices.Clone(r.Columns())
}

// readRows returns all rows of a table.
func readRows(path string, o Options) (rows []*Row, err error) {
	r, err := Open(context.Background(), path, o)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	for {
		row := &Row{}
		err := r.Next(row)
		if err != nil {
			if err == io.EOF {
				err = nil
			}
			return rows, err
		}
		rows = append(rows, row)
	}
}

// TestFooterOnly checks that a compressed file with its schema only in the footer is an error, because
// the file is not seekable.
func TestFooterOnly(t *testing.T) {
	for _, name := range []string{"polars-newest.arrow", "javascript-utf8.arrow"} {
		text := must.Get(os.ReadFile(filepath.Join("testdata", "others", name)))(t)
		must.Fail(t, "the schema is only in the footer: expected a seekable file, found a pipe or a compressed file",
			name)(readText(writeFile(t, "x.arrow.gz", gzipped(string(text))), Options{Columns: []string{"text"}}))
	}
}

// TestMissingBatches checks that damage at the start of a message is not taken for the end of the
// file, because the footer has the number of batches.
func TestMissingBatches(t *testing.T) {
	text := must.Get(os.ReadFile(filepath.Join("testdata", "others", "polars-zstd.arrow")))(t)
	second := 16 + int(binary.LittleEndian.Uint32(text[12:])) // offset of the second message
	for at, zero := range map[int][]byte{second: {0}, second + 4: {0, 0, 0, 0}} {
		damaged := slices.Clone(text)
		copy(damaged[at:], zero)
		rows, err := readRows(writeFile(t, "x.arrow", string(damaged)), Options{Columns: []string{"text"}})
		if err == nil || !strings.Contains(err.Error(), "footer: expected 0 record batches as in the file, found 1") {
			t.Errorf("byte %d: got %d rows, %v, want an error on the number of batches", at, len(rows), err)
		}
	}
}

// TestTwoBytesOfDamage checks a damaged message whose odd table size made Arrow read an unchecked
// field and allocate 189 GB.
func TestTwoBytesOfDamage(t *testing.T) {
	data := must.Get(os.ReadFile(filepath.Join("testdata", "others", "polars-zstd.arrows")))(t)
	data[44], data[55] = 0x07, 0x80
	path := filepath.Join(t.TempDir(), "damaged.arrows")
	must.Succeed(t, os.WriteFile(path, data, 0o666))
	r, err := Open(t.Context(), path, Options{Columns: []string{"text"}})
	if err == nil {
		r.Close()
	}
	if err == nil || !strings.Contains(err.Error(), path+": metadata is damaged") {
		t.Errorf("got error %v, want %q", err, path+": metadata is damaged")
	}
}
