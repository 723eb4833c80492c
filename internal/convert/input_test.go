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

// TestNamedPipe checks that a named pipe is read completely, and is refused if a tokenizer must be learned.
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

// TestPixelNumbers checks that gray levels written as numbers are refused for the tokenizer pixel, which
// would read the digits as levels. A number above 255 is not a level, so such texts are read as bytes.
func TestPixelNumbers(t *testing.T) {
	o := textOptions(t, writeFile(t, "a.csv", "text,label\n\"0,17,255\",1\n\"[3 4]\",2\n"))
	o.Tokenizer = []byte(`{"type": "pixel"}`)
	must.Fail(t, `a.csv are lists of numbers, such as "0,17,255": read the numbers with --tokenizer ids:256`)(
		Convert(context.Background(), o))
	o = textOptions(t, writeFile(t, "a.csv", "text,label\n\"0,17,256\",1\n\"3 4\",2\n"))
	o.Tokenizer = []byte(`{"type": "pixel"}`)
	mustConvert(t, o)
}

// TestListAsText checks that the skip reason for a list in a text column states the next step for
// lists of this kind.
func TestListAsText(t *testing.T) {
	for list, want := range map[string]string{
		`[1,2]`: "a.jsonl:1: found a list (read token ids with --tokens text --vocab N, or numbers with " +
			"--series text)",
		`["a","b"]`: "a.jsonl:1: column text: expected a text, found a list of texts (--text reads one text per " +
			"row: join",
		`[0.5,1]`:   "found a list of numbers (read it as a series with --series text)",
		`[[1],[2]]`: "found a list of lists (read the features of tokens with --features text)",
	} {
		_, skipped, err := Convert(context.Background(),
			textOptions(t, writeFile(t, "a.jsonl", `{"text":`+list+`,"label":1}`+"\n")))
		if err == nil || !strings.Contains(skipped.String(), want) {
			t.Errorf("%s: got error %v and report %s, want %s", list, err, skipped, want)
		}
	}
}
