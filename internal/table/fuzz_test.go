package table

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
)

// readToEnd reads a table to its end or first error. It checks that rows without an error have a value
// for each column, and that line numbers increase.
func readToEnd(t *testing.T, path string, o Options) {
	r, err := Open(context.Background(), path, o)
	if err != nil {
		return
	}
	defer r.Close()
	var row Row // reused for all rows
	for last := int64(0); ; {
		if err := r.Next(&row); err != nil {
			return
		}
		if row.Line <= last || row.Err == nil && len(row.Values) != len(o.Columns) {
			t.Fatalf("got line %d after line %d, %d values, row error %v, want a later line, and %d values or an error",
				row.Line, last, len(row.Values), row.Err, len(o.Columns))
		}
		last = row.Line
	}
}

// fuzzOtherFiles fuzzes the reader of a format, with files of other programs as seeds. It reads one
// column or all columns.
func fuzzOtherFiles(f *testing.F, format string, endings ...string) {
	columns := []string{"text", "word", "whole", "small", "huge", "real", "yes", "ids", "pixels", "bytes"}
	for _, path := range otherFiles(f) {
		text := must.Get(os.ReadFile(path))(f)
		if slices.Contains(endings, filepath.Ext(path)) && len(text) < 10<<10 {
			f.Add(string(text), uint8(len(columns)))
			f.Add(string(text), uint8(len(text)%len(columns)))
		}
	}
	path := filepath.Join(f.TempDir(), "x")
	f.Fuzz(func(t *testing.T, text string, column uint8) {
		defer testenv.FuzzLimits(t, maxAllocated+200*len(text))()
		must.Succeed(t, os.WriteFile(path, []byte(text), 0o666))
		wanted := columns
		if n := int(column); n < len(columns) {
			wanted = columns[n : n+1]
		}
		readToEnd(t, path, Options{Columns: wanted, Format: format, MaxField: 1 << 20})
	})
}

// maxAllocated is the maximum number of bytes that a fuzz target may allocate for an input, plus 200
// bytes per byte of the input.
const maxAllocated = 256 << 20

// allocated returns the number of bytes allocated since the program started.
func allocated() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.TotalAlloc
}

func FuzzParquet(f *testing.F) { fuzzOtherFiles(f, "parquet", ".parquet") }

func FuzzArrow(f *testing.F) { fuzzOtherFiles(f, "arrow", ".arrow", ".arrows") }

// FuzzCompressed checks that reading arbitrary compressed data terminates without a panic.
func FuzzCompressed(f *testing.F) {
	text := "a,b\n" + strings.Repeat("1,two\n", 50)
	for _, seed := range []string{gzipped(text), zstandard(f, text), gzipped(text) + gzipped("3,4\n"),
		zstandard(f, text) + zstandard(f, "3,4\n"), gzipped(text)[:30], zstandard(f, text)[:15]} {
		f.Add(seed, uint8(0))
		f.Add(seed, uint8(2))
	}
	path := filepath.Join(f.TempDir(), "x")
	f.Fuzz(func(t *testing.T, text string, format uint8) {
		defer testenv.FuzzLimits(t, maxAllocated+200*len(text))()
		must.Succeed(t, os.WriteFile(path, []byte(text), 0o666))
		readToEnd(t, path, Options{Columns: []string{"a", "b"},
			Format: []string{"csv", "tsv", "jsonl"}[format%3], MaxField: 1 << 16})
	})
}
