// Package jsonlines reads JSON lines: one JSON object per line. It bounds the memory of a line and
// can continue after a malformed line.
package jsonlines

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// TooLong is the error of a line above the limit. Reading can continue after it.
type TooLong struct {
	Bytes int64  // length of the line including its end
	Limit int    // maximum length of a line without its end
	Head  []byte // beginning of the line, at most HeadBytes
}

// MaxLine is the default maximum length of a line in bytes, for conversions as well as predictions.
const MaxLine = 256 << 20

// HeadBytes is the maximum number of bytes of the head of a line, which identifies the line in an error.
const HeadBytes = 1024

func (e *TooLong) Error() string {
	return fmt.Sprintf("the line has %d bytes, at most %d are accepted", e.Bytes, e.Limit)
}

// NoRoom is the error of a line for which [Reader.Room] refused memory. Reading can continue after
// it.
type NoRoom struct {
	Bytes int64  // length of the line including its end
	Head  []byte // beginning of the line, at most HeadBytes
}

func (e *NoRoom) Error() string {
	return fmt.Sprintf("out of memory for the line of %d bytes", e.Bytes)
}

// Reader reads lines and skips blank lines. A line may end in CRLF; the last line may have no line
// break.
type Reader struct {
	// Room, if set, is called before more than Free bytes of a line are kept, and returns false to
	// refuse. The reader does not return granted memory.
	Room func(bytes int) bool

	r       *bufio.Reader
	limit   int
	line    int
	start   int64 // offset of the line
	end     int64 // offset of the end of the line
	buf     []byte
	full    [][]byte // the blocks of a long line before buf
	kept    int      // bytes of the line in full and buf
	granted int      // bytes that were granted for the line
}

const (
	// Free is the number of bytes that a line may use without a call of Room. Each call of Room requests
	// Free bytes more.
	Free = 1 << 16
	// keep is the size above which the buffer of a long line is released. Such a line is read into
	// blocks of this size, which are joined at its end: a growing buffer would be copied repeatedly.
	keep = 1 << 20
)

// NewReader returns a reader of lines of at most limit bytes.
func NewReader(r io.Reader, limit int) *Reader {
	return &Reader{r: bufio.NewReaderSize(r, 1<<16), limit: limit}
}

// NewReaderAt is like [NewReader], for an r that begins at the offset start of a file.
func NewReaderAt(r io.Reader, limit int, start int64) *Reader {
	at := NewReader(r, limit)
	at.end = start
	return at
}

// Detach makes the line of the last Next stay valid after the next call.
func (r *Reader) Detach() { r.buf = nil }

// Line returns the number of the line of the last Next, from 1.
func (r *Reader) Line() int { return r.line }

// Start returns the offset of the line of the last Next.
func (r *Reader) Start() int64 { return r.start }

// Next returns the next line that is not blank, or io.EOF after the last line. The line is valid
// until the next call. After a [*TooLong] or a [*NoRoom], Next continues with the following line;
// any other error is final.
func (r *Reader) Next() ([]byte, error) {
	r.granted = Free // blank lines reuse the memory of earlier ones
	for {
		line, err := r.read()
		if err != nil {
			return nil, err
		}
		if r.start == 0 {
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		}
		if len(bytes.TrimSpace(line)) > 0 {
			return line, nil
		}
	}
}

// read returns one line without its end.
func (r *Reader) read() ([]byte, error) {
	r.drop(cap(r.buf) > keep)
	r.line++
	r.start = r.end
	var length int64
	var head []byte // beginning of a line that is not kept
	for {
		part, err := r.r.ReadSlice('\n')
		length += int64(len(part))
		r.end += int64(len(part))
		if head == nil && !r.reserve(len(part)) {
			first := r.buf
			if len(r.full) > 0 {
				first = r.full[0]
			}
			head = append(head, first[:min(len(first), HeadBytes)]...)
			head = append(head, part[:min(len(part), HeadBytes-len(head))]...)
			r.drop(true)
		}
		if head == nil {
			r.add(part)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err == nil, err == io.EOF && length > 0:
			return r.finish(length, head)
		default:
			return nil, err
		}
	}
}

// drop discards the line. If buffer is false, the next line reuses the buffer of this line.
func (r *Reader) drop(buffer bool) {
	r.full, r.kept, r.buf = nil, 0, r.buf[:0]
	if buffer {
		r.buf = nil
	}
}

// add keeps a part of the line.
func (r *Reader) add(part []byte) {
	r.kept += len(part)
	if len(r.buf)+len(part) > keep {
		r.full = append(r.full, r.buf)
		r.buf = make([]byte, 0, keep)
	}
	r.buf = append(r.buf, part...)
}

// join copies the blocks of the line into one buffer.
func (r *Reader) join() {
	if len(r.full) == 0 {
		return
	}
	whole := make([]byte, 0, r.kept)
	for _, block := range r.full {
		whole = append(whole, block...)
	}
	r.buf, r.full = append(whole, r.buf...), nil
}

// reserve requests memory for n more bytes of the line. It returns false if the limit or Room
// refuses them.
func (r *Reader) reserve(n int) bool {
	n += r.kept
	// The line's end, up to two bytes, does not count.
	if n > r.limit+2 {
		return false
	}
	for r.Room != nil && r.granted < n {
		if !r.Room(Free) {
			return false
		}
		r.granted += Free
	}
	return true
}

// finish returns the line without its line break. If the line is too long or was not kept, it returns
// an error with the line's length and head.
func (r *Reader) finish(length int64, head []byte) ([]byte, error) {
	if head == nil {
		r.join()
		line := bytes.TrimSuffix(bytes.TrimSuffix(r.buf, []byte("\n")), []byte("\r"))
		if len(line) <= r.limit {
			return line, nil
		}
		head = bytes.Clone(r.buf[:min(len(r.buf), HeadBytes)])
		r.drop(true)
	} else if length <= int64(r.limit)+2 {
		return nil, &NoRoom{Bytes: length, Head: head}
	}
	return nil, &TooLong{Bytes: length, Limit: r.limit, Head: head}
}
