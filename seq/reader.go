package seq

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/apache/arrow/go/v15/arrow"
)

// A Reader reads an Arrow IPC file or stream from its beginning to its end, one
// record batch at a time. It holds one batch, and 24 bytes for each batch read.
type Reader struct {
	name   string
	buffer *bufio.Reader
	closer io.Closer
	frames framer
	isFile bool // the file format, with a footer, not the stream format
	schema *message
	arrow  *arrow.Schema
	spec   *Spec
	blocks []block
	sums   []uint64 // of the batches, where somebody will read them again
	again  bool     // somebody will
	row    int64
	stated *statedChecksum // nil where nobody says what the file holds
	err    error           // the end, or what went wrong; final
}

// Open opens the file or stream at path; the name "-" is standard input.
func Open(path string) (*Reader, error) {
	if path == "-" {
		return NewReader(os.Stdin, "standard input")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	r, err := NewReader(f, path)
	if err != nil {
		f.Close()
		return nil, err
	}
	r.closer = f
	return r, nil
}

// NewReader reads the schema from r, whose format it recognises by the first
// bytes. Errors call the source by name.
func NewReader(r io.Reader, name string) (*Reader, error) {
	reader := &Reader{name: name, buffer: bufio.NewReaderSize(r, 1<<16)}
	reader.frames.r = reader.buffer
	if err := reader.start(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return reader, nil
}

func (r *Reader) start() error {
	head, err := r.buffer.Peek(8)
	switch {
	case len(head) == 0 && (err == nil || err == io.EOF):
		return errors.New("expected an Arrow IPC file or stream, found nothing: the file is empty")
	case err != nil && err != io.EOF:
		return err
	case string(head) == magic+"\x00\x00":
		r.isFile = true
		r.buffer.Discard(8)
		r.frames.offset = 8
	case len(head) < 8 || string(head[:4]) != "\xff\xff\xff\xff":
		return fmt.Errorf("expected an Arrow IPC file or stream, found something that begins with %q", head)
	}
	first, _, err := r.frames.next()
	if err == io.EOF || err == errFooter {
		err = errors.New("found none")
	}
	if err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	if first.kind != headerSchema {
		return errors.New("expected a schema as the first message, found a record batch")
	}
	r.schema = first
	if r.arrow, err = decodeSchema(first); err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	r.spec, err = SpecOf(r.arrow)
	return err
}

// Spec returns what the file's sequences are.
func (r *Reader) Spec() *Spec { return r.spec }

// Schema returns the file's Arrow schema.
func (r *Reader) Schema() *arrow.Schema { return r.arrow }

// IsFile reports whether the source is in the file format, else the stream's.
func (r *Reader) IsFile() bool { return r.isFile }

// Next returns the next record batch, or io.EOF after the last one. A source
// that ends too early is an error, never io.EOF.
func (r *Reader) Next() (*Rows, error) {
	if r.err != nil {
		return nil, r.err
	}
	rows, err := r.next()
	if err == io.EOF {
		if damaged := r.stated.compare(); damaged != nil {
			err = fmt.Errorf("%s: %w", r.name, damaged)
		}
	} else if err != nil {
		err = fmt.Errorf("%s: record batch %d: %w", r.name, len(r.blocks), err)
	}
	r.err = err
	return rows, err
}

func (r *Reader) next() (*Rows, error) {
	batch, head, err := r.frames.next()
	switch {
	case err == io.EOF || err == errFooter:
		return nil, r.finish(head[:], err)
	case err != nil:
		return nil, err
	case batch.kind != headerBatch:
		return nil, errors.New("expected a record batch, found a second schema")
	}
	rows, err := decodeRows(r.schema, batch, r.spec, r.row)
	if err != nil {
		return nil, err
	}
	r.blocks = append(r.blocks, batch.block())
	if r.again {
		r.sums = append(r.sums, batch.sum())
	}
	r.row += int64(rows.Len())
	return rows, nil
}

// decodeRows is the way from a checked message to validated rows.
func decodeRows(schema, batch *message, spec *Spec, first int64) (*Rows, error) {
	record, err := decodeBatch(schema, batch)
	if err != nil {
		return nil, err
	}
	return rowsOf(record, spec, first)
}

// finish checks that the end is where it should be and returns io.EOF if so.
// head are the last four bytes read, end tells how the messages ended.
func (r *Reader) finish(head []byte, end error) error {
	marked := end == io.EOF && string(head) == "\xff\xff\xff\xff"
	switch {
	case r.isFile && end == errFooter:
		// The first bytes of the footer were taken for a message's.
		if err := checkFooter(r.buffer, head, r.blocks); err != nil {
			return err
		}
	case r.isFile:
		if err := checkFooter(r.buffer, nil, r.blocks); err != nil {
			return err
		}
	case end == errFooter:
		return fmt.Errorf("expected a message, found bytes %q", head)
	case !marked:
		return fmt.Errorf("the stream ends without its end marker; it was cut off: %w", io.ErrUnexpectedEOF)
	default:
		if _, err := r.buffer.ReadByte(); err != io.EOF {
			return errors.Join(errors.New("expected nothing after the stream's end marker, found more"), err)
		}
	}
	return io.EOF
}

// Close closes the file that Open opened. After NewReader it does nothing.
func (r *Reader) Close() error {
	if r.closer == nil {
		return nil
	}
	return r.closer.Close()
}
