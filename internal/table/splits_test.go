package table

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// TestSplits checks the splits of saved Hugging Face data sets and of folders with subfolders.
func TestSplits(t *testing.T) {
	dir := t.TempDir()
	write := func(path, text string) {
		path = filepath.Join(dir, path)
		must.Succeed(t, os.MkdirAll(filepath.Dir(path), 0o777))
		must.Succeed(t, os.WriteFile(path, []byte(text), 0o666))
	}
	write("hf/dataset_dict.json", `{"splits":["train","validation"]}`)
	for _, split := range []string{"train", "validation"} {
		write("hf/"+split+"/state.json", `{"_data_files":[{"filename":"0.arrow"},{"filename":"1.arrow"}]}`)
		write("hf/"+split+"/dataset_info.json", `{}`)
	}
	write("files/train/pos/1.txt", "a")
	write("files/test/neg/1.txt", "b")
	write("files/readme/1.txt", "c")
	write("files/0.txt", "d")
	write("tables/train/0.parquet", "")
	for name, want := range map[string]string{"hf": "[train validation]", "files": "[test train]", "files/train": "[]",
		"tables": "[]", "absent": "[]"} {
		if got := fmt.Sprint(Splits(filepath.Join(dir, name), "")); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}
