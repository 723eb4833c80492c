package arrowipc

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/sftseq/sftseq/internal/must"
)

// TestSkip checks that Skip skips the whole batches within the requested rows and leaves the
// remaining batches unaffected. The sources are a file, a stream, and a file that is read by its
// footer.
func TestSkip(t *testing.T) {
	file, want := sample(t, true)
	stream, _ := sample(t, false)
	sources := map[string][]byte{"file": file, "stream": stream, "footer only": footerOnly(t)}
	for name, data := range sources {
		for rows, batches := range map[int64]int{0: 0, 2: 0, 3: 1, 4: 1, 5: 2, 6: 2} {
			s := must.Get(NewFileOrStream(bytes.NewReader(data), section(data)))(t)
			skipped, err := s.Skip(rows)
			if err != nil || skipped != []int64{0, 3, 5}[batches] {
				t.Errorf("%s: Skip(%d) skipped %d rows, error %v, want %d batches", name, rows, skipped, err, batches)
			}
			if again, err := s.Skip(0); err != nil || again != 0 {
				t.Errorf("%s: Skip(0) skipped %d rows, error %v, want none", name, again, err)
			}
			got, err := rest(s)
			if err != nil || len(got) != len(want)-batches {
				t.Fatalf("%s: after %d rows: got %d batches, error %v, want %d", name, rows, len(got), err,
					len(want)-batches)
			}
			for i := range got {
				if !array.RecordEqual(got[i], want[batches+i]) {
					t.Errorf("%s: after %d rows: batch %d: got %v, want %v", name, rows, i, got[i], want[batches+i])
				}
			}
			if _, err := s.Next(); rows > 5 && err != io.EOF {
				t.Errorf("%s: after the end: got error %v, want EOF", name, err)
			}
		}
	}
}

// TestSkipErrors checks that Skip returns an error for a truncated source exactly if reading it does, even
// if only bodies are missing. Skip must also return an error for a pipe.
func TestSkipErrors(t *testing.T) {
	for _, isFile := range []bool{true, false} {
		data, _ := sample(t, isFile)
		for n := len(fileStart); n < len(data); n++ {
			s, err := NewFileOrStream(bytes.NewReader(data[:n]), section(data[:n]))
			if err != nil {
				continue
			}
			read := must.Get(NewFileOrStream(bytes.NewReader(data[:n]), section(data[:n])))(t)
			_, whole := rest(read)
			if rows, err := s.Skip(1 << 40); (err == nil) != (whole == nil) {
				t.Errorf("file %v: truncated to %d of %d bytes: skipped %d rows, error %v; reading: error %v; "+
					"want errors from both or from neither", isFile, n, len(data), rows, err, whole)
			}
		}
		s := must.Get(NewFileOrStream(bytes.NewReader(data), nil))(t)
		must.Fail(t, "", "a pipe")(s.Skip(1))
	}
}

// TestSkipCounts checks that Skip refuses a negative number of rows in a batch and a total that
// overflows.
func TestSkipCounts(t *testing.T) {
	for _, isFile := range []bool{true, false} {
		good, _ := sample(t, isFile)
		for rows, want := range map[int64]string{-1: "invalid row count -1 of a record batch",
			math.MinInt64: "invalid row count -9223372036854775808 of a record batch",
			math.MaxInt64: "invalid row count 9223372036854775807 of a record batch after 3 rows", math.MaxInt64 - 3: ""} {
			data := bytes.Clone(good)
			s := must.Get(NewFileOrStream(bytes.NewReader(data), section(data)))(t)
			must.Get(s.Skip(3))(t)
			m := must.Get(s.batch())(t)
			at, _ := must.Get2(m.header.field(0, 8))(t)
			binary.LittleEndian.PutUint64(data[int(m.offset)+8+at:], uint64(rows))
			s = must.Get(NewFileOrStream(bytes.NewReader(data), section(data)))(t)
			skipped, err := s.Skip(math.MaxInt64)
			if want == "" && (err != nil || skipped != math.MaxInt64) || want != "" &&
				(err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("file %v, %d rows: skipped %d, error %v, want error %q", isFile, rows, skipped, err, want)
			}
		}
	}
}
