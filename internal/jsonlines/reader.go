// Package jsonlines reads JSON lines: one JSON object a line. It bounds the
// memory that a line may take, and goes on after one that is bad.
package jsonlines

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// TooLong is the error of a line above the limit. Reading can go on after it.
type TooLong struct {
	Bytes int64 // length of the line with its end
	Limit int
	Head  []byte // how the line begins, at most HeadBytes
}

// HeadBytes is what is kept of a line that is too long, to tell which it was.
const HeadBytes = 1024

func (e *TooLong) Error() string {
	return fmt.Sprintf("the line has %d bytes, at most %d are accepted", e.Bytes, e.Limit)
}

// Reader reads lines. Blank ones are skipped; a line may end in CRLF, and the
// last in nothing.
type Reader struct {
	r     *bufio.Reader
	limit int
	line  int
	buf   []byte
}

// keep is the size above which the buffer of a long line is given back.
const keep = 1 << 20

// NewReader returns a reader of lines of at most limit bytes.
func NewReader(r io.Reader, limit int) *Reader {
	return &Reader{r: bufio.NewReaderSize(r, 1<<16), limit: limit}
}

// Line is the number of the line that Next returned last, from 1.
func (r *Reader) Line() int { return r.line }

// Next returns the next line that is not blank, valid until the next call, and
// io.EOF after the last. After a [*TooLong], Next goes on with the line that
// follows; any other error is final.
func (r *Reader) Next() ([]byte, error) {
	for {
		line, err := r.read()
		if err != nil {
			return nil, err
		}
		if r.line == 1 {
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		}
		if len(bytes.TrimSpace(line)) > 0 {
			return line, nil
		}
	}
}

// read returns one line without its end.
func (r *Reader) read() ([]byte, error) {
	if cap(r.buf) > keep {
		r.buf = nil
	}
	r.buf = r.buf[:0]
	r.line++
	var length int64
	for {
		part, err := r.r.ReadSlice('\n')
		length += int64(len(part))
		// Two bytes more than the limit: the line's end does not count.
		if room := r.limit + 2 - len(r.buf); room > 0 {
			r.buf = append(r.buf, part[:min(room, len(part))]...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err == nil, err == io.EOF && length > 0:
			return r.finish(length)
		default:
			return nil, err
		}
	}
}

// finish takes the end off a line of length bytes.
func (r *Reader) finish(length int64) ([]byte, error) {
	if length == int64(len(r.buf)) {
		line := bytes.TrimSuffix(bytes.TrimSuffix(r.buf, []byte("\n")), []byte("\r"))
		if len(line) <= r.limit {
			return line, nil
		}
	}
	head := bytes.Clone(r.buf[:min(len(r.buf), HeadBytes)])
	r.buf = nil
	return nil, &TooLong{Bytes: length, Limit: r.limit, Head: head}
}
