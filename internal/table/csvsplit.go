package table

import (
	"encoding/csv"
	"errors"
	"fmt"
	"strings"
)

// csvSplitter finds the fields of the first row of a text: what encoding/csv would find.
type csvSplitter struct {
	text   string
	comma  byte     // is between two fields
	last   bool     // nothing comes behind the text
	most   int      // fields that are wanted of a row: what is beyond is only counted
	fields []string // so far
	count  int      // number of fields; 0 for an empty line
	inner  int      // lines that end within fields

	at  int // where the next field begins
	eol int // where the line of at ends
}

// errIncomplete is for a row whose end may come behind the text.
var errIncomplete = errors.New("the row is not complete")

// csvError is where a row is wrong, with encoding/csv's words for it.
type csvError struct {
	line   int // behind the row's first
	column int // in bytes, from 1
	err    error
}

func (e *csvError) Error() string { return fmt.Sprintf("column %d: %v", e.column, e.err) }

// split returns how many bytes the row has, 0 where there is none: if it is wrong, up to
// the end of the line where that is found; if it is not complete, those looked through.
func (s *csvSplitter) split() (size int, err error) {
	if err := s.findEOL(); err != nil {
		return len(s.text), err
	}
	more := strings.TrimSuffix(s.text[:s.eol], "\r") != ""
	for more && err == nil {
		if s.at < s.eol && s.text[s.at] == '"' {
			more, err = s.quoted()
		} else {
			more, err = s.plain()
		}
	}
	if err == errIncomplete {
		return len(s.text), err
	}
	return min(s.eol+1, len(s.text)), err
}

// findEOL finds the end of the line of at.
func (s *csvSplitter) findEOL() error {
	i := strings.IndexByte(s.text[s.at:], '\n')
	switch {
	case i >= 0:
		s.eol = s.at + i
	case !s.last:
		return errIncomplete
	default:
		s.eol = len(s.text)
	}
	return nil
}

// plain finds a field without quotes, and whether another follows.
func (s *csvSplitter) plain() (more bool, err error) {
	field := s.text[s.at:s.eol]
	comma := strings.IndexByte(field, s.comma)
	if comma >= 0 {
		field = field[:comma]
	} else {
		field = strings.TrimSuffix(field, "\r")
	}
	if quote := strings.IndexByte(field, '"'); quote >= 0 {
		return false, s.wrong(s.at+quote, csv.ErrBareQuote)
	}
	s.add(field)
	s.at += comma + 1
	return comma >= 0, nil
}

// quoted finds a field in quotes, and whether another follows.
func (s *csvSplitter) quoted() (more bool, err error) {
	start, doubled := s.at+1, false
	for s.at = start; ; s.at += 2 {
		i := strings.IndexByte(s.text[s.at:], '"')
		if i < 0 {
			if !s.last {
				return false, errIncomplete
			}
			s.eol = len(s.text)
			return false, s.wrong(s.eol, csv.ErrQuote)
		}
		if s.at += i; !strings.HasPrefix(s.text[s.at+1:], `"`) {
			break
		}
		doubled = true
	}
	field := s.text[start:s.at]
	lines := s.at > s.eol // end within the field
	if lines {
		s.inner += strings.Count(field, "\n")
		if err := s.findEOL(); err != nil {
			return false, err
		}
	}
	rest := s.text[s.at+1 : s.eol]
	more = rest != "" && rest[0] == s.comma
	if !more && strings.TrimSuffix(rest, "\r") != "" {
		return false, s.wrong(s.at, csv.ErrQuote)
	}
	if doubled {
		field = strings.ReplaceAll(field, `""`, `"`)
	}
	if lines {
		field = strings.ReplaceAll(field, "\r\n", "\n")
	}
	s.add(field)
	s.at += 2
	return more, nil
}

func (s *csvSplitter) add(field string) {
	if s.count++; s.count <= s.most {
		s.fields = append(s.fields, field)
	}
}

// wrong is what is wrong there, or at the end of the text: at that of the last line which
// is not empty, with ends of lines as one byte.
func (s *csvSplitter) wrong(at int, err error) error {
	before := s.text[:at]
	if at == len(s.text) {
		text := strings.TrimSuffix(before, "\r") // as encoding/csv reads a text's end
		before = strings.TrimSuffix(text, "\n")
		if at = len(text); len(before) < at && strings.HasSuffix(before, "\r") {
			at--
		}
	}
	return &csvError{strings.Count(before, "\n"), at - strings.LastIndexByte(before, '\n'), err}
}
