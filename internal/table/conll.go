package table

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sftseq/sftseq/internal/jsonlines"
	"github.com/sftseq/sftseq/internal/source"
)

// Names of CoNLL columns: token is the first column and tag the last, except in CoNLL-U. Every column can
// also be named by its number from 1.
const (
	conllToken = "token"
	conllTag   = "tag"
)

// conllReader reads files with a token per line and an empty line after each sentence. A row is a
// sentence. The columns of a line are separated by tabs if the line has any, else by spaces. A
// value consists of a column's entries in the sentence, joined by spaces.
type conllReader struct {
	in     *source.Source
	window *window
	limit  int   // maximum bytes of a sentence
	wanted []int // wanted columns, counted from 0; −1 is the last
	line   int64
	fields int             // columns of the first token; 0 before that token
	shape  conllShape      // shape of the first line that is certainly a token; zero if none or CoNLL-U
	tags   map[string]bool // values of the last column, at most maxTags
	// universal is true for CoNLL-U, whose first column numbers the words. There, a token is the word's
	// form, and its tag is the universal part of speech.
	universal bool
	note      func(line string) // may be nil
	sentences int               // number of sentences read
	tokens    int               // number of tokens in the first sentence
}

// longSentence is the minimum number of tokens for which noteOneSentence reports the only sentence of a
// file.
const longSentence = 400

func newCoNLL(in *source.Source, o Options) (*conllReader, error) {
	r := &conllReader{in: in, window: newWindow(in), limit: o.MaxField,
		universal: strings.Contains(strings.ToLower(in.Name), ".conllu"), note: o.Note}
	for _, name := range o.Columns {
		number, err := strconv.Atoi(name)
		switch {
		case name == conllToken && r.universal:
			number = 2
		case name == conllTag && r.universal:
			number = 4
		case name == conllToken:
			number = 1
		case name == conllTag:
			number = 0
		case err != nil || number < 1:
			return nil, fmt.Errorf("column %q: expected %s (the first column), %s (the last column) or a column number from 1",
				name, conllToken, conllTag)
		}
		r.wanted = append(r.wanted, number-1)
	}
	return r, r.detectShape(slices.Contains(o.Columns, conllToken))
}

// conllShape is the number of columns of a token's line and whether tabs separate them.
type conllShape struct {
	fields int
	tabs   bool
}

// shapeOf returns the shape of a line with the given columns.
func shapeOf(line string, fields []string) conllShape {
	return conllShape{len(fields), strings.ContainsRune(line, '\t')}
}

// detectShape determines the shape of token lines and the tags from the beginning of the file,
// because a line that begins with # can be a token or a comment. It returns the error of
// checkTagColumn. If words is true, the caller reads words from the first column, and detectShape
// returns an error if that column has word numbers.
func (r *conllReader) detectShape(words bool) error {
	r.tags = map[string]bool{}
	if r.universal {
		return nil
	}
	numbered, longest, at := true, 0, 0
	var spans []spanColumn
	for line := range strings.Lines(r.window.text) {
		line = strings.TrimRight(line, "\r\n")
		fields := fieldsOf(line)
		if strings.TrimSpace(line) == "" {
			at = 0
			continue
		}
		if line[0] == '#' || fields[0] == "-DOCSTART-" {
			continue
		}
		at++
		longest, numbered = max(longest, at), numbered && fields[0] == strconv.Itoa(at)
		if r.shape.fields == 0 {
			r.shape = shapeOf(line, fields)
			spans = make([]spanColumn, len(fields))
		}
		if len(fields) == len(spans) {
			for i, field := range fields {
				spans[i].see(field)
			}
		}
		r.see(fields)
	}
	if err := r.checkTagColumn(spans); err != nil {
		return err
	}
	if words && numbered && longest > 1 && r.shape.fields > 1 {
		return errors.New("expected words in column 1, found word numbers as in CoNLL-X and CoNLL-U: " +
			"select columns by number (--text 2 --tags 4), or rename the file to end in .conllu")
	}
	return nil
}

// spanColumn counts the kinds of values in a column.
type spanColumn struct {
	begins, spans, others int // number of tags such as B-X, of all span tags, and of other values
}

// see counts a value.
func (s *spanColumn) see(field string) {
	switch {
	case !isSpanTag(field):
		s.others++
		return
	case strings.HasPrefix(field, "B-"):
		s.begins++
	}
	s.spans++
}

// checkTagColumn returns an error if tags would be read from the last column although it has no
// span tags and exactly one other column consists of span tags.
func (r *conllReader) checkTagColumn(columns []spanColumn) error {
	if !slices.Contains(r.wanted, -1) || len(columns) == 0 || columns[len(columns)-1].spans > 0 {
		return nil
	}
	isTag := func(s spanColumn) bool { return s.begins > 0 && s.others == 0 }
	at := slices.IndexFunc(columns, isTag)
	if at < 0 || slices.ContainsFunc(columns[at+1:], isTag) {
		return nil
	}
	return fmt.Errorf("expected span tags in the last column (%d), found them only in column %d: "+
		"select column %d (--tags %d) or the last column (--tags %d), and the column of tokens with --text",
		len(columns), at+1, at+1, at+1, len(columns))
}

// see records the tag of a token's line.
func (r *conllReader) see(fields []string) {
	if tag := fields[len(fields)-1]; len(r.tags) < maxTags && !r.tags[tag] {
		r.tags[strings.Clone(tag)] = true // cloned, because the line's memory is reused
	}
}

// isSpanTag reports whether a tag is a span tag: O, or a tag such as B-PER.
func isSpanTag(tag string) bool {
	return tag == "O" || len(tag) > 2 && tag[1] == '-' && strings.ContainsRune("BIESLUMW", rune(tag[0]))
}

// Columns returns the columns that have names. All columns can be selected by number.
func (r *conllReader) Columns() []string { return []string{conllToken, conllTag} }

// Next reads the next sentence into row. It returns io.EOF after the last sentence.
func (r *conllReader) Next(row *Row) error {
	var columns [][]string
	for size := 0; ; {
		if r.window.text == "" && r.window.atEnd() {
			if columns == nil {
				r.noteOneSentence()
				return io.EOF
			}
			break
		}
		line, long, err := r.window.line(r.limit)
		if err != nil {
			return fmt.Errorf("%s: after line %d: %w", r.in.Name, r.line, err)
		}
		r.line++
		if strings.TrimSpace(line) == "" && !long {
			if columns == nil {
				continue
			}
			break
		}
		fields := fieldsOf(line)
		if r.universal && !r.isWord(fields) {
			continue
		}
		var bad error
		if columns == nil {
			skip := false
			if skip, bad = r.isComment(line, fields); skip {
				continue
			}
			row.begin(r.in.Name, r.line)
			columns = make([][]string, len(r.wanted))
		}
		size += len(line)
		if err := r.checkColumns(fields, long); err != nil {
			return fmt.Errorf("%s:%d: %w", r.in.Name, r.line, err)
		}
		r.addToken(row, columns, fields, line, long || size > r.limit, bad)
		row.shared = size
	}
	if r.sentences++; r.sentences == 1 && len(columns) > 0 {
		r.tokens = len(columns[0])
	}
	if row.Err != nil {
		row.Values = row.Values[:0]
		return nil
	}
	for _, words := range columns {
		row.Values = append(row.Values, Value{Text: strings.Join(words, " "), IsWords: true})
	}
	return nil
}

// noteOneSentence notes that the empty lines between sentences seem to be missing if a file has a single,
// long sentence.
func (r *conllReader) noteOneSentence() {
	if r.sentences == 1 && r.tokens >= longSentence && r.note != nil {
		r.note(fmt.Sprintf("%s: found one sentence of %d tokens: expected an empty line after each sentence", r.in.Name,
			r.tokens))
	}
}

// isWord reports whether a line of CoNLL-U is a word. Comments, ranges of words such as 1-2, and empty
// nodes such as 2.1 are not words.
func (r *conllReader) isWord(fields []string) bool {
	return len(fields) == 0 || fields[0] == "" || fields[0][0] != '#' && !strings.ContainsAny(fields[0], "-.")
}

// checkColumns returns an error if the first token's line lacks a wanted column, because then no
// sentence has the column.
func (r *conllReader) checkColumns(fields []string, long bool) error {
	if r.fields > 0 || long {
		return nil
	}
	for _, at := range r.wanted {
		switch {
		case at < 0 && len(fields) < 2:
			return fmt.Errorf("expected a token and its tag, found %d column", len(fields))
		case at >= len(fields):
			return fmt.Errorf("expected a column %d, found %d columns", at+1, len(fields))
		}
	}
	return nil
}

// isComment reports whether a line before a sentence is not a token: a document mark, or a comment that
// begins with #. A comment lacks the columns of a token, or it has an unknown tag, no tabs, and # alone
// in its first column. Any other line that begins with # and has an unknown tag is an error.
func (r *conllReader) isComment(line string, fields []string) (bool, error) {
	if len(fields) == 0 || fields[0] == "-DOCSTART-" {
		return len(fields) > 0, nil
	}
	if line[0] != '#' {
		return false, nil
	}
	tag := fields[len(fields)-1]
	switch shape := shapeOf(line, fields); {
	case r.shape.fields > 0 &&
		shape != r.shape, shape.fields < 2, slices.ContainsFunc(fields, func(f string) bool {
		return f == "" ||
			strings.ContainsRune(f, ' ')
	}):
		return true, nil
	case r.tags[tag], isSpanTag(tag):
		return false, nil
	case fields[0] == "#" && !shape.tabs:
		return true, nil
	}
	return false, fmt.Errorf("found %.60q, which begins with # like a comment but has the columns of a token and the "+
		"unknown tag %.40q: expected a space after # in a comment, or a known tag of a token", line, tag)
}

// maxTags is the maximum number of recorded values of the last column.
const maxTags = 1 << 12

// addToken adds a line to the row's columns, or sets the row's error. bad is the error of isComment
// for the line.
func (r *conllReader) addToken(row *Row, columns [][]string, fields []string, line string, long bool, bad error) {
	if r.fields == 0 && !long {
		r.fields = len(fields)
	}
	if !long && bad == nil {
		r.see(fields)
	}
	err := bad
	switch {
	case row.Err != nil:
		return
	case bad != nil:
	case long:
		err = fmt.Errorf("the sentence has more than %d bytes", r.limit)
	case !utf8.ValidString(line):
		err = jsonlines.ErrNotUTF8
	case len(fields) != r.fields:
		err = fmt.Errorf("expected %d columns as in the first sentence, found %d", r.fields, len(fields))
	}
	for i, at := range r.wanted {
		if at < 0 {
			at = len(fields) - 1
		}
		switch {
		case err != nil:
		case at >= len(fields):
			err = fmt.Errorf("expected column %d, found %d columns", at+1, len(fields))
		case strings.ContainsRune(fields[at], ' '):
			err = fmt.Errorf("column %d: expected a token without a space, found %.40q", at+1, fields[at])
		case fields[at] == "":
			err = fmt.Errorf("column %d is empty", at+1)
		default:
			columns[i] = append(columns[i], fields[at])
		}
	}
	if err != nil {
		row.Err = fmt.Errorf("line %d: %w", r.line, err)
	}
}

// fieldsOf returns the columns of a line.
func fieldsOf(line string) []string {
	if strings.ContainsRune(line, '\t') {
		return strings.Split(line, "\t")
	}
	// other white space, such as U+00A0, is part of a token
	return strings.FieldsFunc(line, func(r rune) bool { return r == ' ' })
}

// Close closes the file.
func (r *conllReader) Close() error { return r.in.Close() }
