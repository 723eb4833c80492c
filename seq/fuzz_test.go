package seq

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/sftseq/sftseq/internal/fuzztest"
)

// The corpus under testdata/fuzz has truncated and bit-flipped files.

func FuzzReader(f *testing.F) {
	for _, format := range []Format{FileFormat, StreamFormat} {
		for _, task := range []string{Classification, Retrieval} {
			data, _ := small(f, format, task)
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		defer fuzztest.Limits(t, 16<<20+200*len(data))()
		rows, spec, err := readAll(bytes.NewReader(data))
		if err != nil {
			return
		}
		for i := range rows {
			if err := checkExample(rows[i], spec); err != nil {
				t.Errorf("row %d: %v", i, err)
			}
		}
	})
}

func FuzzFile(f *testing.F) {
	data, _ := small(f, FileFormat, Classification)
	f.Add(data)
	path := filepath.Join(f.TempDir(), "x.arrow")
	f.Fuzz(func(t *testing.T, data []byte) {
		defer fuzztest.Limits(t, 16<<20+200*len(data))()
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		file, err := OpenFile(path)
		if err != nil {
			return
		}
		defer file.Close()
		for i := range file.Len() {
			if _, err := file.Example(i); err != nil {
				t.Errorf("row %d: %v", i, err)
			}
		}
	})
}
