package table

import (
	"encoding/csv"
	"errors"
	"fmt"
	"strings"
)

// csvSplitter splits the first row of a text into the fields that encoding/csv would return.
type csvSplitter struct {
	text      string
	comma     byte     // delimiter
	last      bool     // whether the text is the end of the file
	maxFields int      // maximum number of kept fields; further fields are only counted
	fields    []string // fields found so far
	count     int      // number of fields; 0 for an empty line
	lineEnds  int      // number of line ends within fields

	start int // start of the next field
	eol   int // end of the line that contains start
}

// errIncomplete means that the row may continue after the text.
var errIncomplete = errors.New("the row is not complete")

// csvError is an error of encoding/csv with its position in a row.
type csvError struct {
	line     int // relative to the first line of the row
	column   int // in bytes, from 1
	err      error
	unclosed bool // whether the text ends within a quoted field
}

func (e *csvError) Error() string {
	text := e.err.Error()
	switch {
	case e.unclosed:
		text = "a quoted field is not closed: double the quotes within a quoted field"
	case e.err == csv.ErrBareQuote:
		text = "found a quote in an unquoted field: quote the field, and double the quotes within it"
	case e.err == csv.ErrQuote:
		text = "expected a delimiter or the end of the line after the quote: double the quotes within a quoted field"
	}
	return fmt.Sprintf("column %d: %s", e.column, text)
}

// split returns the number of bytes of the row, or 0 without a row. For a malformed row, it counts
// the bytes to the end of the line with the error; for an incomplete row, the bytes examined.
func (s *csvSplitter) split() (size int, err error) {
	if err := s.findEOL(); err != nil {
		return len(s.text), err
	}
	more := strings.TrimSuffix(s.text[:s.eol], "\r") != ""
	for more && err == nil {
		if s.start < s.eol && s.text[s.start] == '"' {
			more, err = s.readQuoted()
		} else {
			more, err = s.readPlain()
		}
	}
	if err == errIncomplete {
		return len(s.text), err
	}
	return min(s.eol+1, len(s.text)), err
}

// findEOL sets eol to the end of the line that contains start.
func (s *csvSplitter) findEOL() error {
	i := strings.IndexByte(s.text[s.start:], '\n')
	switch {
	case i >= 0:
		s.eol = s.start + i
	case !s.last:
		return errIncomplete
	default:
		s.eol = len(s.text)
	}
	return nil
}

// readPlain reads an unquoted field, and reports whether another field follows.
func (s *csvSplitter) readPlain() (more bool, err error) {
	field := s.text[s.start:s.eol]
	comma := strings.IndexByte(field, s.comma)
	if comma >= 0 {
		field = field[:comma]
	} else {
		field = strings.TrimSuffix(field, "\r")
	}
	if quote := strings.IndexByte(field, '"'); quote >= 0 {
		return false, s.errorAt(s.start+quote, csv.ErrBareQuote)
	}
	s.add(field)
	s.start += comma + 1
	return comma >= 0, nil
}

// readQuoted reads a quoted field, and reports whether another field follows.
func (s *csvSplitter) readQuoted() (more bool, err error) {
	begin, doubled := s.start+1, false
	for s.start = begin; ; s.start += 2 {
		i := strings.IndexByte(s.text[s.start:], '"')
		if i < 0 {
			if !s.last {
				return false, errIncomplete
			}
			s.eol = len(s.text)
			bad := s.errorAt(s.eol, csv.ErrQuote)
			bad.unclosed = true
			return false, bad
		}
		if s.start += i; !strings.HasPrefix(s.text[s.start+1:], `"`) {
			break
		}
		doubled = true
	}
	field := s.text[begin:s.start]
	lines := s.start > s.eol // whether lines end within the field
	if lines {
		s.lineEnds += strings.Count(field, "\n")
		if err := s.findEOL(); err != nil {
			return false, err
		}
	}
	rest := s.text[s.start+1 : s.eol]
	more = rest != "" && rest[0] == s.comma
	if !more && strings.TrimSuffix(rest, "\r") != "" {
		return false, s.errorAt(s.start, csv.ErrQuote)
	}
	if doubled {
		field = strings.ReplaceAll(field, `""`, `"`)
	}
	if lines {
		field = strings.ReplaceAll(field, "\r\n", "\n")
	}
	s.add(field)
	s.start += 2
	return more, nil
}

func (s *csvSplitter) add(field string) {
	if s.count++; s.count <= s.maxFields {
		s.fields = append(s.fields, field)
	}
}

// errorAt returns an error at a position. An error at the end of the text is located at the end of
// the last line; a final line end does not begin another line. A line end counts as one byte, as in encoding/csv.
func (s *csvSplitter) errorAt(at int, err error) *csvError {
	before := s.text[:at]
	if at == len(s.text) {
		text := strings.TrimSuffix(before, "\r") // encoding/csv drops a carriage return at the end of the text
		before = strings.TrimSuffix(text, "\n")
		if at = len(text); len(before) < at && strings.HasSuffix(before, "\r") {
			at--
		}
	}
	return &csvError{line: strings.Count(before, "\n"), column: at - strings.LastIndexByte(before, '\n'), err: err}
}
