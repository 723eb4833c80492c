package transport

import (
	"bytes"
	"io"
	"testing"
	"testing/iotest"

	"github.com/sftseq/sftseq/internal/jsonlines"
)

// counting lends, and knows what it has lent.
type counting struct{ lent int64 }

func (c *counting) Lend(n int64) bool {
	c.lent += n
	return true
}

func (c *counting) TakeBack(n int64) { c.lent -= n }

// TestReadBody: a body is read whole, and its buffer is lent but for what is free; of a
// length that is known it has no more than that.
func TestReadBody(t *testing.T) {
	for _, size := range []int{1, 4095, 4096, 4097, 9999, 1 << 16, 1<<16 + 1, 200_001, 1 << 20} {
		text := bytes.Repeat([]byte{'x'}, size)
		for _, length := range []int64{-1, int64(size)} {
			for name, r := range map[string]io.Reader{"whole": bytes.NewReader(text),
				"halves":            iotest.HalfReader(bytes.NewReader(text)),
				"end with the last": iotest.DataErrReader(bytes.NewReader(text))} {
				var from counting
				m, whole, err := ReadBody(r, length, 1<<20, 1, &from)
				if err != nil || m.Err != nil || !whole || !bytes.Equal(m.Body, text) {
					t.Fatalf("%d of %d, %s: %d bytes, %v, %v, %v", size, length, name, len(m.Body), whole, m.Err, err)
				}
				if length > 0 && cap(m.Body) != size {
					t.Errorf("%d of %d, %s: a buffer of %d", size, length, name, cap(m.Body))
				}
				if from.lent != m.Room || m.Room != int64(max(0, cap(m.Body)-jsonlines.Free)) {
					t.Errorf("%d of %d, %s: lent %d, length %d, a buffer of %d", size, length, name,
						from.lent, m.Room, cap(m.Body))
				}
			}
		}
	}
	for _, length := range []int64{-1, 2000} {
		var from counting
		m, whole, err := ReadBody(bytes.NewReader(make([]byte, 2000)), length, 1000, 5000, &from)
		if _, long := m.Err.(*jsonlines.TooLong); !long || !whole || err != nil || m.Body != nil || from.lent != 0 {
			t.Errorf("too long, of %d: %+v, %v, %v, lent %d", length, m, whole, err, from.lent)
		}
	}
	for _, length := range []int64{-1, 300_000} {
		var from counting
		r := io.MultiReader(bytes.NewReader(make([]byte, 200_000)), iotest.ErrReader(io.ErrUnexpectedEOF))
		m, whole, err := ReadBody(r, length, 1<<20, 1, &from)
		if err != io.ErrUnexpectedEOF || whole || m.Body != nil || m.Room != 0 || from.lent != 0 {
			t.Errorf("ended early, of %d: %+v, %v, %v, lent %d", length, m, whole, err, from.lent)
		}
	}
}
