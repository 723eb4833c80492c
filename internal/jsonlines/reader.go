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

// MaxLine is the most bytes of a line where nothing else is said: what is converted can be
// answered, too.
const MaxLine = 256 << 20

// HeadBytes is what is kept of a line that is too long, to tell which it was.
const HeadBytes = 1024

func (e *TooLong) Error() string {
	return fmt.Sprintf("the line has %d bytes, at most %d are accepted", e.Bytes, e.Limit)
}

// NoRoom is the error of a line that [Reader.Room] has no room for. Reading can go
// on after it.
type NoRoom struct {
	Bytes int64  // length of the line with its end
	Head  []byte // how the line begins, at most HeadBytes
}

func (e *NoRoom) Error() string {
	return fmt.Sprintf("there is no memory for the line of %d bytes", e.Bytes)
}

// Reader reads lines. Blank ones are skipped; a line may end in CRLF, and the
// last in nothing.
type Reader struct {
	// Room, if there is one, is asked before more of a line is kept than is Free, and
	// refuses by false. What it grants for a line is not given back here.
	Room func(bytes int) bool

	r     *bufio.Reader
	limit int
	line  int
	start int64 // of the line
	end   int64 // of the line, where the next begins
	buf   []byte
	full  [][]byte // what a long line has in front of buf
	kept  int      // bytes of the line, in full and in buf
	asked int      // what the line may take
}

const (
	// Free is what any line may take, and what Room is asked for at a time.
	Free = 1 << 16
	// keep is the size above which the buffer of a long line is given back. Such a line is
	// read into blocks of it, as a buffer that grows would be there twice.
	keep = 1 << 20
)

// NewReader returns a reader of lines of at most limit bytes.
func NewReader(r io.Reader, limit int) *Reader {
	return &Reader{r: bufio.NewReaderSize(r, 1<<16), limit: limit}
}

// NewReaderAt returns a reader of what follows so many bytes of lines.
func NewReaderAt(r io.Reader, limit int, start int64) *Reader {
	at := NewReader(r, limit)
	at.end = start
	return at
}

// Detach leaves the line that Next returned last to the caller: it stays valid.
func (r *Reader) Detach() { r.buf = nil }

// Line is the number of the line that Next returned last, from 1.
func (r *Reader) Line() int { return r.line }

// Start is how many bytes are before the line that Next returned last.
func (r *Reader) Start() int64 { return r.start }

// Next returns the next line that is not blank, valid until the next call, and
// io.EOF after the last. After a [*TooLong], Next goes on with the line that
// follows, and so after a [*NoRoom]; any other error is final.
func (r *Reader) Next() ([]byte, error) {
	r.asked = Free // blank lines use what was granted for those before
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
	var head []byte // of a line that is not kept
	for {
		part, err := r.r.ReadSlice('\n')
		length += int64(len(part))
		r.end += int64(len(part))
		if head == nil && !r.keeps(len(part)) {
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

// drop forgets the line, and its buffer where the line that follows is not to use it.
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

// join makes one buffer of the line.
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

// keeps reports whether the line may grow by n bytes.
func (r *Reader) keeps(n int) bool {
	n += r.kept
	// Two bytes more than the limit: the line's end does not count.
	if n > r.limit+2 {
		return false
	}
	for r.Room != nil && r.asked < n {
		if !r.Room(Free) {
			return false
		}
		r.asked += Free
	}
	return true
}

// finish takes the end off a line of length bytes, which has a head if it was not
// kept.
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
