package transport

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/sftseq/sftseq/internal/jsonlines"
	"github.com/sftseq/sftseq/internal/must"
)

// purse is a Lender of limited memory.
type purse struct{ has, lent int64 }

func (p *purse) Lend(n int64) bool {
	if p.lent+n > p.has {
		return false
	}
	p.lent += n
	return true
}

func (p *purse) TakeBack(n int64) { p.lent -= n }

// TestFrames checks that written messages are read again in both framings. For a message that is
// too long or gets no memory, the beginning is returned, and the next message can be read.
func TestFrames(t *testing.T) {
	const limit = 4 * jsonlines.Free
	short, long := `{"id":1}`, `{"id":2,"text":"`+strings.Repeat("x", 3*jsonlines.Free)+`"}`
	beyond := `{"id":3,"text":"` + strings.Repeat("x", limit) + `"}`
	for _, framing := range []string{Lines, LSP} {
		for _, has := range []int64{0, limit} {
			var stream bytes.Buffer
			out := NewFrames(framing, nil, &stream, limit, nil)
			for _, m := range []string{short, long, beyond, short} {
				must.Succeed(t, out.Write([]byte(m)))
			}
			p := &purse{has: has}
			in := NewFrames(framing, iotest.OneByteReader(&stream), nil, limit, p)
			for n, want := range []string{short, long, beyond, short} {
				m, err := in.Read()
				if err != nil || m.Line != n+1 {
					t.Fatalf("%s, message %d: got error %v, line %d, want line %d", framing, n, err, m.Line, n+1)
				}
				var none *jsonlines.NoRoom
				var tooLong *jsonlines.TooLong
				switch refused := errors.As(m.Err, &none) || errors.As(m.Err, &tooLong); {
				case refused != (n == 2 || n == 1 && has == 0):
					t.Errorf("%s, message %d with %d bytes to lend: got error %v, refused %v, want refused %v", framing,
						n, has, m.Err, refused, !refused)
				case refused:
					if !strings.HasPrefix(want, string(m.Head)) || len(m.Head) < len(`{"id":3`) {
						t.Errorf("%s, message %d: got head %.20q of %d bytes, want a prefix of %.20q with at least %d",
							framing, n, m.Head, len(m.Head), want, len(`{"id":3`))
					}
				case m.Err != nil || string(m.Body) != want:
					t.Errorf("%s, message %d: got error %v and %d bytes, want %d", framing, n, m.Err, len(m.Body),
						len(want))
				}
				if m.Room != p.lent || n == 1 && has > 0 && m.Room == 0 {
					t.Errorf("%s, message %d, %d bytes to lend: got %d lent bytes and Room %d, want equal numbers, "+
						"above 0 for a long message", framing, n, has, p.lent, m.Room)
				}
				p.TakeBack(m.Room)
			}
			if _, err := in.Read(); err != io.EOF {
				t.Errorf("%s: got error %v after the last message, want EOF", framing, err)
			}
		}
	}
}

// TestBadHeaders checks that malformed headers, a truncated message, HTTP and the wrong framing end the stream
// with a BadHeader.
func TestBadHeaders(t *testing.T) {
	for text, framing := range map[string]string{
		"GET / HTTP/1.1\r\n":               Lines,
		"Content-Length: 2\r\n":            Lines,
		"POST / HTTP/1.1\r\n":              LSP,
		"{}\n":                             LSP,
		"Content-Length: 5\r\n\r\n{}":      LSP,
		"Content-Length: -1\r\n\r\n{}":     LSP,
		"Content-Type: text/plain\r\n\r\n": LSP,
	} {
		var bad BadHeader
		if _, err := NewFrames(framing, strings.NewReader(text), nil, 100, nil).Read(); !errors.As(err, &bad) {
			t.Errorf("%s %q: got error %v, want a BadHeader", framing, text, err)
		}
	}
}
