package arrowipc

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/zeebo/xxh3"
)

// Limits of a message: bytes of its metadata, and of its body before and after decompression.
const (
	maxMetadata = 1 << 20
	MaxBody     = 1 << 30
)

// Every message since Arrow 0.15 begins with Continuation. EndMarker, a message with empty
// metadata, ends a stream.
const (
	Continuation = "\xff\xff\xff\xff"
	EndMarker    = Continuation + "\x00\x00\x00\x00"
)

// A message is a checked message of an IPC file or stream.
type message struct {
	offset  int64 // offset of the first byte of the message
	kind    int   // headerSchema, headerBatch or headerDictionary
	header  flatTable
	meta    []byte
	size    int64 // size of the body in bytes
	body    []byte
	decoded int64 // size of the decoded body in bytes
}

// sum returns a checksum of the message.
func (m *message) sum() uint64 { return xxh3.HashSeed(m.body, xxh3.Hash(m.meta)) }

// Errors for messages in the wrong order, and for dictionaries.
var (
	errNoSchema     = errors.New("expected a schema as the first message, found a record batch")
	errSecondSchema = errors.New("expected a record batch, found a second schema")
	errDictionaries = errors.New("dictionary-encoded columns are not supported: expected plain columns")
)

// errFooter is returned instead of a message at bytes other than a continuation marker, such as the
// start of a file's footer.
var errFooter = errors.New("expected a message, found the footer")

// A framer splits a byte stream into messages.
type framer struct {
	r            io.Reader
	offset       int64
	dictionaries bool   // whether dictionaries are accepted
	isFile       bool   // file format, which ends with a footer, instead of stream format
	ended        bool   // an end marker was read
	head         []byte // bytes that were read but are not part of a message
}

// fileStart is the magic at the beginning of an IPC file, padded to 8 bytes.
const fileStart = magic + "\x00\x00"

// newFramer returns a framer for the messages of a stream or a file. The messages of a file begin after
// the magic.
func newFramer(buffer *bufio.Reader, dictionaries bool) framer {
	f := framer{r: buffer, dictionaries: dictionaries}
	if head, _ := buffer.Peek(len(fileStart)); string(head) == fileStart {
		f.isFile = true
		f.offset = int64(len(fileStart))
		buffer.Discard(len(fileStart))
	}
	return f
}

// next returns the next message. It returns io.EOF at an end marker, and at the end of the source. At
// other bytes that do not begin a message, such as the footer of a file without an end marker, next
// returns errFooter and keeps the bytes that it has read in f.head.
func (f *framer) next() (*message, error) {
	m, err := f.begin()
	if err != nil {
		return nil, err
	}
	return m, f.complete(m)
}

// begin reads the next message without its body.
func (f *framer) begin() (*message, error) {
	var word [4]byte
	start := f.offset
	n, err := io.ReadFull(f.r, word[:])
	f.offset += int64(n)
	if err == io.EOF {
		return nil, io.EOF
	}
	if err != nil {
		return nil, truncated(err, "a message's start")
	}
	if string(word[:]) != Continuation {
		f.head = word[:]
		return nil, errFooter
	}
	size, err := f.read(4, "a message's length")
	if err != nil {
		return nil, err
	}
	length := binary.LittleEndian.Uint32(size)
	if length == 0 {
		f.ended = true
		return nil, io.EOF
	}
	if length > maxMetadata || length%8 != 0 {
		return nil, fmt.Errorf("metadata length: expected a multiple of 8 up to %d, found %d", maxMetadata, length)
	}
	m := &message{offset: start}
	if m.meta, err = f.read(int64(length), "a message's metadata"); err != nil {
		return nil, err
	}
	m.kind, m.header, m.size, err = parseHeader(m.meta)
	if err != nil {
		return nil, err
	}
	if m.size < 0 || m.size > MaxBody || m.size%8 != 0 {
		return nil, fmt.Errorf("body length: expected a multiple of 8 up to %d, found %d", MaxBody, m.size)
	}
	return m, nil
}

// complete reads the body of a message, and checks the message according to its kind.
func (f *framer) complete(m *message) (err error) {
	if m.body, err = f.read(m.size, "a message's body"); err != nil {
		return err
	}
	switch m.kind {
	case headerSchema:
		err = checkSchema(m.header)
	case headerBatch:
		m.decoded, err = checkBatch(m.header, m.body)
	case headerDictionary:
		if f.dictionaries {
			m.decoded, err = checkDictionary(m.header, m.body)
			break
		}
		err = errDictionaries
	default:
		err = fmt.Errorf("message kind %d: expected a schema or a record batch", m.kind)
	}
	return err
}

// end returns io.EOF after a stream's end marker, or an error if more bytes follow.
func (f *framer) end() error {
	if n, err := io.ReadFull(f.r, make([]byte, 1)); n > 0 || err != io.EOF {
		return errors.Join(errors.New("expected the end of the file after the stream's end marker, found more data"), err)
	}
	return io.EOF
}

// read returns exactly n bytes. Its memory grows with the bytes that arrive, not with n.
func (f *framer) read(n int64, part string) ([]byte, error) {
	buf := make([]byte, 0, min(n, 1<<20))
	for int64(len(buf)) < n {
		if len(buf) == cap(buf) {
			grown := make([]byte, len(buf), min(n, 2*int64(cap(buf))))
			copy(grown, buf)
			buf = grown
		}
		got, err := io.ReadFull(f.r, buf[len(buf):cap(buf)])
		f.offset += int64(got)
		buf = buf[:len(buf)+got]
		if err != nil {
			return nil, truncated(err, fmt.Sprintf("%s of %d bytes", part, n))
		}
	}
	return buf, nil
}

// truncationError is the error of a source that ends too early. It wraps io.ErrUnexpectedEOF.
type truncationError struct{ text string }

func (e *truncationError) Error() string { return e.text + ": copy or create it again" }

func (e *truncationError) Unwrap() error { return io.ErrUnexpectedEOF }

// truncated converts an end of the source to an error that names the truncated part. It adds the part
// to all other errors.
func truncated(err error, part string) error {
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		return &truncationError{"the file is truncated: it ends within " + part}
	}
	return fmt.Errorf("reading %s: %w", part, err)
}
