package arrowipc

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow/go/v15/arrow"
)

// A Reader reads a complete file or stream without dictionaries, one record batch at a time. It holds
// one batch in memory, plus 24 bytes for each batch that it has read, and 32 more with [Reader.Places].
type Reader struct {
	frames framer
	schema *message
	arrow  *arrow.Schema
	blocks []block
	places *Places // nil unless the caller records locations
}

// NewReader reads the schema from r. The first bytes determine whether r is a file or a stream.
func NewReader(r io.Reader) (*Reader, error) {
	buffer := bufio.NewReaderSize(r, 1<<16)
	head, err := buffer.Peek(len(fileStart))
	switch {
	case len(head) == 0 && (err == nil || err == io.EOF):
		return nil, errors.New("expected an Arrow IPC file or stream, found an empty file")
	case err != nil && err != io.EOF:
		return nil, err
	case string(head) != fileStart && (len(head) < len(fileStart) || string(head[:4]) != Continuation):
		return nil, fmt.Errorf("expected an Arrow IPC file or stream, found data that begins with %q: sftseq data "+
			"convert "+
			"reads tables of other formats", head)
	}
	reader := &Reader{frames: newFramer(buffer, false)}
	return reader, reader.start()
}

func (r *Reader) start() error {
	first, err := r.frames.next()
	switch {
	case err == io.EOF && !r.frames.ended:
		return &truncationError{"the file is truncated: it ends before the schema"}
	case err == io.EOF || err == errFooter:
		return errors.New("expected a schema as the first message, found none")
	case err != nil:
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

// IsFile reports whether the source has the file format, not the stream format.
func (r *Reader) IsFile() bool { return r.frames.isFile }

// Next returns the next record batch. It returns io.EOF after the last batch if the end of the
// source is valid. After any other error, such as a truncated source, no more batches can be read.
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

// finish checks the end of the source. end is the error that ended the messages. finish returns
// io.EOF if the end is valid.
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
		return &truncationError{"the file is truncated: the stream has no end marker"}
	}
	return r.frames.end()
}
