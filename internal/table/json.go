package table

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/sftseq/sftseq/internal/jsonlines"
	"github.com/sftseq/sftseq/internal/source"
)

// listReader reads a JSON list of objects, or concatenated objects that may span several lines. It
// reads one value at a time, so the size of the file is not limited. Rows are numbered by value,
// because a line may have many values.
type listReader struct {
	in *source.Source
	*jsonColumns
	isList  bool
	limit   int // maximum bytes of a value
	row     int64
	line    int64 // current line
	value   []byte
	closers []byte // closing delimiters of the open lists and objects
	closed  bool   // the list has ended
}

// maxJSONDepth is the maximum nesting depth of encoding/json.
const maxJSONDepth = 10000

// newJSON returns a reader of a file that is a JSON list or concatenated objects. Concatenated objects are
// read as JSON lines if the first line is a whole object, or if the buffer contains no line end. Otherwise,
// an object may span several lines.
func newJSON(in *source.Source, o Options) (Reader, error) {
	if head, _ := in.Peek(len(byteOrderMark)); string(head) == byteOrderMark {
		if _, err := in.Discard(len(head)); err != nil {
			return nil, err
		}
	}
	r := &listReader{in: in, jsonColumns: newJSONColumns(in.Name, o), limit: o.MaxField, line: 1}
	first, err := r.skipSpace()
	if err == io.EOF {
		return nil, errors.New("expected a JSON list of objects, found an empty file")
	}
	if err != nil {
		return nil, err
	}
	switch {
	case first == '[':
		r.isList = true
		return r, nil
	case first != '{':
		return nil, fmt.Errorf("line %d: expected a JSON list of objects, or objects, found %q", r.line, first)
	}
	if err := in.UnreadByte(); err != nil {
		return nil, err
	}
	if firstObjectOnLine(in) && r.line == 1 {
		return newJSONLines(in, o)
	}
	return r, nil
}

// firstObjectOnLine reports whether the first object ends with its line. It returns true if the buffer
// contains no line end.
func firstObjectOnLine(in *source.Source) bool {
	if _, err := in.Peek(1); err != nil {
		return false
	}
	head, _ := in.Peek(in.Size())
	line, _, whole := bytes.Cut(head, []byte("\n"))
	return !whole || json.Valid(line)
}

// Columns returns nil, because every object may have different columns.
func (r *listReader) Columns() []string { return nil }

// Next reads the next object into row. It returns io.EOF after the last object.
func (r *listReader) Next(row *Row) error {
	err := r.next(row)
	switch {
	case err == io.EOF && r.isOpen():
		return fmt.Errorf("%s: line %d: the file ends within a list", r.in.Name, r.line)
	case err == io.EOF:
		r.reportMissing()
	case err != nil:
		return fmt.Errorf("%s: line %d: %w", r.in.Name, r.line, err)
	}
	return err
}

// isOpen reports whether the file is a list that has not ended. The end of the file is then an error.
func (r *listReader) isOpen() bool { return r.isList && !r.closed }

// next reads the next value into row, without the file name in errors.
func (r *listReader) next(row *Row) error {
	first, err := r.skipSpace()
	if err != nil {
		return err
	}
	if r.closed {
		return fmt.Errorf("expected the end of the file after the list, found %q", first)
	}
	if r.isList && first == ']' && r.row == 0 {
		r.closed = true
		return r.next(row)
	}
	switch {
	case r.isList && first == ',':
		return errors.New("expected a value, found a comma")
	case !r.isList && first != '{':
		return fmt.Errorf("expected an object, found %q", first)
	}
	line := r.line
	size, err := r.readValue(first)
	if err == io.EOF {
		err = fmt.Errorf("the file ends within a value that begins on line %d", line)
	}
	if err != nil {
		return err
	}
	r.row++
	row.begin(r.in.Name, r.row)
	if size > int64(r.limit) {
		row.fail(fmt.Errorf("line %d: expected at most %d bytes, found a value of %d", line, r.limit, size))
	} else if r.read(row, r.value); row.Err != nil {
		where := "line"
		if malformed := (*jsonlines.NotJSON)(nil); errors.As(row.Err, &malformed) {
			where = "the value that begins on line" // the error names a byte of the value
		}
		row.Err = fmt.Errorf("%s %d: %w", where, line, row.Err)
	}
	if !r.isList {
		return nil
	}
	switch next, err := r.skipSpace(); {
	case err == io.EOF: // the next call returns io.EOF
		return nil
	case err != nil:
		return err
	case next == ']':
		r.closed = true
	case next == ',':
		if next, err = r.skipSpace(); err == nil && next == ']' {
			return errors.New("expected a value after the comma, found the end of the list")
		}
		if err == nil {
			err = r.in.UnreadByte()
		}
		if err != io.EOF {
			return err
		}
	default:
		return fmt.Errorf("expected a comma or the end of the list, found %q", next)
	}
	return nil
}

// skipSpace returns the next byte that is not white space.
func (r *listReader) skipSpace() (byte, error) {
	for {
		b, err := r.in.ReadByte()
		if err != nil {
			return 0, err
		}
		switch b {
		case '\n':
			r.line++
		case ' ', '\t', '\r':
		default:
			return b, nil
		}
	}
}

// readValue reads the rest of a value, given its first byte, and returns the size of the whole value in
// bytes. It discards the bytes beyond the limit.
func (r *listReader) readValue(first byte) (size int64, err error) {
	if cap(r.value) > keptValue {
		r.value = nil
	}
	r.value, r.closers = r.value[:0], r.closers[:0]
	inString := false
	for b := first; ; {
		size++
		if size <= int64(r.limit) {
			r.value = append(r.value, b)
		}
		escaped := false
		switch {
		case b == '\n' && inString:
			return 0, errors.New("a string is not closed before the end of the line")
		case b == '\n':
			r.line++
		case inString:
			escaped, inString = b == '\\', b != '"'
		case b == '"':
			inString = true
		default:
			if err := r.updateNesting(b); err != nil {
				return 0, err
			}
		}
		if !inString && len(r.closers) == 0 {
			if ended, err := r.endsValue(b); ended || err != nil {
				return size, err
			}
		}
		if b, err = r.in.ReadByte(); err != nil {
			return 0, err
		}
		if escaped && b != '\n' {
			size++
			if size <= int64(r.limit) {
				r.value = append(r.value, b)
			}
			if b, err = r.in.ReadByte(); err != nil {
				return 0, err
			}
		}
	}
}

// keptValue is the maximum capacity in bytes of a value buffer that is kept for the next value.
const keptValue = 1 << 20

// updateNesting opens or closes a list or an object if b is a bracket or brace.
func (r *listReader) updateNesting(b byte) error {
	switch b {
	case '{':
		r.closers = append(r.closers, '}')
	case '[':
		r.closers = append(r.closers, ']')
	case '}', ']':
		n := len(r.closers)
		if n == 0 || r.closers[n-1] != b {
			return fmt.Errorf("found %q, which closes no open list or object", b)
		}
		r.closers = r.closers[:n-1]
	}
	if len(r.closers) > maxJSONDepth {
		return fmt.Errorf("expected at most %d nested lists and objects", maxJSONDepth)
	}
	return nil
}

// endsValue reports whether a value ends with byte b when no list or object is open. Objects, lists
// and strings end with their delimiter; a word or a number ends before white space, a delimiter or the
// end of the file.
func (r *listReader) endsValue(b byte) (bool, error) {
	if b == '}' || b == ']' || b == '"' {
		return true, nil
	}
	next, err := r.in.Peek(1)
	if err == io.EOF {
		return true, nil
	}
	return err != nil || bytes.IndexByte([]byte(" \t\r\n,]}"), next[0]) >= 0, err
}

// Close closes the file.
func (r *listReader) Close() error { return r.in.Close() }
