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

// TestPipeWithAName checks that a named pipe is read once and completely.
func TestPipeWithAName(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe.csv")
	must.Succeed(t, syscall.Mkfifo(path, 0o600))
	const rows = 30000
	go os.WriteFile(path, []byte("text,label\n"+strings.Repeat("a,1\n", rows)), 0o600)
	if _, skipped := mustConvert(t, options(t, path)); skipped.Read != rows {
		t.Errorf("read %d rows of %d", skipped.Read, rows)
	}
	o := options(t, path)
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
	o := options(t, file(t, "a.csv", text.String()))
	o.SplitColumn = "split"
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _, err := Convert(context.Background(), o)
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 100<<20 {
		t.Errorf("allocated %d bytes, want at most 100 MiB", took)
	}
	must.Fail(t, `a.csv:66: too many splits: column "split": expected at most 64 splits, found more`)(err)
}
