package seq

import (
	"io"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// TestPart checks that a part has the requested rows of the file, wherever record batches begin.
func TestPart(t *testing.T) {
	spec := listopsSpec()
	want := examples(3000, 900, spec, 1)
	for format, name := range map[Format]string{FileFormat: "file.arrow", StreamFormat: "stream.arrow"} {
		path := filepath.Join(t.TempDir(), name)
		must.Succeed(t, os.WriteFile(path, encode(t, want, spec, format), 0o666))
		for _, c := range [][2]int64{{0, 3000}, {0, 1}, {1, 1500}, {1499, 2999}, {2999, 3000}, {7, 7}, {3000, 3000}} {
			r := must.Get(OpenPart(path, c[0], c[1]))(t)
			var got []Example
			batches := 0
			for {
				rows, err := r.Next()
				if err == io.EOF {
					break
				}
				must.Succeed(t, err)
				batches++
				for i := range rows.Len() {
					got = append(got, rows.Example(i))
				}
			}
			r.Close()
			if c[1] == 3000 && c[0] == 0 && batches < 3 {
				t.Fatalf("the file has %d record batches, want at least 3", batches)
			}
			if len(got) != int(c[1]-c[0]) || len(got) > 0 && !reflect.DeepEqual(got, want[c[0]:c[1]]) {
				t.Errorf("%s: rows %v: got %d rows, want %d, or the rows differ", name, c, len(got), c[1]-c[0])
			}
		}
		r, err := OpenPart(path, 2998, 3002)
		must.Succeed(t, err)
		defer r.Close()
		if _, err = r.Next(); err == nil {
			_, err = r.Next()
		}
		must.Fail(t, "expected 2 more rows, found the end", name, "beyond the end")(err)
	}
}
