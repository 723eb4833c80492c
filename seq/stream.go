package seq

import (
	"bufio"
	"errors"
	"io"

	"github.com/apache/arrow/go/v15/arrow"
)

// Stream reads the record batches of an Arrow IPC stream of any schema, message
// by message. A stream that ends anywhere is read up to its last whole message.
type Stream struct {
	frames framer
	schema *message
	arrow  *arrow.Schema
}

// NewStream reads the schema.
func NewStream(r io.Reader) (*Stream, error) {
	s := &Stream{frames: framer{r: bufio.NewReaderSize(r, 1<<16)}}
	first, _, err := s.frames.next()
	switch {
	case err == io.EOF || err == errFooter:
		return nil, errors.New("expected an Arrow IPC stream")
	case err != nil:
		return nil, err
	case first.kind != headerSchema:
		return nil, errors.New("expected a schema as the first message, found a record batch")
	}
	s.schema = first
	s.arrow, err = decodeSchema(first)
	return s, err
}

// Schema returns the stream's schema.
func (s *Stream) Schema() *arrow.Schema { return s.arrow }

// Next returns the next record batch, or io.EOF after the last, where the stream
// has an end marker or nothing more. Any other error is of a message that is
// damaged or cut off.
func (s *Stream) Next() (arrow.Record, error) {
	batch, _, err := s.frames.next()
	switch {
	case err == errFooter:
		return nil, errors.New("expected a message, found something else")
	case err != nil:
		return nil, err
	case batch.kind != headerBatch:
		return nil, errors.New("expected a record batch, found a second schema")
	}
	return decodeBatch(s.schema, batch)
}

// Offset is where the next message begins, after one that was whole.
func (s *Stream) Offset() int64 { return s.frames.offset }
