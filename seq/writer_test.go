package seq

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

func TestWriterRefusesBadRows(t *testing.T) {
	pair := listopsSpec()
	pair.Task = Retrieval
	for _, c := range []struct {
		spec Spec
		row  Example
		want string
	}{
		{listopsSpec(), Example{}, "row 0, column tokens: expected at least one token"},
		{listopsSpec(), Example{A: []int32{1, 17}},
			"row 0, column tokens, index 1: expected a token id below the vocabulary's size 17, found 17"},
		{listopsSpec(), Example{A: []int32{1, 2, 0}}, "index 2: expected no padding inside a sequence, found the pad id 0"},
		{listopsSpec(), Example{A: []int32{-1}}, "index 0: expected a token id ≥ 0, found -1"},
		{listopsSpec(), Example{A: []int32{1}, Label: 10}, "column label: expected a label from 0 to 9, found 10"},
		{listopsSpec(), Example{A: []int32{1}, Label: -2}, "expected a label ≥ 0, found -2"},
		{listopsSpec(), Example{A: []int32{1}, B: []int32{1}}, "column tokens_b: task classification has one sequence"},
		{pair, Example{A: []int32{1}}, "column tokens_b: expected at least one"},
	} {
		w := must.Get(NewWriter(io.Discard, c.spec, FileFormat))(t)
		must.Fail(t, c.want)(w.Write(c.row))
		good := Example{A: []int32{1}}
		if c.spec.Pair() {
			good.B = good.A
		}
		must.Check(t, w.Write(good), "after a refused row")
		must.Check(t, w.Close())
	}
}

func TestFullDisk(t *testing.T) {
	full := must.Get(os.OpenFile("/dev/full", os.O_WRONLY, 0))(t)
	defer full.Close()
	for _, format := range []Format{FileFormat, StreamFormat} {
		w, err := NewWriter(full, listopsSpec(), format)
		for i := 0; err == nil && i < 3000; i++ {
			err = w.Write(Example{A: make7()})
		}
		if err == nil {
			err = w.Close()
		}
		if err == nil || err.Error() != "write /dev/full: no space left on device" {
			t.Errorf("format %v: error %v, want \"write /dev/full: no space left on device\"", format, err)
		}
	}
}

func TestCreateIsAtomic(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.arrow")
	w := must.Get(Create(path, listopsSpec()))(t)
	must.Succeed(t, w.Write(Example{A: make7()}))
	w.Abort()
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Errorf("after Abort: got files %v, want none", entries)
	}
	w = must.Get(Create(path, listopsSpec()))(t)
	must.Succeed(t, w.Close())
	if _, err := inspectPath(path); err != nil {
		t.Errorf("the file cannot be read after Close: %v", err)
	}
	must.Fail(t, "", "a closed writer accepts rows")(w.Write(Example{A: make7()}))
}
