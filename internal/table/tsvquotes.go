package table

import "strings"

// readQuoted reads a row with quoted tabs or line ends: a line and, if a quoted field is still open at its
// end, the following lines up to the end of the row. count is the number of fields of the line if it is
// split at every tab. readQuoted returns the row's size in bytes and the number of lines after the first,
// and stores the fields in r.joined. ok is false if the lines do not form such a row.
func (r *tsvReader) readQuoted(line string, count int) (bytes, lines int, ok bool) {
	if !strings.HasPrefix(line, `"`) && !strings.Contains(line, "\t\"") {
		return 0, 0, false
	}
	rowsByLine := count == len(r.columns) // whether each line is a row by itself
	fields, open := quotedFields(line, r.joined[:0])
	r.joined = fields
	if !open {
		return len(line), 0, !rowsByLine && len(fields) == len(r.columns)
	}
	size, end := 0, 0 // in the window: bytes searched, and end of the last line searched
	for open {
		if size, ok = r.findClosingQuote(size); !ok {
			return 0, 0, false
		}
		for end = strings.IndexByte(r.window.text[size:], '\n'); end < 0; end = strings.IndexByte(r.window.text[size:],
			'\n') {
			if r.window.atEnd() {
				end = len(r.window.text) - size
				break
			}
			if r.window.err != nil || len(r.window.text) > r.limit {
				return 0, 0, false
			}
			r.window.readMore()
		}
		end += size
		_, open = quotedFields(strings.TrimSuffix(r.window.text[size:end], "\r"), nil)
		size = min(end+1, len(r.window.text))
	}
	text := line + "\n"
	for next := range strings.SplitSeq(r.window.text[:end], "\n") {
		next = strings.TrimSuffix(next, "\r")
		rowsByLine = rowsByLine && (next == "" || strings.Count(next, "\t")+1 == len(r.columns))
		lines++
	}
	text += strings.TrimSuffix(strings.ReplaceAll(r.window.text[:end], "\r\n", "\n"), "\r")
	if r.joined, open = quotedFields(text, r.joined[:0]); rowsByLine || open ||
		len(r.joined) != len(r.columns) || len(text) > r.limit {
		return 0, 0, false
	}
	r.window.skip(size)
	return len(text), lines, true
}

// findClosingQuote returns the index after the quote that closes a field, searching the window from the
// index at. ok is false if the opening quote is literal, or if the search ends at the size limit or a read
// error.
func (r *tsvReader) findClosingQuote(at int) (end int, ok bool) {
	for {
		w := r.window
		i := strings.IndexByte(w.text[at:], '"')
		known := i >= 0 && at+i+2 < len(w.text) || w.atEnd() // whether the characters after the quote have been read
		switch {
		case !known && (w.err != nil || len(w.text) > r.limit), known && i < 0:
			return 0, false
		case !known:
			w.readMore()
			continue
		}
		switch at += i + 1; {
		case strings.HasPrefix(w.text[at:], `"`):
			at++
		case at == len(w.text) || strings.IndexByte("\t\n", w.text[at]) >= 0 || w.text[at:] == "\r" ||
			strings.HasPrefix(w.text[at:], "\r\n"):
			return at, true
		default:
			return 0, false
		}
	}
}

// quotedFields appends the fields of a text, whose quoted fields may have tabs and line ends. open
// reports whether the text ends within a quoted field. If the text has a line end outside of quotes, out
// is empty.
func quotedFields(text string, fields []string) (out []string, open bool) {
	for {
		end := strings.IndexByte(text, '\t')
		if end < 0 {
			end = len(text)
		}
		field := text[:end]
		if strings.HasPrefix(text, `"`) {
			switch close := closingQuote(text); {
			case close < 0:
				return fields, true
			case close > 0:
				end = close + 1
				field = strings.ReplaceAll(text[1:close], `""`, `"`)
			case strings.Contains(field, "\n"):
				return fields[:0], false
			}
		} else if strings.Contains(field, "\n") {
			return fields[:0], false
		}
		if fields = append(fields, field); end == len(text) {
			return fields, false
		}
		text = text[end+1:]
	}
}

// closingQuote returns the index of the quote that closes the field at the beginning of text. It
// returns -1 if no quote closes the field, and 0 if the first quote is literal because a quote
// within the field is not doubled.
func closingQuote(text string) int {
	for at := 1; ; at += 2 {
		i := strings.IndexByte(text[at:], '"')
		if i < 0 {
			return -1
		}
		if at += i; at+1 == len(text) || text[at+1] == '\t' {
			return at
		}
		if text[at+1] != '"' {
			return 0
		}
	}
}
