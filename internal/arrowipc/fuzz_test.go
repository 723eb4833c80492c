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

// textOf returns at most 1000 rows of each column as text, because a column without buffers may have
// any number of rows. It follows the offsets and indices of these rows.
func textOf(record arrow.Record) string {
	var out strings.Builder
	for _, column := range record.Columns() {
		for i := range min(column.Len(), 1000) {
			fmt.Fprintln(&out, column.ValueStr(i))
		}
	}
	return out.String()
}

// FuzzReader checks that the values of a record can be read, and that a Stream reads the same records
// as a Reader from every source that the Reader accepts. The corpus under testdata/fuzz has truncated
// and damaged files and streams.
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
			must.Fail(t, "", "Reader accepts a source that Stream refuses:", err)(wrong)
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
			t.Errorf("Stream: got %d record batches, error %v; want the %d of Reader", len(records), err, len(whole))
		}
	})
}
