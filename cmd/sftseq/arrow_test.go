package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
)

// sequences writes rows of the ListOps vocabulary to an Arrow file and returns its path and the
// same rows as JSON lines.
func sequences(t *testing.T, rows int) (arrowFile, lines string) {
	t.Helper()
	var examples []seq.Example
	var text strings.Builder
	for i := range rows {
		tokens := make([]int32, 1+i*37%12)
		for j := range tokens {
			tokens[j] = int32(1 + (i*7+j*j)%16)
		}
		examples = append(examples, seq.Example{A: tokens, Label: int32(i % 10)})
		fmt.Fprintf(&text, "{\"tokens\":%s}\n", strings.ReplaceAll(fmt.Sprint(tokens), " ", ","))
	}
	spec := seq.Spec{Task: seq.Classification, VocabSize: 17, PadID: new(int32(0))}
	return writeSequences(t, spec, examples...), text.String()
}

// arrowRows returns the rows of a file as the Arrow library reads them.
func arrowRows(t *testing.T, path string) []replyLine {
	t.Helper()
	f := must.Get(os.Open(path))(t)
	defer f.Close()
	r := must.Get(ipc.NewFileReader(f))(t)
	defer r.Close()
	var out []replyLine
	for i := range r.NumRecords() {
		record := must.Get(r.Record(i))(t)
		text := must.Get(record.MarshalJSON())(t)
		var rows []replyLine
		must.Succeed(t, json.Unmarshal(text, &rows))
		out = append(out, rows...)
	}
	return out
}

// TestArrow checks that the results for an Arrow file are bitwise identical to those for JSON lines.
func TestArrow(t *testing.T) {
	in, lines := sequences(t, 1100) // more than one record batch
	for _, command := range []string{"predict", "embed"} {
		out := filepath.Join(t.TempDir(), "out.arrow")
		succeed(t, "", command, "--model", goldenPath("pre"), "--input", in, "--output", out)
		got, want := arrowRows(t, out), replyLines(t, succeed(t, lines, command, "--model", goldenPath("pre")))
		if len(got) != len(want) {
			t.Fatalf("%s: %d rows, want %d", command, len(got), len(want))
		}
		for i, g := range got {
			want[i].ID = nil
			if !reflect.DeepEqual(g, want[i]) {
				t.Fatalf("%s: row %d: %+v, want %+v", command, i, g, want[i])
			}
		}
	}
}

func TestArrowStreamWithIDs(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.BinaryTypes.String},
		{Name: "tokens", Type: arrow.ListOf(arrow.PrimitiveTypes.Uint16)}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for i, id := range []string{"x", "y"} {
		b.Field(0).(*array.StringBuilder).Append(id)
		b.Field(1).(*array.ListBuilder).Append(true)
		b.Field(1).(*array.ListBuilder).ValueBuilder().(*array.Uint16Builder).AppendValues([]uint16{3, 4,
			uint16(16 + i)}, nil)
	}
	var stream strings.Builder
	w := ipc.NewWriter(&stream, ipc.WithSchema(schema))
	must.Succeed(t, w.Write(b.NewRecord()))
	must.Succeed(t, w.Close())
	out := filepath.Join(t.TempDir(), "out.arrow")
	// The second row has token 17, which is outside the model's vocabulary.
	refuse(t, 1, "standard input: row 1: column tokens: token 17 at index 2", stream.String(), "predict", "--model",
		goldenPath("pre"), "--input", "-", "--output", out)
	noFile(t, out)
	valid := strings.Replace(stream.String(), "\x11\x00", "\x10\x00", 1)
	succeed(t, valid, "predict", "--model", goldenPath("pre"), "--input", "-", "--output", out)
	rows := arrowRows(t, out)
	if len(rows) != 2 || string(rows[0].ID) != `"x"` || string(rows[1].ID) != `"y"` || rows[1].Length != 3 {
		t.Errorf("got rows %+v; want the ids x and y, and length 3 in the second row", rows)
	}
}

func TestArrowRefuses(t *testing.T) {
	in, _ := sequences(t, 20)
	out := filepath.Join(t.TempDir(), "out.arrow")
	refuse(t, 1, "the record's task is classification, the model's is retrieval", "", "predict", "--model",
		goldenPath("retrieval"), "--input", in, "--output", out)
	refuse(t, 1, "expected a vocabulary of 5 tokens, found 17", "", "predict", "--model", goldenPath("ties"),
		"--input", in, "--output", out)
	whole := readText(t, in)
	cut := writeText(t, filepath.Join(t.TempDir(), "cut.arrow"), whole[:len(whole)/2])
	refuse(t, 1, cut, "", "predict", "--model", goldenPath("pre"), "--input", cut, "--output", out)
	refuse(t, 1, "empty", "", "predict", "--model", goldenPath("pre"), "--input",
		writeText(t, cut, ""), "--output", out)
	noFile(t, out)
	file := writeText(t, filepath.Join(t.TempDir(), "file"), "")
	below := filepath.Join(file, "out.arrow")
	refuse(t, 1, below+": "+file+": expected a folder, found a regular file", "", "predict", "--model",
		goldenPath("pre"),
		"--input", in, "--output", below)
	done(t, "", "predict", "--model", goldenPath("pre"), "--input", in, "--output",
		filepath.Join(t.TempDir(), "absent", "out.arrow"))
	refuse(t, 1, "/dev/full", "", "predict", "--model", goldenPath("pre"), "--input", in, "--output", "/dev/full")
}
