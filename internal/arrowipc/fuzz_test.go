package arrowipc

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
)

// textOf returns the first rows of a record as text. It follows every offset and index. Columns
// without buffers may have any number of rows.
func textOf(record arrow.Record) string {
	var out strings.Builder
	for _, column := range record.Columns() {
		for i := range min(column.Len(), 1000) {
			fmt.Fprintln(&out, column.ValueStr(i))
		}
	}
	return out.String()
}

// FuzzReader checks that every value of a record can be read, and that a Stream accepts every file
// that a Reader accepts. The corpus under testdata/fuzz has truncated and bit-flipped files.
func FuzzReader(f *testing.F) {
	for _, isFile := range []bool{true, false} {
		data, _ := sample(f, isFile)
		f.Add(data)
	}
	f.Add(footerOnly(f))
	for _, data := range otherFiles(f) {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		defer testenv.FuzzLimits(t, 64<<20+400*len(data))()
		whole, wrong := readAll(data)
		s, err := NewFileOrStream(bytes.NewReader(data), section(data))
		if err != nil {
			must.Fail(t, "", "a whole file", err)(wrong)
			return
		}
		records, err := rest(s)
		for i, record := range records {
			text := textOf(record)
			if i < len(whole) && text != textOf(whole[i]) {
				t.Errorf("record batch %d differs between Reader and Stream", i)
			}
		}
		if wrong == nil && (err != nil || len(records) != len(whole)) {
			t.Errorf("Stream read %d of %d record batches; error %v", len(records), len(whole), err)
		}
	})
}
