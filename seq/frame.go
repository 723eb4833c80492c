package seq

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/zeebo/xxh3"
)

// The limits of one message; see the package's documentation.
const (
	maxMetadata = 1 << 20
	maxBody     = 1 << 30
)

// continuation begins every message since Arrow 0.15.
const continuation = 0xFFFFFFFF

// A message is one framed and checked unit of an IPC file or stream.
type message struct {
	offset  int64 // of its first byte
	kind    int   // headerSchema or headerBatch
	meta    []byte
	body    []byte
	decoded int64 // bytes that decoding the body takes
}

// sum is a checksum of the message.
func (m *message) sum() uint64 { return xxh3.HashSeed(m.body, xxh3.Hash(m.meta)) }

// errFooter is what a framer returns in place of a message where a file's
// footer begins: it has no continuation marker.
var errFooter = errors.New("no message but the footer")

// A framer cuts a byte stream into messages.
type framer struct {
	r            io.Reader
	offset       int64
	dictionaries bool // are accepted
	ended        bool // by an end marker
}

// next returns the next message, io.EOF at the stream's end (with or without
// its end marker), or errFooter with the four bytes that it has read already.
func (f *framer) next() (*message, [4]byte, error) {
	var word [4]byte
	start := f.offset
	n, err := io.ReadFull(f.r, word[:])
	f.offset += int64(n)
	if err == io.EOF {
		return nil, word, io.EOF
	}
	if err != nil {
		return nil, word, truncated(err, "a message's start")
	}
	if binary.LittleEndian.Uint32(word[:]) != continuation {
		return nil, word, errFooter
	}
	size, err := f.read(4, "a message's length")
	if err != nil {
		return nil, word, err
	}
	length := binary.LittleEndian.Uint32(size)
	if length == 0 {
		f.ended = true
		return nil, word, io.EOF
	}
	if length > maxMetadata || length%8 != 0 {
		return nil, word, fmt.Errorf("metadata length: expected a multiple of 8 up to %d, found %d", maxMetadata, length)
	}
	m := &message{offset: start}
	if m.meta, err = f.read(int64(length), "a message's metadata"); err != nil {
		return nil, word, err
	}
	kind, header, bodyLength, err := parseHeader(m.meta)
	if err != nil {
		return nil, word, err
	}
	if bodyLength < 0 || bodyLength > maxBody || bodyLength%8 != 0 {
		return nil, word, fmt.Errorf("body length: expected a multiple of 8 up to %d, found %d", maxBody, bodyLength)
	}
	if m.body, err = f.read(bodyLength, "a message's body"); err != nil {
		return nil, word, err
	}
	m.kind = kind
	switch kind {
	case headerSchema:
		err = checkSchema(header)
	case headerBatch:
		m.decoded, err = checkBatch(header, m.body)
	case headerDictionary:
		if f.dictionaries {
			m.decoded, err = checkDictionary(header, m.body)
			break
		}
		err = errors.New("dictionary-encoded columns are not supported: expected plain ones")
	default:
		err = fmt.Errorf("message kind %d: expected a schema or a record batch", kind)
	}
	return m, word, err
}

// read returns exactly n bytes. Memory grows with what arrives, not with what
// was announced.
func (f *framer) read(n int64, what string) ([]byte, error) {
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
			return nil, truncated(err, fmt.Sprintf("%s of %d bytes", what, n))
		}
	}
	return buf, nil
}

// truncated says what was cut off; other errors are the reader's own.
func truncated(err error, what string) error {
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("the file ends within %s: %w", what, io.ErrUnexpectedEOF)
	}
	return fmt.Errorf("reading %s: %w", what, err)
}
