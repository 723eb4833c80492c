package files

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/sftseq/sftseq/internal/atomicfile"
)

// opener opens files. It keeps the last zip archive open, because the files of an archive follow each
// other.
type opener struct {
	name string
	zip  *zip.ReadCloser // open archive at the path name; nil means none
}

func (o *opener) close() error {
	if o.zip == nil {
		return nil
	}
	err := o.zip.Close()
	o.name, o.zip = "", nil
	return err
}

// with passes the content and the size of a file to the function use. It decompresses a file in an
// archive.
func (o *opener) with(f *File, use func(r io.ReaderAt, size int64) error) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: %w", f.Name(), err)
		}
	}()
	if f.Member != "" {
		content, err := o.member(f)
		if err != nil {
			return err
		}
		return use(bytes.NewReader(content), int64(len(content)))
	}
	return withFile(f.Path, use)
}

// withFile passes the content and the size of a regular file to the function use.
func withFile(path string, use func(r io.ReaderAt, size int64) error) error {
	file, err := atomicfile.OpenRegular(path)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	return use(file, info.Size())
}

// member returns the content of a file in an archive.
func (o *opener) member(f *File) ([]byte, error) {
	if filepath.Ext(f.Path) == ".gz" {
		file, err := atomicfile.OpenRegular(f.Path)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		r, err := gzip.NewReader(file)
		if err != nil {
			return nil, err
		}
		return readAll(r)
	}
	if o.name != f.Path {
		if err := o.close(); err != nil {
			return nil, err
		}
		archive, err := zip.OpenReader(f.Path)
		if err != nil {
			return nil, err
		}
		o.name, o.zip = f.Path, archive
	}
	r, err := o.zip.Open(f.Member)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return readAll(r)
}

// readAll reads a decompressed file. A file of more than maxMember bytes is an error.
func readAll(r io.Reader) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(r, maxMember+1))
	if err == nil && len(content) > maxMember {
		return nil, errors.New("the file has more than 16 MiB")
	}
	return content, err
}
