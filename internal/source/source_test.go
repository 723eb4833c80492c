package source

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/sftseq/sftseq/internal/must"
)

func gzipped(t *testing.T, text string) string {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	must.Get(io.WriteString(w, text))(t)
	must.Succeed(t, w.Close())
	return out.String()
}

func zstandard(t *testing.T, text string) string {
	w := must.Get(zstd.NewWriter(nil))(t)
	return string(w.EncodeAll([]byte(text), nil))
}

// TestOpen checks that compressed data are decompressed, that progress counts the bytes of the file
// itself, and that only a plain file allows random access.
func TestOpen(t *testing.T) {
	text := strings.Repeat("a line of text\n", 20000)
	path := filepath.Join(t.TempDir(), "x")
	for name, file := range map[string]string{
		"plain": text, "short": "a", "empty": "", "gzip": gzipped(t, text), "Zstandard": zstandard(t, text),
		"two gzip members": gzipped(t, text[:100]) + gzipped(t, text[100:]),
	} {
		must.Succeed(t, os.WriteFile(path, []byte(file), 0o666))
		var reported int64
		s := must.Get(Open(t.Context(), path, func(n int64) { reported += n }))(t, name)
		want := text
		if len(file) < 2 {
			want = file
		}
		if got, err := io.ReadAll(s); string(got) != want || err != nil || reported != int64(len(file)) {
			t.Errorf("%s: got %d bytes, equal to the text: %v, reported %d, error %v; want the %d bytes of the text, "+
				"reported %d, no error", name, len(got), string(got) == want, reported, err, len(want), len(file))
		}
		if whole := s.Whole(); (whole != nil) != (file == want) || whole != nil && whole.Size() != int64(len(file)) {
			t.Errorf("%s: got %v for random access, want all %d bytes of a plain file, nil for a compressed file",
				name, whole, len(file))
		}
		must.Check(t, s.Close(), name)
	}
}

// TestOpenBad checks the errors for truncated data, and that reading fails when its context ends.
func TestOpenBad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	for file, want := range map[string]string{
		gzipped(t, "some text")[:5]:        path + ": unexpected EOF",
		gzipped(t, "some text")[:14]:       "the gzip data end too early",
		zstandard(t, "some text"+path)[:9]: "the Zstandard data end too early",
	} {
		must.Succeed(t, os.WriteFile(path, []byte(file), 0o666))
		s, err := Open(t.Context(), path, nil)
		if err == nil {
			_, err = io.ReadAll(s)
		}
		must.Fail(t, want)(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r := Watch(ctx, strings.NewReader("text"), nil)
	cancel()
	must.FailWith(t, context.Canceled)(io.ReadAll(r))
}
