package atomicfile

import (
	"io"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// TestText compares checksums with the output of xxh128sum, for text written in parts of several sizes.
func TestText(t *testing.T) {
	text := strings.Repeat("0123456789abcdef", 1000)
	for want, text := range map[string]string{
		"xxh128:99aa06d3014798d86001c324468d497f": "",
		"xxh128:06b05ab6733a618578af5f94892f3950": "abc",
		"xxh128:8cf1e1713a4747bfae457d0a3898c224": text,
	} {
		for _, piece := range []int{1, 63, 1024, len(text) + 1} {
			kind, h := must.Get2(ChecksumLike("xxh128:" + strings.Repeat("0", 32)))(t)
			for rest := text; rest != ""; {
				n := min(piece, len(rest))
				io.WriteString(h, rest[:n])
				rest = rest[n:]
			}
			if got := ChecksumText(kind, h); got != want {
				t.Errorf("%d bytes in pieces of %d: got %s, want %s", len(text), piece, got, want)
			}
		}
	}
}

// TestLikeRefuses checks that ChecksumLike refuses malformed checksums.
func TestLikeRefuses(t *testing.T) {
	for _, bad := range []string{"", "xxh128", "xxh128:", "xxh128:99", "md5:" + strings.Repeat("0", 32),
		"xxh128:" + strings.Repeat("0", 31) + "g", strings.Repeat("x", 1000)} {
		if _, _, err := ChecksumLike(bad); err == nil || len(err.Error()) > 300 {
			t.Errorf("%q: got error %v, want an error of at most 300 bytes", bad, err)
		}
	}
}
