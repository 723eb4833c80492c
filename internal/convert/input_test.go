package convert

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// TestNamedPipe checks that a named pipe is read once and completely.
func TestNamedPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe.csv")
	must.Succeed(t, syscall.Mkfifo(path, 0o600))
	const rows = 30000
	go os.WriteFile(path, []byte("text,label\n"+strings.Repeat("a,1\n", rows)), 0o600)
	if _, skipped := mustConvert(t, textOptions(t, path)); skipped.Read != rows {
		t.Errorf("got %d rows, want %d", skipped.Read, rows)
	}
	o := textOptions(t, path)
	o.Tokenizer = []byte(`{"type": "words", "vocab": 10}`)
	must.Fail(t, "expected a file, found standard input or a pipe")(Convert(context.Background(), o))
}

// TestTooManySplits checks that a split column with too many values is detected before it takes
// much memory.
func TestTooManySplits(t *testing.T) {
	var text strings.Builder
	text.WriteString("text,label,split\n")
	for i := range 2 * chunkRows {
		fmt.Fprintf(&text, "a,1,s%d\n", i)
	}
	o := textOptions(t, writeFile(t, "a.csv", text.String()))
	o.SplitColumn = "split"
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _, err := Convert(context.Background(), o)
	runtime.ReadMemStats(&after)
	if allocation := after.TotalAlloc - before.TotalAlloc; allocation > 100<<20 {
		t.Errorf("allocated %d bytes, want at most 100 MiB", allocation)
	}
	must.Fail(t, `a.csv:66: too many splits: column "split": expected at most 64 splits, found more`)(err)
}
