package arrowipc

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow/go/v15/arrow"
)

// A Reader reads a whole file or stream without dictionaries, one record batch at a time. It holds
// one batch, and 24 bytes for each batch read.
type Reader struct {
	frames framer
	schema *message
	arrow  *arrow.Schema
	blocks []block
	places *Places // nil unless the batches will be read again
}

// NewReader reads the schema from r, whose format it recognises by the first bytes.
func NewReader(r io.Reader) (*Reader, error) {
	buffer := bufio.NewReaderSize(r, 1<<16)
	head, err := buffer.Peek(len(fileStart))
	switch {
	case len(head) == 0 && (err == nil || err == io.EOF):
		return nil, errors.New("expected an Arrow IPC file or stream, found nothing: the file is empty")
	case err != nil && err != io.EOF:
		return nil, err
	case string(head) != fileStart && (len(head) < len(fileStart) || string(head[:4]) != Continuation):
		return nil, fmt.Errorf("expected an Arrow IPC file or stream, found something that begins with %q", head)
	}
	reader := &Reader{frames: newFramer(buffer, false)}
	return reader, reader.start()
}

func (r *Reader) start() error {
	first, err := r.frames.next()
	if err == io.EOF || err == errFooter {
		err = errors.New("found none")
	}
	if err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	if first.kind != headerSchema {
		return errNoSchema
	}
	r.schema = first
	if r.arrow, err = decodeSchema(first); err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	return nil
}

// Schema returns the schema of the record batches.
func (r *Reader) Schema() *arrow.Schema { return r.arrow }

// IsFile reports whether the source is in the file format rather than the stream format.
func (r *Reader) IsFile() bool { return r.frames.isFile }

// Next returns the next record batch, or io.EOF after the last one and a valid end. A truncated
// source is an error, never io.EOF. After an error nothing more can be read.
func (r *Reader) Next() (arrow.Record, error) {
	batch, err := r.frames.next()
	switch {
	case err == io.EOF || err == errFooter:
		return nil, r.finish(err)
	case err != nil:
		return nil, err
	case batch.kind != headerBatch:
		return nil, errSecondSchema
	}
	record, err := decodeBatch(r.schema, batch)
	if err != nil {
		return nil, err
	}
	r.blocks = append(r.blocks, batch.block())
	if r.places != nil {
		r.places.add(batch)
	}
	return record, nil
}

// finish checks the end of the source, after the messages ended with the error end, and returns
// io.EOF if it is valid.
func (r *Reader) finish(end error) error {
	switch {
	case r.frames.isFile:
		if err := r.frames.checkFooter(r.blocks); err != nil {
			return err
		}
		return io.EOF
	case end == errFooter:
		return fmt.Errorf("expected a message, found bytes %q", r.frames.head)
	case !r.frames.ended:
		return fmt.Errorf("the stream ends without its end marker; it was cut off: %w", io.ErrUnexpectedEOF)
	}
	return r.frames.end()
}
