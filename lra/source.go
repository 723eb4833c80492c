package lra

import (
	"bufio"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// A source is a file that is read from its beginning to its end, plain or
// compressed by gzip, and told of as it is.
type source struct {
	*bufio.Reader
	path string
	file *os.File
}

// openSource opens a file. Progress is told of the bytes of the file itself;
// reading ends with ctx.
func openSource(ctx context.Context, path string, progress func(bytes int64)) (*source, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	plain, err := inflate(io.TeeReader(file, progressWriter{ctx, progress}))
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &source{plain, path, file}, nil
}

// Close closes the file.
func (s *source) Close() error { return s.file.Close() }

// inflate reads what gzip has compressed, and everything else as it is.
func inflate(r io.Reader) (*bufio.Reader, error) {
	buffer := bufio.NewReaderSize(r, 1<<16)
	if head, _ := buffer.Peek(2); string(head) != "\x1f\x8b" {
		return buffer, nil
	}
	plain, err := gzip.NewReader(buffer)
	if err != nil {
		return nil, err
	}
	return bufio.NewReaderSize(plain, 1<<16), nil
}

// A progressWriter reports bytes read and stops the reading by an error once
// the context is done.
type progressWriter struct {
	ctx    context.Context
	report func(int64)
}

func (p progressWriter) Write(b []byte) (int, error) {
	if p.report != nil {
		p.report(int64(len(b)))
	}
	return len(b), p.ctx.Err()
}

// findOfficial is the path of an official file in a directory, plain or compressed.
func findOfficial(dir, name string) (string, error) {
	for _, path := range []string{filepath.Join(dir, name), filepath.Join(dir, name+".gz")} {
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s: %s is missing (or %s.gz)", dir, name, name)
}

// findAll are the paths of several.
func findAll(dir string, names ...string) (paths []string, err error) {
	for _, name := range names {
		path, err := findOfficial(dir, name)
		if err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// sizeOf is what there is to read of files, for the progress.
func sizeOf(paths ...string) (bytes int64) {
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			bytes += info.Size()
		}
	}
	return bytes
}

// isDir reports whether a path is a directory; an error says that nothing is there.
func isDir(path string) (bool, error) {
	info, err := os.Stat(path)
	if err != nil {
		return false, err
	}
	return info.IsDir(), nil
}
