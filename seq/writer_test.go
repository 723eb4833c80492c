package seq

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
		{listopsSpec(), Example{A: []int32{1, 17}}, "row 0, column tokens, index 1: expected a token id below the vocabulary's size 17, found 17"},
		{listopsSpec(), Example{A: []int32{1, 2, 0}}, "index 2: the pad id 0 inside"},
		{listopsSpec(), Example{A: []int32{-1}}, "index 0: expected a token id from 0 on, found -1"},
		{listopsSpec(), Example{A: []int32{1}, Label: 10}, "column label: expected a label from 0 to 9, found 10"},
		{listopsSpec(), Example{A: []int32{1}, Label: -2}, "expected a label from 0 on, found -2"},
		{listopsSpec(), Example{A: []int32{1}, B: []int32{1}}, "column tokens_b: expected none"},
		{pair, Example{A: []int32{1}}, "column tokens_b: expected at least one"},
	} {
		w, err := NewWriter(io.Discard, c.spec, FileFormat)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(c.row); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
		good := Example{A: []int32{1}}
		if c.spec.Pair() {
			good.B = good.A
		}
		if err := w.Write(good); err != nil {
			t.Errorf("after a refused row: %v", err)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	for _, format := range []Format{FileFormat, StreamFormat} {
		w, err := NewWriter(full, listopsSpec(), format)
		for i := 0; err == nil && i < 3000; i++ {
			err = w.Write(Example{A: make7()})
		}
		if err == nil {
			err = w.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "no space left") {
			t.Errorf("format %d: error %v", format, err)
		}
	}
}

func TestCreateIsAtomic(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.arrow")
	w, err := Create(path, listopsSpec())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(Example{A: make7()}); err != nil {
		t.Fatal(err)
	}
	w.Abort()
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Errorf("an aborted writer leaves %v", entries)
	}
	if w, err = Create(path, listopsSpec()); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := inspectPath(path); err != nil {
		t.Error(err)
	}
	if err := w.Write(Example{A: make7()}); err == nil {
		t.Error("a closed writer takes rows")
	}
}
