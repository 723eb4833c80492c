package table

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/pqarrow"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
)

// TestTokensOfDataSets checks that token ids stored minus 1 are restored from a data set's file and
// from a Parquet copy. Other lists in such a file, invalid metadata and too large ids are errors.
func TestTokensOfDataSets(t *testing.T) {
	for _, c := range []struct{ column, first, version, want, problem string }{
		{"tokens", "1", "2", "1: [1 256]", ""},
		{"tokens_b", "1", "2", "1: [1 256]", ""},
		{"tokens", "0", "1", "1: [0 255]", ""},
		{"pixels", "0", "1", "1: [0 255]", ""},
		{"pixels", "1", "2", "", `column "pixels": expected a list named tokens, tokens_a or tokens_b in a file that stores ids minus 1`},
		{"tokens", "x", "2", "", "first_token_id: expected 0 to"},
		{"tokens", "2147483647", "2", "1! column tokens: index 1: expected a token id up to", ""},
	} {
		metadata := arrow.NewMetadata([]string{seq.KeyVersion, seq.KeyFirstTokenID}, []string{c.version, c.first})
		schema := arrow.NewSchema([]arrow.Field{{Name: c.column, Type: arrow.ListOf(arrow.PrimitiveTypes.Uint8)}},
			&metadata)
		for name, text := range map[string]string{"train.arrow": arrowTokens(t, schema),
			"train.parquet": parquetTokens(t, schema)} {
			got, err := readText(writeFile(t, name, text), Options{Columns: []string{c.column}})
			if c.problem != "" {
				if err == nil || !strings.Contains(err.Error(), c.problem) {
					t.Errorf("%s: column %s, first_token_id %s: got %q, %v, want the error %q", name, c.column,
						c.first, got, err, c.problem)
				}
			} else if err != nil || len(got) != 1 || !strings.HasPrefix(got[0], c.want) {
				t.Errorf("%s: column %s, first_token_id %s: got %q, %v, want %q", name, c.column, c.first, got,
					err, c.want)
			}
		}
	}
}

// TestHiddenFirstToken checks that a Parquet file with first_token_id only in ARROW:schema is an
// error.
func TestHiddenFirstToken(t *testing.T) {
	metadata := arrow.NewMetadata([]string{seq.KeyFirstTokenID}, []string{"1"})
	schema := arrow.NewSchema([]arrow.Field{{Name: "tokens", Type: arrow.ListOf(arrow.PrimitiveTypes.Uint8)}},
		&metadata)
	text := parquetTokens(t, schema)
	plain := strings.Index(text, seq.KeyFirstTokenID) // finds only the key-value metadata: ARROW:schema is base64
	if plain < 0 {
		t.Fatal("the file's metadata has no first_token_id")
	}
	text = text[:plain] + strings.Repeat("x", len(seq.KeyFirstTokenID)) + text[plain+len(seq.KeyFirstTokenID):]
	if got, err := readText(writeFile(t, "a.parquet", text), Options{Columns: []string{"tokens"}}); err == nil ||
		!strings.Contains(err.Error(), "found first_token_id only in ARROW:schema") {
		t.Errorf("got %q, %v, want an error for first_token_id in ARROW:schema", got, err)
	}
}

// tokenRecord returns a record of one row, the list of the bytes 0 and 255.
func tokenRecord(schema *arrow.Schema) arrow.Record {
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	list := b.Field(0).(*array.ListBuilder)
	list.Append(true)
	list.ValueBuilder().(*array.Uint8Builder).AppendValues([]byte{0, 255}, nil)
	return b.NewRecord()
}

func arrowTokens(t *testing.T, schema *arrow.Schema) string {
	t.Helper()
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(schema))
	must.Succeed(t, errors.Join(w.Write(tokenRecord(schema)), w.Close()))
	return out.String()
}

func parquetTokens(t *testing.T, schema *arrow.Schema) string {
	t.Helper()
	var out bytes.Buffer
	w, err := pqarrow.NewFileWriter(schema, &out, parquet.NewWriterProperties(),
		pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema()))
	if err == nil {
		err = errors.Join(w.Write(tokenRecord(schema)), w.Close())
	}
	must.Succeed(t, err)
	return out.String()
}

// TestDataSetIsNotFolder checks that a data set directory is not read as a folder of files by
// class, and that the error names an .arrow file of the data set if there is one.
func TestDataSetIsNotFolder(t *testing.T) {
	dir := filepath.Dir(writeFile(t, seq.ManifestName, "{}"))
	for _, want := range []string{"found a data set (dataset.json): pass its .arrow files",
		"pass its .arrow files, such as " + filepath.Join(dir, "test.arrow")} {
		must.Fail(t, want)(readText(dir, Options{Columns: []string{"content"}}))
		must.Succeed(t, os.WriteFile(filepath.Join(dir, "test.arrow"), nil, 0o666))
	}
}
