// Package source opens a file or standard input, plain or compressed by gzip or Zstandard, for
// sequential reading. It splits lines of numbers into words, and counts the rows that a conversion
// skips.
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

// StandardInput is the file name that means standard input.
const StandardInput = "-"

// A Source is the decompressed content of a file.
type Source struct {
	*bufio.Reader
	Name  string // name in errors
	file  *os.File
	input bool // standard input, which Close does not close
	plain bool // not compressed
}

// Open opens a file or standard input. It passes the number of bytes of each read from the file, before
// decompression, to progress, which may be nil. After ctx ends, reading the file fails with ctx's error.
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

// Whole returns the file for random access; nil for a pipe and for a compressed file.
func (s *Source) Whole() *io.SectionReader {
	info, err := s.file.Stat()
	if err != nil || !s.plain || !info.Mode().IsRegular() {
		return nil
	}
	return io.NewSectionReader(s.file, 0, info.Size())
}

// bufferBytes is the size of the read buffer.
const bufferBytes = 64 << 10

// First bytes of compressed data.
const (
	gzipMagic = "\x1f\x8b"
	zstdMagic = "\x28\xb5\x2f\xfd"
)

// MaxWindow is the maximum window size of a Zstandard stream, in bytes. It limits the decoder's memory.
const MaxWindow = 128 << 20

// Decompress returns a reader of decompressed data. It recognises gzip and Zstandard by their first
// bytes, and returns other data unchanged.
func Decompress(r io.Reader) (*bufio.Reader, error) {
	plain, _, err := decompress(r)
	return plain, err
}

// decompress is like Decompress and also returns the name of the compression, or "" for other data.
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
		// the decoder needs no Close
		inner, err = zstd.NewReader(buffer, zstd.WithDecoderMaxWindow(MaxWindow), zstd.WithDecoderConcurrency(1))
	default:
		return buffer, "", nil
	}
	if err != nil {
		return nil, format, err
	}
	return bufio.NewReaderSize(compressed{inner, format}, bufferBytes), format, nil
}

// compressed is a reader that adds an explanation to errors of truncated data.
type compressed struct {
	io.Reader
	format string
}

func (c compressed) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	if err == io.ErrUnexpectedEOF {
		err = fmt.Errorf("the file is incomplete: the %s data end too early (%w)", c.format, err)
	}
	return n, err
}

// Watch returns a reader that passes the number of bytes of each read to progress, which may be nil,
// and fails when ctx ends.
func Watch(ctx context.Context, r io.Reader, progress func(bytes int64)) io.Reader {
	return &watched{ctx, r, progress}
}

// watched is the reader of Watch.
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
	err = atomicfile.Cause(err) // the caller names the file
	if w.progress != nil {
		w.progress(int64(n))
	}
	return n, err
}
