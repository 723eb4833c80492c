package seq

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
)

// FuzzFile checks that every file that can be opened has valid rows. The corpus under testdata/fuzz
// has truncated and bit-flipped files.
func FuzzFile(f *testing.F) {
	for _, format := range []Format{FileFormat, StreamFormat} {
		for _, task := range []string{Classification, Retrieval} {
			data, _ := smallFile(f, format, task)
			f.Add(data)
		}
	}
	f.Add(encode(f, clouds(3, 4), cloudSpec(), FileFormat))
	f.Add(encode(f, graphs(graphSpec(), 3, 4), graphSpec(), FileFormat))
	path := filepath.Join(f.TempDir(), "x.arrow")
	f.Fuzz(func(t *testing.T, data []byte) {
		defer testenv.FuzzLimits(t, 16<<20+200*len(data))()
		must.Succeed(t, os.WriteFile(path, data, 0o666))
		file, err := OpenFile(path)
		if err != nil {
			return
		}
		defer file.Close()
		for i := range file.Len() {
			row, err := file.Example(i)
			if err == nil {
				err = checkExample(row, file.Spec())
			}
			must.Check(t, err, "row", i)
		}
	})
}
