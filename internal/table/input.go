package table

import (
	"bufio"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// input is the bytes of a file, decompressed.
type input struct {
	io.Reader
	name   string
	plain  *os.File // where it is not compressed
	closes []func() error
}

// The first bytes of what is compressed.
const (
	gzipMagic = "\x1f\x8b"
	zstdMagic = "\x28\xb5\x2f\xfd"
)

// maxWindow bounds the memory that a Zstandard stream may ask for.
const maxWindow = 128 << 20

// openInput opens a file and looks by its first bytes whether it is compressed.
func openInput(path string, progress func(bytes int64)) (*input, error) {
	in := &input{name: path}
	file := os.Stdin
	if path == StandardInput {
		in.name = "standard input"
	} else {
		var err error
		if file, err = os.Open(path); err != nil {
			return nil, err
		}
		in.closes = append(in.closes, file.Close)
	}
	buffer := bufio.NewReader(counter{file, progress}) // which larger reads pass by
	head, _ := buffer.Peek(4)
	in.Reader = buffer
	var err error
	switch {
	case len(head) >= 2 && string(head[:2]) == gzipMagic:
		var r io.Reader
		r, err = gzip.NewReader(buffer)
		in.Reader = compressed{r, "gzip"}
	case string(head) == zstdMagic:
		var d *zstd.Decoder
		if d, err = zstd.NewReader(buffer, zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderConcurrency(1)); err == nil {
			in.Reader = compressed{d, "Zstandard"}
			in.closes = append(in.closes, func() error { d.Close(); return nil })
		}
	}
	if err != nil {
		in.Close()
		return nil, fmt.Errorf("%s: %w", in.name, err)
	}
	if in.Reader == buffer {
		in.plain = file
	}
	return in, nil
}

// whole is the file, for those that are to be read here and there, nil for a pipe and
// for what is compressed.
func (i *input) whole() *io.SectionReader {
	if i.plain == nil {
		return nil
	}
	info, err := i.plain.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	return io.NewSectionReader(i.plain, 0, info.Size())
}

// compressed says of data that end too early what that means.
type compressed struct {
	io.Reader
	format string
}

func (w compressed) Read(b []byte) (int, error) {
	n, err := w.Reader.Read(b)
	if err == io.ErrUnexpectedEOF {
		err = fmt.Errorf("the %s data end too early: the file is incomplete: %w", w.format, err)
	}
	return n, err
}

// Close closes the file.
func (i *input) Close() (err error) {
	for _, f := range i.closes {
		if e := f(); err == nil {
			err = e
		}
	}
	return err
}

// counter tells progress of what is read.
type counter struct {
	io.Reader
	progress func(bytes int64)
}

func (c counter) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	if c.progress != nil {
		c.progress(int64(n))
	}
	return n, err
}
