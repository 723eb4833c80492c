package convert

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sftseq/sftseq/internal/must"
)

// TestBinaryColumns checks that rows of binary columns are skipped and counted if the label is not
// UTF-8, or if a word tokenizer reads a text that is not UTF-8.
func TestBinaryColumns(t *testing.T) {
	s := arrow.NewSchema([]arrow.Field{{Name: "text", Type: arrow.BinaryTypes.Binary},
		{Name: "label", Type: arrow.BinaryTypes.Binary}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, s)
	defer b.Release()
	for i, row := range [][2]string{{"a", "caf\xe9"}, {"b", "caf\xe8"}, {"caf\xe9 pas", "x"}, {"d", "café"},
		{"e", "\xff\xfec\x00"}} {
		b.Field(0).(*array.BinaryBuilder).AppendString(row[0] + fmt.Sprint(" ", i))
		b.Field(1).(*array.BinaryBuilder).AppendString(row[1])
	}
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(s))
	must.Succeed(t, w.Write(b.NewRecord()))
	must.Succeed(t, w.Close())
	path := writeFile(t, "a.arrows", out.String())
	for _, c := range []struct {
		tokenizer string
		want      int64
	}{{`{"type": "byte"}`, 3}, {`{"type": "words", "vocab": 10}`, 4}} {
		o := textOptions(t, path)
		o.Tokenizer = []byte(c.tokenizer)
		if _, skipped := mustConvert(t, o); skipped.Read != 5 || skipped.Left() != c.want {
			t.Errorf("%s: %d of %d rows left out, want %d of 5: %v", c.tokenizer, skipped.Left(),
				skipped.Read, c.want, skipped)
		}
	}
}
