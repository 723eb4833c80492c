package lra

import (
	"archive/tar"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sftseq/sftseq/internal/source"
)

// eachFile calls read for every file of a directory, or of a tar archive, plain or
// compressed by gzip, with its name within it, in which / separates folders. What is
// within an archive has any order.
func eachFile(ctx context.Context, from string, progress func(bytes int64),
	read func(name string, r io.Reader) error) error {
	whole, err := isDir(from)
	if err != nil {
		return err
	}
	if !whole {
		return eachMember(ctx, from, progress, read)
	}
	return fs.WalkDir(os.DirFS(from), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		file, err := os.Open(filepath.Join(from, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		defer file.Close()
		return read(name, source.Watch(ctx, file, progress))
	})
}

// eachMember is eachFile for an archive.
func eachMember(ctx context.Context, from string, progress func(bytes int64),
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

// SizeBelow is what there is to read of a file or of all below a directory, for a
// progress: 0 if it cannot be told.
func SizeBelow(from string) (bytes int64) {
	filepath.WalkDir(from, func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			if info, err := entry.Info(); err == nil {
				bytes += info.Size()
			}
		}
		return nil // what cannot be read is found when it is
	})
	return bytes
}
