package seq

import (
	"bytes"
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
)

// smallFile returns a small file or stream of two record batches, and its rows.
func smallFile(t testing.TB, format Format, task string) ([]byte, []Example) {
	spec := listopsSpec()
	spec.Task, spec.IDs = task, true
	rows := examples(5, 6, spec, 7)
	var out bytes.Buffer
	w := must.Get(NewWriter(&out, spec, format))(t)
	for i, row := range rows {
		must.Succeed(t, w.Write(row))
		if i == 2 {
			w.err = w.flush()
		}
	}
	must.Succeed(t, w.Close())
	return out.Bytes(), rows
}

// TestUnreadable checks that reading a truncated file fails with an error that names the file. Opening
// a missing file or a directory must fail too.
func TestUnreadable(t *testing.T) {
	for _, format := range []Format{FileFormat, StreamFormat} {
		data, _ := smallFile(t, format, Classification)
		for _, n := range []int{0, 4, 8, 100, len(data) / 2, len(data) - 1} {
			if _, _, err := readAll(bytes.NewReader(data[:n])); err == nil ||
				!strings.HasPrefix(err.Error(), "x.arrow: ") {
				t.Errorf("format %d: a file cut to %d bytes: error %v, want one that names the file", format, n, err)
			}
		}
	}
	must.FailWith(t, os.ErrNotExist)(Open(filepath.Join(t.TempDir(), "none")))
	must.Fail(t, "", "a directory opens")(Open(t.TempDir()))
}

// TestBitFlips checks that reading a file with a flipped bit never panics, never changes the number of
// rows without an error and never returns an invalid row. The flipped bit may result in another valid token.
func TestBitFlips(t *testing.T) {
	step := 1
	if testing.Short() {
		step = 7 // flip one bit in about every byte
	}
	file, rows := smallFile(t, FileFormat, Classification)
	stream, pairs := smallFile(t, StreamFormat, Retrieval)
	for name, c := range map[string]struct {
		data []byte
		rows int
	}{
		"file": {file, len(rows)}, "stream of pairs": {stream, len(pairs)},
		"features": {encode(t, clouds(3, 4), cloudSpec(), FileFormat), 3},
		"edges":    {encode(t, graphs(graphSpec(), 3, 4), graphSpec(), FileFormat), 3},
	} {
		for bit := 0; bit < 8*len(c.data); bit += step {
			flipped := bytes.Clone(c.data)
			flipped[bit/8] ^= 1 << (bit % 8)
			got, spec, err := readAll(bytes.NewReader(flipped))
			if err != nil {
				continue
			}
			if len(got) != c.rows {
				t.Errorf("%s: bit %d: %d rows became %d without an error", name, bit, c.rows, len(got))
			}
			for i := range got {
				must.Check(t, checkExample(got[i], spec), name, "bit", bit, "row", i)
			}
		}
	}
}

func checkExample(e Example, spec *Spec) error {
	return NewBlock(spec).Append(e)
}

// foreignStream returns a stream that the Arrow library writes from rows in JSON, in place of a
// file of another program.
func foreignStream(t testing.TB, schema *arrow.Schema, json string, options ...ipc.Option) []byte {
	t.Helper()
	record, _ := must.Get2(array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(json)))(t)
	var out bytes.Buffer
	w := ipc.NewWriter(&out, append(options, ipc.WithSchema(schema))...)
	must.Succeed(t, w.Write(record))
	must.Succeed(t, w.Close())
	return out.Bytes()
}

// TestForeignFiles checks that files of other programs are read if the types of their columns allow
// it. Otherwise the error states the location and the defect.
func TestForeignFiles(t *testing.T) {
	i32, u8, i64 := arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Uint8, arrow.PrimitiveTypes.Int64
	field := func(name string, t arrow.DataType) arrow.Field {
		return arrow.Field{Name: name, Type: t, Nullable: true}
	}
	tokens := field("tokens", arrow.ListOf(i32))
	for _, c := range []struct {
		fields []arrow.Field
		meta   map[string]string
		json   string
		want   string // a part of the error, or of the first example
	}{
		{[]arrow.Field{tokens}, nil, `[{"tokens":[1,2]}]`, "{0 [1 2] [] -1 [] []  [] []}"},
		{[]arrow.Field{field("id", arrow.BinaryTypes.String), tokens, field("label", i32)}, nil,
			`[{"id":"a","tokens":[5],"label":3}]`, "{0 [5] [] 3 [] [] a [] []}"},
		{[]arrow.Field{field("tokens", arrow.ListOf(i64))}, nil, `[{"tokens":[1]}]`,
			"column tokens: expected list<uint8>, list<uint16> or list<int32>, found list<item: int64"},
		{[]arrow.Field{field("tokens", arrow.BinaryTypes.String)}, nil, `[{"tokens":"a"}]`, "found utf8"},
		{[]arrow.Field{field("tokens", arrow.LargeListOf(u8))}, nil, `[{"tokens":[1]}]`, "found large_list"},
		{[]arrow.Field{tokens, field("label", i64)}, nil, `[{"tokens":[1],"label":1}]`,
			"column label: expected int32, found int64"},
		{[]arrow.Field{field("token", arrow.ListOf(i32))}, nil, `[{"token":[1]}]`,
			`column tokens is missing: task classification requires it, found the columns "token"`},
		{[]arrow.Field{field("tokens_a", arrow.ListOf(i32))}, nil, `[{"tokens_a":[1]}]`,
			"column tokens_b is missing: task retrieval requires it"},
		{[]arrow.Field{tokens, tokens}, nil, `[]`, "column tokens: expected once, found 2 times"},
		{[]arrow.Field{tokens, field("edges", i32)}, nil, `[]`,
			"column edges: schema metadata: edge_feature_names: expected a name for each feature of an edge"},
		{[]arrow.Field{tokens, field("label_mask", i32)}, nil, `[]`, "column label_mask: the name is reserved"},
		{[]arrow.Field{tokens}, nil, `[{"tokens":[1]},{"tokens":null}]`,
			"record batch 0: row 1, column tokens: expected a sequence, found null"},
		{[]arrow.Field{tokens}, nil, `[{"tokens":[1]},{"tokens":[]}]`,
			"row 1, column tokens: expected at least one token"},
		{[]arrow.Field{tokens}, nil, `[{"tokens":[1,2]},{"tokens":[3,null]}]`,
			"row 1, column tokens, index 1: expected a token, found null"},
		{[]arrow.Field{tokens}, nil, `[{"tokens":[1,2]},{"tokens":[3,-4]}]`,
			"row 1, column tokens, index 1: expected a token id ≥ 0, found -4"},
		{[]arrow.Field{tokens}, map[string]string{"vocab_size": "5"}, `[{"tokens":[1,5]}]`,
			"index 1: expected a token id below the vocabulary's size 5, found 5"},
		{[]arrow.Field{tokens}, map[string]string{"vocab_size": "5", "pad_token_id": "3"}, `[{"tokens":[3]}]`,
			"index 0: expected no padding inside a sequence, found the pad id 3"},
		{[]arrow.Field{tokens}, map[string]string{"vocab_size": "0"}, `[]`, "vocab_size: expected 1 to"},
		{[]arrow.Field{tokens}, map[string]string{"vocab_size": "9223372036854775808"}, `[]`,
			"vocab_size: expected 1 to"},
		{[]arrow.Field{tokens}, map[string]string{"task": "song"}, `[]`,
			`task: expected one of classification, retrieval, regression, multi-label, tagging, found "song"`},
		{[]arrow.Field{tokens}, map[string]string{"task": "retrieval"}, `[]`, "column tokens_a is missing"},
		{[]arrow.Field{tokens, field("label", i32)}, map[string]string{"task": "tagging"}, `[]`,
			"column label: expected list<int32> for task tagging, found int32"},
		{[]arrow.Field{tokens, field("label", arrow.ListOf(i32))}, map[string]string{"task": "tagging"},
			`[{"tokens":[1,2],"label":[null,1]}]`, "{0 [1 2] [] -1 [-1 1] []  [] []}"},
		{[]arrow.Field{tokens, field("label", arrow.ListOf(i32))}, map[string]string{"task": "tagging"},
			`[{"tokens":[1,2],"label":[1]}]`,
			"row 0, column label: expected a label for each of the 2 tokens, found 1 labels"},
		{[]arrow.Field{tokens, field("label", arrow.ListOf(i32))}, map[string]string{"task": "multi-label"},
			`[{"tokens":[1,2],"label":[null]}]`, "row 0, column label: index 0: expected a label ≥ 0"},
		{[]arrow.Field{tokens, field("label", arrow.ListOf(i32))}, nil, `[]`,
			"column label: expected int32, found list"},
		{[]arrow.Field{tokens}, map[string]string{"version": "2"}, `[]`,
			`first_token_id is missing: required for version "2"`},
		{[]arrow.Field{tokens}, map[string]string{"version": "3"}, `[]`, `version: expected "1" or "2", found "3"`},
		{[]arrow.Field{tokens}, map[string]string{"first_token_id": "1"}, `[{"tokens":[-1,-2]}]`,
			"index 1: expected a token id ≥ 0, found -1"},
		{[]arrow.Field{tokens}, map[string]string{"first_token_id": "7"}, `[{"tokens":[0,3]}]`,
			"{0 [7 10] [] -1 [] []  [] []}"},
		{[]arrow.Field{tokens}, map[string]string{"first_token_id": "1", "vocab_size": "5"}, `[{"tokens":[3,4]}]`,
			"index 1: expected a token id below the vocabulary's size 5, found 5"},
		{[]arrow.Field{tokens}, map[string]string{"first_token_id": "1", "vocab_size": "5", "pad_token_id": "3"},
			`[{"tokens":[3,2]}]`, "index 1: expected no padding inside a sequence, found the pad id 3"},
		{[]arrow.Field{tokens}, map[string]string{"first_token_id": "2147483647"}, `[{"tokens":[0,1]}]`,
			"index 1: expected a token id"},
		{[]arrow.Field{tokens}, map[string]string{"first_token_id": "2147483648"}, `[]`,
			"first_token_id: expected 0 to"},
		{[]arrow.Field{tokens}, map[string]string{"first_token_id": "-1"}, `[]`, "first_token_id: expected 0 to"},
		{[]arrow.Field{tokens}, map[string]string{"first_token_id": "one"}, `[]`,
			`first_token_id: expected 0 to 2147483647, found "one"`},
		{[]arrow.Field{tokens}, map[string]string{"label_names": "[1]"}, `[]`, "label_names: expected a JSON list"},
		{[]arrow.Field{tokens}, map[string]string{"tokenizer": "listops"}, `[]`, "tokenizer: expected a JSON object"},
		{[]arrow.Field{field("tokens", &arrow.DictionaryType{IndexType: i32, ValueType: u8})}, nil,
			`[{"tokens":1}]`, "found dictionary"},
		{[]arrow.Field{tokens, field("word", &arrow.DictionaryType{IndexType: i32, ValueType: u8})}, nil,
			`[{"tokens":[1],"word":1}]`, "dictionary-encoded columns are not supported"},
	} {
		metadata := arrow.MetadataFrom(c.meta)
		data := foreignStream(t, arrow.NewSchema(c.fields, &metadata), c.json)
		got, _, err := readAll(bytes.NewReader(data))
		found := fmt.Sprint(err)
		if err == nil && len(got) > 0 {
			found = fmt.Sprint(got[0])
		}
		if !strings.Contains(found, c.want) {
			t.Errorf("%s %v: %s, want %s", c.json, c.meta, found, c.want)
		}
	}
}

// TestRowsOfSlicedRecord checks that a slice of a record has its own rows, and that a null row
// outside the slice does not matter.
func TestRowsOfSlicedRecord(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "tokens",
		Type: arrow.ListOf(arrow.PrimitiveTypes.Uint8), Nullable: true}}, nil)
	record, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema,
		strings.NewReader(`[{"tokens":[1]},{"tokens":null},{"tokens":[2,3]},{"tokens":[4]}]`))
	must.Succeed(t, err)
	spec := &Spec{Task: Classification}
	must.Fail(t, "", "a null row passes")(RowsOf(record, spec))
	rows := must.Get(RowsOf(record.NewSlice(2, 4), spec))(t)
	if rows.Len() != 2 || !reflect.DeepEqual(rows.Tokens(0, nil), []int32{2, 3}) || rows.Length(1) != 1 {
		t.Errorf("%d rows, the first with tokens %v; want 2 rows, the first with [2 3]", rows.Len(), rows.Tokens(0,
			nil))
	}
}
