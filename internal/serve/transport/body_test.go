package transport

import (
	"bytes"
	"io"
	"testing"
	"testing/iotest"

	"github.com/sftseq/sftseq/internal/jsonlines"
)

// counting is a Lender that counts the lent bytes.
type counting struct{ lent int64 }

func (c *counting) Lend(n int64) bool {
	c.lent += n
	return true
}

func (c *counting) TakeBack(n int64) { c.lent -= n }

// TestReadBody checks that bodies are read completely. If the length is known, the buffer has the size of
// the body. The buffer's bytes beyond jsonlines.Free are lent. A body that is too long or ends early is an
// error, after which no memory is lent.
func TestReadBody(t *testing.T) {
	for _, size := range []int{1, 4095, 4096, 4097, 9999, 1 << 16, 1<<16 + 1, 200_001, 1 << 20} {
		text := bytes.Repeat([]byte{'x'}, size)
		for _, length := range []int64{-1, int64(size)} {
			for name, r := range map[string]io.Reader{"whole": bytes.NewReader(text),
				"halves":                  iotest.HalfReader(bytes.NewReader(text)),
				"EOF with the last bytes": iotest.DataErrReader(bytes.NewReader(text))} {
				var from counting
				m, whole, err := ReadBody(r, length, 1<<20, 1, &from)
				if err != nil || m.Err != nil || !whole || !bytes.Equal(m.Body, text) {
					t.Fatalf("size %d, length %d, %s: got %d bytes, equal to the text: %v, whole %v, errors %v, %v; "+
						"want the %d bytes of the text, whole true, no errors", size, length, name, len(m.Body),
						bytes.Equal(m.Body, text), whole, m.Err, err, size)
				}
				if length > 0 && cap(m.Body) != size {
					t.Errorf("size %d, length %d, %s: got a buffer of %d bytes, want the size", size, length, name,
						cap(m.Body))
				}
				if from.lent != m.Room || m.Room != int64(max(0, cap(m.Body)-jsonlines.Free)) {
					t.Errorf("size %d, length %d, %s: got %d lent bytes, Room %d, want the bytes beyond %d of a "+
						"buffer of %d", size, length, name, from.lent, m.Room, jsonlines.Free, cap(m.Body))
				}
			}
		}
	}
	for _, length := range []int64{-1, 2000} {
		var from counting
		m, whole, err := ReadBody(bytes.NewReader(make([]byte, 2000)), length, 1000, 5000, &from)
		if _, long := m.Err.(*jsonlines.TooLong); !long || !whole || err != nil || m.Body != nil || from.lent != 0 {
			t.Errorf("too long, length %d: got %+v, whole %v, error %v, %d lent bytes, want a TooLong error, whole "+
				"and no lent bytes", length, m, whole, err, from.lent)
		}
	}
	for _, length := range []int64{-1, 300_000} {
		var from counting
		r := io.MultiReader(bytes.NewReader(make([]byte, 200_000)), iotest.ErrReader(io.ErrUnexpectedEOF))
		m, whole, err := ReadBody(r, length, 1<<20, 1, &from)
		if err != io.ErrUnexpectedEOF || whole || m.Body != nil || m.Room != 0 || from.lent != 0 {
			t.Errorf("ended early, length %d: got %+v, whole %v, error %v, %d lent bytes, want %v, not whole and "+
				"no lent bytes", length, m, whole, err, from.lent, io.ErrUnexpectedEOF)
		}
	}
}
