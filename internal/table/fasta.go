package table

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sftseq/sftseq/internal/jsonlines"
	"github.com/sftseq/sftseq/internal/source"
)

// Columns of FASTA and FASTQ: the first word after > or @, the rest of that line, the letters
// without white space, and in FASTQ a quality character per letter.
var (
	fastaColumns = []string{"id", "description", "sequence"}
	fastqColumns = append(slices.Clone(fastaColumns), "quality")
)

// fastaLetters is the index of the column sequence. If the letters or qualities of a record are invalid,
// sequence and quality are null.
const fastaLetters = 2

// fastaReader reads FASTA or FASTQ records. A FASTA record begins with a line that starts with >
// and ends before the next such line. A FASTQ record has four lines: @ and a header, letters, +,
// and qualities.
type fastaReader struct {
	in     *source.Source
	lines  *bufio.Reader
	limit  int // maximum bytes of a line, and of the letters of a FASTA record
	fastq  bool
	wanted []int
	line   int64 // number of the last line read
	header []byte
}

func newFASTA(in *source.Source, fastq bool, o Options) (*fastaReader, error) {
	r := &fastaReader{in: in, lines: bufio.NewReaderSize(in, 1<<16), limit: o.MaxField, fastq: fastq}
	var err error
	if r.wanted, err = columnIndices(r.Columns(), o.Columns); err != nil {
		return nil, err
	}
	if mark, _ := r.lines.Peek(len(byteOrderMark)); string(mark) == byteOrderMark {
		r.lines.Discard(len(byteOrderMark)) // Peek has buffered the bytes, so Discard cannot fail
	}
	for len(r.header) == 0 {
		if r.header, err = r.nextLine(r.limit); err == io.EOF {
			return nil, errors.New("expected records, found an empty file")
		}
		if err != nil {
			return nil, err
		}
		r.header = bytes.TrimSpace(r.header)
	}
	if r.header[0] != r.recordStart() {
		return nil, fmt.Errorf("line %d: expected a record that begins with %c, found %.40q", r.line, r.recordStart(),
			r.header)
	}
	return r, nil
}

// recordStart returns the first character of a record.
func (r *fastaReader) recordStart() byte {
	if r.fastq {
		return '@'
	}
	return '>'
}

// Columns returns the columns of the format.
func (r *fastaReader) Columns() []string {
	if r.fastq {
		return fastqColumns
	}
	return fastaColumns
}

// Next reads the next record into row. It returns io.EOF after the last record.
func (r *fastaReader) Next(row *Row) error {
	if r.header == nil {
		return io.EOF
	}
	row.begin(r.in.Name, r.line)
	head := string(r.header[1:])
	var sequence, quality []byte
	var err error
	if r.fastq {
		sequence, quality, row.Err, err = r.fastqRecord()
	} else {
		sequence, row.Err, err = r.fastaRecord()
	}
	if err != nil {
		return fmt.Errorf("%s: line %d: %w", r.in.Name, r.line, err)
	}
	switch {
	case !utf8.ValidString(head):
		row.fail(cmp.Or(row.Err, fmt.Errorf("the header is %w", jsonlines.ErrNotUTF8)))
		return nil
	case row.Err == nil && !(utf8.Valid(sequence) && utf8.Valid(quality)):
		row.Err = fmt.Errorf("the letters are %w", jsonlines.ErrNotUTF8)
	}
	id, description := cutWord(head)
	row.Name = id // set even if the letters of the record cannot be read
	values := []string{id, description, string(sequence), string(quality)}
	for _, at := range r.wanted {
		v := Value{Text: values[at]}
		if at >= fastaLetters && row.Err != nil {
			row.setNull(&v, row.Err)
		}
		row.Values = append(row.Values, v)
	}
	return nil
}

// fastaRecord reads letters up to the next record, and keeps the next record's first line in
// r.header. bad is an error of the record, err an error of the file.
func (r *fastaReader) fastaRecord() (sequence []byte, bad, err error) {
	for {
		line, err := r.nextLine(r.limit)
		if err == io.EOF {
			r.header = nil
			return sequence, bad, nil
		}
		if err != nil {
			return nil, nil, err
		}
		if len(line) > 0 && line[0] == '>' {
			r.header = bytes.Clone(line)
			return sequence, bad, nil
		}
		if len(sequence)+len(line) > r.limit {
			bad = fmt.Errorf("the record has more than %d bytes", r.limit)
			continue // skip to the next record
		}
		if len(line) > 0 && line[0] != ';' { // ; starts a comment
			sequence = appendLetters(sequence, line)
		}
	}
}

// appendLetters appends a line without white space. Positions in a sequence do not count white
// space, as in samtools and Biopython.
func appendLetters(to, line []byte) []byte {
	for letters := range bytes.FieldsSeq(line) {
		to = append(to, letters...)
	}
	return to
}

// cutWord splits a header at its first white space into the first word and the rest.
func cutWord(head string) (word, rest string) {
	head = strings.TrimSpace(head)
	if end := strings.IndexFunc(head, unicode.IsSpace); end >= 0 {
		return head[:end], strings.TrimSpace(head[end:])
	}
	return head, ""
}

// fastqRecord reads the second to fourth lines of a record, and keeps the next record's first line
// in r.header. bad is an error of the record. err is final, because the start of the next record is
// unknown.
func (r *fastaReader) fastqRecord() (sequence, quality []byte, bad, err error) {
	var lines [3][]byte
	for i := range lines {
		line, err := r.nextLine(r.limit)
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return nil, nil, nil, err
		}
		lines[i] = appendLetters(nil, line)
	}
	if len(lines[1]) == 0 || lines[1][0] != '+' {
		return nil, nil, nil, fmt.Errorf("expected a line that begins with +, found %.40q", lines[1])
	}
	if len(lines[0]) != len(lines[2]) {
		bad = fmt.Errorf("expected %d quality scores, one for each letter, found %d", len(lines[0]), len(lines[2]))
	}
	for {
		head, err := r.nextLine(r.limit)
		switch {
		case err == io.EOF:
			r.header = nil
			return lines[0], lines[2], bad, nil
		case err != nil:
			return nil, nil, nil, err
		case len(bytes.TrimSpace(head)) == 0: // an empty line between records
			continue
		case head[0] != '@':
			return nil, nil, nil, fmt.Errorf("expected a record that begins with @, found %.40q", head)
		}
		r.header = bytes.Clone(head)
		return lines[0], lines[2], bad, nil
	}
}

// nextLine returns a line of at most limit bytes without its line end. The bytes are valid until
// the next call.
func (r *fastaReader) nextLine(limit int) ([]byte, error) {
	var line []byte
	for {
		part, err := r.lines.ReadSlice('\n')
		if len(line)+len(part) > limit+2 {
			return nil, fmt.Errorf("the line has more than %d bytes", limit)
		}
		if err == nil && line == nil {
			line = part // the common case avoids a copy
		} else {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err == io.EOF && len(line) == 0:
			return nil, io.EOF
		case err != nil && err != io.EOF:
			return nil, err
		}
		r.line++
		return bytes.TrimRight(line, "\r\n"), nil
	}
}

// Close closes the file.
func (r *fastaReader) Close() error { return r.in.Close() }
