package convert

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// TestAbsentColumns checks that a requested column that no JSON line has is reported once per file,
// together with the existing columns. JSON lines have no header in which to look for the column.
func TestAbsentColumns(t *testing.T) {
	typed := writeFile(t, "typed.jsonl",
		"{\"text\":\"one\",\"Label\":\"a\"}\n{\"text\":\"two\",\"id\":7,\"Label\":\"b\"}\n")
	whole := writeFile(t, "whole.jsonl",
		strings.Repeat("{\"id\":1}\n", 20)+"{\"text\":\"three\",\"label\":null}\n{\"text\":\"four\",\"label\":\"c\"}\n")
	broken := writeFile(t, "broken.jsonl", "{\"body\":\n[]\n")
	note := fmt.Sprintf("%s: no row has the column \"label\"; the first rows have [\"Label\" \"id\" \"text\"]\n", typed)

	o := textOptions(t, typed, whole, broken)
	o.Tokenizer = []byte(`{"type":"words","vocab":10}`) // training a tokenizer reads the files twice
	_, skipped := mustConvert(t, o)
	if report := skipped.String(); !strings.HasSuffix(report,
		"broken.jsonl:2: expected a JSON object, found a list\n"+note) || strings.Count(report, "no row has") != 1 {
		t.Errorf("got report %s, want one note about the column label", report)
	}
	o = textOptions(t, typed)
	o.Text, o.Tokenizer = "txt", []byte(`{"type":"words","vocab":10}`)
	must.Fail(t, `no row has the column "txt"`)(Convert(context.Background(), o))
	_, _, err := Convert(context.Background(), textOptions(t, typed))
	if want := "no row can be used\n2 of 2 rows left out: no label\n"; err == nil ||
		!strings.HasPrefix(err.Error(), want) || !strings.HasSuffix(err.Error(), strings.TrimSpace(note)) {
		t.Errorf("got error %v, want %s", err, want)
	}
}
