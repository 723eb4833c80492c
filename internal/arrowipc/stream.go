package arrowipc

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
)

// A Stream reads the record batches of an Arrow IPC stream or file with any schema, including
// dictionaries. It reads a truncated stream up to its last complete message.
type Stream struct {
	frames          framer
	exact           bool // whether bytes after the end are an error, except for the footer of a file
	batches         int  // number of batches found, including skipped batches
	whole           *io.SectionReader
	blocks          []block  // remaining blocks if the footer is used; otherwise nil
	pending         *message // batch whose body is not read yet
	ended           bool     // all batches were skipped and the end was checked
	schema          *message
	dictionaries    []dictionary // dictionaries to which the next batch may refer
	dictionaryBytes int64        // size of the dictionaries in bytes
	arrow           *arrow.Schema
}

// NewStream reads the schema of a stream. The Stream ignores bytes after the end marker.
func NewStream(r io.Reader) (*Stream, error) {
	s := &Stream{frames: framer{r: bufio.NewReaderSize(r, 1<<16), dictionaries: true}}
	return s, s.start()
}

// NewFileOrStream reads the schema of a stream or of a file. The Stream usually reads sequentially. Unlike
// with [NewStream], bytes after the end are an error. Arrow's JavaScript library and Polars' sink_ipc write
// files whose schema is only in the footer. For such files and for [Stream.Skip], whole must be the file
// from which r reads. whole is nil if the file is not seekable.
func NewFileOrStream(r io.Reader, whole *io.SectionReader) (*Stream, error) {
	s := &Stream{frames: newFramer(bufio.NewReaderSize(r, 1<<16), true), exact: true, whole: whole}
	return s, s.start()
}

func (s *Stream) start() error {
	first, err := s.frames.next()
	if s.frames.isFile && (err == errFooter || err == nil && first.kind != headerSchema) {
		first, s.blocks, err = readFooter(s.whole)
	}
	switch {
	case err == io.EOF || err == errFooter:
		return errors.New("expected an Arrow IPC stream, found no schema message")
	case err != nil:
		return err
	case first.kind != headerSchema:
		return errNoSchema
	}
	s.schema = first
	s.arrow, err = decodeSchema(first)
	return err
}

// message reads the next message without its body. Its errors are those of [framer.begin]. If the footer
// is used, message returns io.EOF after the last block, and another error if a block has no message.
func (s *Stream) message() (*message, error) {
	if s.blocks == nil {
		return s.frames.begin()
	}
	if len(s.blocks) == 0 {
		return nil, io.EOF
	}
	at := s.blocks[0].offset
	s.blocks = s.blocks[1:]
	s.frames.r, s.frames.offset = io.NewSectionReader(s.whole, at, s.whole.Size()-at), at
	m, err := s.frames.begin()
	if err == io.EOF || err == errFooter {
		err = errors.New("expected a message at the offset in the footer")
	}
	return m, err
}

// finish checks the end of the source, because a damaged length may look like the end. It returns
// io.EOF if the end is valid.
func (s *Stream) finish() error {
	if !s.frames.isFile {
		return s.frames.end()
	}
	footer, err := s.frames.restFooter()
	if err != nil {
		return err
	}
	blocks, err := blocksOf(footer, footerBatches)
	if err == nil && len(blocks) != s.batches {
		err = fmt.Errorf("expected %d record batches as in the file, found %d", s.batches, len(blocks))
	}
	if err != nil {
		return fmt.Errorf("footer: %w", err)
	}
	return io.EOF
}

// Schema returns the stream's schema.
func (s *Stream) Schema() *arrow.Schema { return s.arrow }

// Next returns the next record batch. It returns io.EOF after the last batch if the stream ends
// there or has an end marker. Other errors are for a source that is damaged or truncated, exceeds a limit,
// or cannot be read.
func (s *Stream) Next() (arrow.Record, error) {
	m, err := s.batch()
	if err != nil {
		return nil, err
	}
	s.pending = nil
	if err := s.frames.complete(m); err != nil {
		return nil, err
	}
	messages := make([]*message, len(s.dictionaries))
	for i, d := range s.dictionaries {
		messages[i] = d.message
	}
	return decodeBatch(s.schema, m, messages...)
}

// batch returns the pending batch. Without a pending batch it first reads the next record batch without
// its body, and keeps the dictionaries before this batch.
func (s *Stream) batch() (*message, error) {
	if s.ended {
		return nil, io.EOF
	}
	for s.pending == nil {
		m, err := s.message()
		switch {
		case err == errFooter && s.frames.isFile:
			return nil, s.finish()
		case err == errFooter:
			return nil, fmt.Errorf("expected a message, found bytes %q", s.frames.head)
		case err == io.EOF && s.blocks != nil:
			return nil, io.EOF
		case err == io.EOF && s.frames.ended && s.exact:
			return nil, s.finish()
		case err == io.EOF && s.frames.isFile:
			return nil, &truncationError{"the file is truncated: it has no footer"}
		case err != nil:
			return nil, err
		case m.kind == headerDictionary:
			if err := s.frames.complete(m); err != nil {
				return nil, err
			}
			if err := s.addDictionary(m); err != nil {
				return nil, err
			}
		case m.kind != headerBatch:
			if err := s.frames.complete(m); err != nil { // complete refuses other kinds
				return nil, err
			}
			return nil, errSecondSchema
		default:
			s.batches++
			s.pending = m
		}
	}
	return s.pending, nil
}

// dictionary is a message with values to which batches refer by index.
type dictionary struct {
	*message
	id int64
}

// addDictionary adds a dictionary. A delta extends the dictionary with the same id; a dictionary that is
// not a delta replaces it. Some programs write a dictionary before each batch.
func (s *Stream) addDictionary(m *message) error {
	id, err := m.header.int(0, 8)
	if err != nil {
		return err
	}
	delta, err := m.header.int(2, 1)
	if err != nil {
		return err
	}
	if delta == 0 {
		s.dictionaries = slices.DeleteFunc(s.dictionaries, func(d dictionary) bool {
			if d.id == id {
				s.dictionaryBytes -= d.decoded
			}
			return d.id == id
		})
	}
	if s.dictionaryBytes += m.decoded; s.dictionaryBytes > MaxBody {
		return fmt.Errorf("the dictionaries exceed the limit of %d bytes", MaxBody)
	}
	s.dictionaries = append(s.dictionaries, dictionary{m, id})
	return nil
}

// Offset returns the offset of the next message. It is valid after NewStream and after a batch that Next
// returned without an error.
func (s *Stream) Offset() int64 { return s.frames.offset }
