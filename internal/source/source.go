// Package source opens a file or standard input, plain or compressed by gzip or Zstandard, for reading
// from its beginning to its end, cuts lines of numbers into words, and counts the rows that a conversion
// skips there.
package source

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/sftseq/sftseq/internal/atomicfile"
)

// StandardInput is the name of what comes through a pipe.
const StandardInput = "-"

// A Source is the bytes of a file, decompressed.
type Source struct {
	*bufio.Reader
	Name  string // how errors call it
	file  *os.File
	input bool // it is standard input, which is not closed
	plain bool // it is not compressed
}

// Open opens a file, or standard input. Progress, which may be nil, is told of the bytes
// of the file itself; reading ends with ctx.
func Open(ctx context.Context, path string, progress func(bytes int64)) (*Source, error) {
	s := &Source{Name: path}
	var err error
	if path == StandardInput {
		s.Name, s.file, s.input = "standard input", os.Stdin, true
	} else if s.file, err = os.Open(path); err != nil {
		return nil, err
	}
	var format string
	if s.Reader, format, err = decompress(Watch(ctx, s.file, progress)); err != nil {
		s.Close()
		return nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	s.plain = format == ""
	return s, nil
}

// Close closes the file.
func (s *Source) Close() error {
	if s.input {
		return nil
	}
	return s.file.Close()
}

// Whole is the file, for those that read here and there; nil for a pipe and for what is
// compressed.
func (s *Source) Whole() *io.SectionReader {
	info, err := s.file.Stat()
	if err != nil || !s.plain || !info.Mode().IsRegular() {
		return nil
	}
	return io.NewSectionReader(s.file, 0, info.Size())
}

// bufferBytes is how much is read at once.
const bufferBytes = 64 << 10

// The first bytes of what is compressed.
const (
	gzipMagic = "\x1f\x8b"
	zstdMagic = "\x28\xb5\x2f\xfd"
)

// MaxWindow bounds the memory that a Zstandard stream may ask for.
const MaxWindow = 128 << 20

// Decompress reads what is compressed by gzip or Zstandard, as its first bytes say, and
// everything else as it is.
func Decompress(r io.Reader) (*bufio.Reader, error) {
	plain, _, err := decompress(r)
	return plain, err
}

// decompress also says by what it is compressed.
func decompress(r io.Reader) (plain *bufio.Reader, format string, err error) {
	buffer := bufio.NewReaderSize(r, bufferBytes)
	head, _ := buffer.Peek(len(zstdMagic))
	var inner io.Reader
	switch {
	case strings.HasPrefix(string(head), gzipMagic):
		format = "gzip"
		inner, err = gzip.NewReader(buffer)
	case string(head) == zstdMagic:
		format = "Zstandard"
		// which has nothing to close
		inner, err = zstd.NewReader(buffer, zstd.WithDecoderMaxWindow(MaxWindow), zstd.WithDecoderConcurrency(1))
	default:
		return buffer, "", nil
	}
	if err != nil {
		return nil, format, err
	}
	return bufio.NewReaderSize(compressed{inner, format}, bufferBytes), format, nil
}

// compressed says of data that end too early what that means.
type compressed struct {
	io.Reader
	format string
}

func (c compressed) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	if err == io.ErrUnexpectedEOF {
		err = fmt.Errorf("the %s data end too early: the file is incomplete: %w", c.format, err)
	}
	return n, err
}

// Watch tells progress, which may be nil, of what is read, and ends the reading with
// ctx.
func Watch(ctx context.Context, r io.Reader, progress func(bytes int64)) io.Reader {
	return &watched{ctx, r, progress}
}

type watched struct {
	ctx      context.Context
	in       io.Reader
	progress func(bytes int64)
}

func (w *watched) Read(b []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := w.in.Read(b)
	err = atomicfile.Cause(err) // whoever reads names the file
	if w.progress != nil {
		w.progress(int64(n))
	}
	return n, err
}
