package convert

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
)

// TestMultiLabelPipe checks that multi-label data are also recognised in input that can only be
// read once.
func TestMultiLabelPipe(t *testing.T) {
	for text, want := range map[string]string{
		`{"text":"a"}` + "\n" + `{"text":"b","label":["x"]}` + "\n": seq.MultiLabel,
		`{"text":"b","label":"x"}` + "\n":                           seq.Classification,
	} {
		pipe := filepath.Join(t.TempDir(), "x.jsonl")
		must.Succeed(t, syscall.Mkfifo(pipe, 0o600))
		written := make(chan error, 1)
		go func() { written <- os.WriteFile(pipe, []byte(text), 0) }()
		d, _ := mustConvert(t, textOptions(t, pipe))
		must.Succeed(t, <-written)
		if d.Manifest.Task != want || !slices.Equal(d.Manifest.LabelNames, []string{"x"}) {
			t.Errorf("%s: got task %s and labels %q, want %s and x", text, d.Manifest.Task, d.Manifest.LabelNames, want)
		}
	}
}
