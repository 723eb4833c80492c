package lra

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sftseq/sftseq/internal/atomicfile"
	"github.com/sftseq/sftseq/internal/source"
)

// walkFiles calls read for every regular file of a directory or of a tar archive, plain or
// compressed. The name is the file's path relative to the root, with / as the separator. An archive
// may have its files in any order.
func walkFiles(ctx context.Context, from string, progress func(bytes int64),
	read func(name string, r io.Reader) error) error {
	directory, err := isDir(from)
	if err != nil {
		return err
	}
	if !directory {
		return walkArchive(ctx, from, progress, read)
	}
	return fs.WalkDir(os.DirFS(from), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return atomicfile.WalkError(from, name, err)
		}
		if !entry.Type().IsRegular() {
			return nil
		}
		file, err := os.Open(filepath.Join(from, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		defer file.Close()
		return read(name, source.Watch(ctx, file, progress))
	})
}

// walkArchive implements walkFiles for an archive.
func walkArchive(ctx context.Context, from string, progress func(bytes int64),
	read func(name string, r io.Reader) error) error {
	s, err := source.Open(ctx, from, progress)
	if err != nil {
		return err
	}
	defer s.Close()
	archive := tar.NewReader(s)
	for {
		header, err := archive.Next()
		if err == io.EOF {
			return nil
		}
		if errors.Is(err, tar.ErrHeader) {
			return fmt.Errorf("%s: expected a folder or a tar archive, found another file (convert a table with "+
				"sftseq data convert --from)", from)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", from, err)
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		if err := read(header.Name, archive); err != nil {
			return err
		}
	}
}

// SizeBelow returns the number of bytes of a file, or of all files below a directory, for progress
// reports. Files whose size is unknown count as 0 bytes.
func SizeBelow(from string) (bytes int64) {
	filepath.WalkDir(from, func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			if info, err := entry.Info(); err == nil {
				bytes += info.Size()
			}
		}
		return nil // reading the file later reports the error
	})
	return bytes
}
