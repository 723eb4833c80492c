package shard

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sftseq/sftseq/internal/table"
)

// Input are files, one behind the other in the order of their paths.
type Input struct {
	Files []File
	Named []string // what rows are called by, see [table.NewNames]
}

// File is a file of an input.
type File struct {
	Path, Format string
	table.Extent
}

// formats are those that can be cut.
var formats = []string{"arrow", "parquet", "jsonl"}

// Find looks at files, at all files in directories, and at those that patterns such as
// data/*.parquet match. The format is that of all files, or "" where their names say it.
func Find(ctx context.Context, named []string, format string) (*Input, error) {
	in := &Input{}
	var paths []string
	for _, name := range named {
		found, err := expand(name)
		if err != nil {
			return nil, err
		}
		if info, err := os.Stat(name); err == nil && info.IsDir() {
			in.Named = append(in.Named, name)
		} else {
			in.Named = append(in.Named, found...)
		}
		paths = append(paths, found...)
	}
	slices.Sort(paths)
	slices.Sort(in.Named)
	in.Named = slices.Compact(in.Named)
	for _, path := range slices.Compact(paths) {
		f := File{Path: path, Format: format}
		if format == "" {
			var err error
			if f.Format, err = table.FormatOf(path); err != nil || !slices.Contains(formats, f.Format) {
				return nil, fmt.Errorf("%s: expected Arrow, Parquet or JSON lines, as its name says: name those that are meant, or --format", path)
			}
		}
		var err error
		if f.Extent, err = table.ExtentOf(ctx, path, f.Format); err != nil {
			return nil, err
		}
		in.Files = append(in.Files, f)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return in, nil
}

// expand are the files that a name stands for, of which there is at least one.
func expand(name string) (files []string, err error) {
	if info, err := os.Stat(name); err == nil {
		if !info.IsDir() {
			return []string{filepath.Clean(name)}, nil
		}
		if files, err = within(name); err == nil && len(files) == 0 {
			err = fmt.Errorf("%s: expected files, found none", name)
		}
		return files, err
	} else if !strings.ContainsAny(name, "*?[") {
		return nil, err
	}
	matches, err := filepath.Glob(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for _, match := range matches {
		if info, err := os.Stat(match); err != nil {
			return nil, err
		} else if !info.IsDir() {
			files = append(files, filepath.Clean(match))
		}
	}
	if files == nil {
		return nil, fmt.Errorf("%s: expected files that match, found none", name)
	}
	return files, nil
}

// within are the files in a directory and those below, but for hidden ones and what Spark
// and others begin with _. Links are followed to files; one to a folder may lead in a circle.
func within(dir string) (files []string, err error) {
	dir = filepath.Clean(dir) + string(filepath.Separator) // which follows a link
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		name := entry.Name()
		switch {
		case err != nil:
			return err
		case path != dir && (strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")):
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		info, err := os.Stat(path)
		switch {
		case err != nil:
			return err
		case info.IsDir() && !entry.IsDir():
			return fmt.Errorf("%s: a link to a folder: name it itself", path)
		case info.Mode().IsRegular():
			files = append(files, path)
		}
		return nil
	})
	return files, err
}

// A fingerprint has so many pieces of each file, of so many bytes, evenly spread.
const (
	pieces     = 16
	pieceBytes = 4 << 10
)

// Fingerprint is a SHA-256 of the names and sizes of all files, and of pieces of their
// contents: the whole of a file up to 64 KiB, of a larger one its beginning, its end and 14
// pieces between. Whoever changes a few bytes between those of a file, and not its size, is
// not found out: reading all would cost each worker the whole input.
func (in *Input) Fingerprint() (string, error) {
	h := sha256.New()
	names := table.NewNames(in.Named)
	for _, f := range in.Files {
		fmt.Fprintf(h, "%q %s %d %d\n", names.Of(&table.Row{File: f.Path}), f.Format, f.Bytes, f.Rows)
		if err := f.sample(h); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// sample writes pieces of a file.
func (f *File) sample(to io.Writer) error {
	file, err := os.Open(f.Path)
	if err != nil {
		return err
	}
	defer file.Close()
	if f.Bytes <= pieces*pieceBytes {
		if _, err = io.CopyN(to, file, f.Bytes); err == io.EOF {
			err = f.shorter()
		}
		return err
	}
	piece := make([]byte, pieceBytes)
	for i := range int64(pieces) {
		at := (f.Bytes - pieceBytes) / (pieces - 1) * i
		if i == pieces-1 {
			at = f.Bytes - pieceBytes
		}
		if _, err := file.ReadAt(piece, at); err == io.EOF {
			return f.shorter()
		} else if err != nil {
			return err
		}
		if _, err := to.Write(piece); err != nil {
			return err
		}
	}
	return nil
}

func (f *File) shorter() error {
	return fmt.Errorf("%s: expected %d bytes as before, found fewer: the file was changed", f.Path, f.Bytes)
}

// HashOf is the SHA-256 of files, each with its name, of which all but the first need not
// exist.
func HashOf(dir string, names ...string) (string, error) {
	h := sha256.New()
	for i, name := range names {
		file, err := os.Open(filepath.Join(dir, name))
		if i > 0 && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		inner := sha256.New()
		size, err := io.Copy(inner, file)
		file.Close()
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%q ", name)
		if err := binary.Write(h, binary.LittleEndian, size); err != nil {
			return "", err
		}
		h.Write(inner.Sum(nil))
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
