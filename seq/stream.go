package seq

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow/go/v15/arrow"
)

// Stream reads the record batches of an Arrow IPC stream of any schema, message
// by message. A stream that ends anywhere is read up to its last whole message.
type Stream struct {
	frames       framer
	isFile       bool // its end is a footer
	schema       *message
	dictionaries []*message // so far
	held         int64      // bytes of them
	arrow        *arrow.Schema
}

// NewStream reads the schema of a stream.
func NewStream(r io.Reader) (*Stream, error) {
	s := &Stream{frames: framer{r: bufio.NewReaderSize(r, 1<<16), dictionaries: true}}
	return s, s.start()
}

// NewAnyStream reads the schema of a stream or of a file, which is read from its
// beginning to its end, too.
func NewAnyStream(r io.Reader) (*Stream, error) {
	buffer := bufio.NewReaderSize(r, 1<<16)
	s := &Stream{frames: framer{r: buffer, dictionaries: true}}
	if head, _ := buffer.Peek(8); string(head) == magic+"\x00\x00" {
		s.isFile = true
		buffer.Discard(8)
		s.frames.offset = 8
	}
	return s, s.start()
}

func (s *Stream) start() error {
	first, _, err := s.frames.next()
	switch {
	case err == io.EOF || err == errFooter:
		return errors.New("expected an Arrow IPC stream")
	case err != nil:
		return err
	case first.kind != headerSchema:
		return errors.New("expected a schema as the first message, found a record batch")
	}
	s.schema = first
	s.arrow, err = decodeSchema(first)
	return err
}

// Schema returns the stream's schema.
func (s *Stream) Schema() *arrow.Schema { return s.arrow }

// Next returns the next record batch, or io.EOF after the last, where the stream
// has an end marker or nothing more. Any other error is of a message that is
// damaged or cut off.
func (s *Stream) Next() (arrow.Record, error) {
	for {
		m, _, err := s.frames.next()
		switch {
		case err == errFooter && s.isFile:
			return nil, io.EOF
		case err == errFooter:
			return nil, errors.New("expected a message, found something else")
		case err == io.EOF && s.isFile && s.frames.ended:
			return nil, io.EOF
		case err == io.EOF && s.isFile:
			return nil, fmt.Errorf("the file ends without a footer: %w", io.ErrUnexpectedEOF)
		case err != nil:
			return nil, err
		case m.kind == headerDictionary:
			if s.held += m.decoded; s.held > maxBody {
				return nil, fmt.Errorf("the dictionaries take more than the limit of %d bytes", maxBody)
			}
			s.dictionaries = append(s.dictionaries, m)
		case m.kind != headerBatch:
			return nil, errors.New("expected a record batch, found a second schema")
		default:
			return decodeBatch(s.schema, m, s.dictionaries...)
		}
	}
}

// Offset is where the next message begins, after one that was whole.
func (s *Stream) Offset() int64 { return s.frames.offset }
