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

// Input is a list of files, sorted by path.
type Input struct {
	Files []File
	Named []string // requested files and folders, from which [table.NewNames] derives names of rows
}

// File is a file of an input.
type File struct {
	Path, Format string
	table.Extent
}

// formats are the formats that can be split.
var formats = []string{"arrow", "parquet", "jsonl"}

// Find returns the named files, the files in named directories, and the files that match patterns
// such as data/*.parquet. format applies to all files; if format is "", the file names determine
// the formats.
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
			if f.Format, err = table.FormatOf(path); err != nil {
				return nil, fmt.Errorf("%s: expected Arrow, Parquet or JSON lines, which an --output folder requires, "+
					"found a file name without such an extension: set --format, or set --output to a file", path)
			}
		}
		if !slices.Contains(formats, f.Format) {
			return nil, fmt.Errorf("%s: expected Arrow, Parquet or JSON lines, which an --output folder requires, "+
				"found %s: set --output to a file", path, f.Format)
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

// expand returns the files for a name: a file, a directory or a pattern. It is an error if there are none.
func expand(name string) (files []string, err error) {
	if info, err := os.Stat(name); err == nil {
		if !info.IsDir() {
			return []string{filepath.Clean(name)}, nil
		}
		if files, err = filesIn(name); err == nil && len(files) == 0 {
			err = fmt.Errorf("%s: expected files, found none", name)
		}
		if err == nil {
			err = table.CheckConfigs(name, files)
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
	return files, table.CheckConfigs(fixedFolder(name), files)
}

// fixedFolder returns the last folder of a pattern before its first wildcard.
func fixedFolder(pattern string) string {
	return filepath.Dir(pattern[:strings.IndexAny(pattern, "*?[")] + "x")
}

// filesIn returns the regular files in a directory and its subdirectories. It skips documentation of
// data sets, and names that begin with a dot or an underscore, such as Spark's _SUCCESS. It follows
// links to files; a link to a folder is an error, because it may lead to a cycle.
func filesIn(dir string) (files []string, err error) {
	dir = filepath.Clean(dir) + string(filepath.Separator) // the separator makes WalkDir follow a link
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil { // entry may be nil
			return err
		}
		name := entry.Name()
		switch {
		case path != dir && (strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")):
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case entry.Type().IsRegular() && table.IsDocumentation(name):
			return nil
		}
		info, err := os.Stat(path)
		switch {
		case err != nil:
			return err
		case info.IsDir() && !entry.IsDir():
			return fmt.Errorf("%s: found a link to a folder: pass its path separately", path)
		case info.Mode().IsRegular():
			files = append(files, path)
		}
		return nil
	})
	return files, err
}

// The number of evenly spaced pieces of a file that a fingerprint covers, and the number of bytes per
// piece.
const (
	pieces     = 16
	pieceBytes = 4 << 10
)

// Fingerprint returns a SHA-256, in hexadecimal, of the names, formats, sizes and row counts of all files
// and of samples of their contents. It reads files up to 64 KiB completely. From a larger file it reads 16
// evenly spaced pieces, including the beginning and the end. A change between the pieces is detected only
// if it changes the size or the number of rows. A hash of all contents would make each worker read the whole
// input.
func (in *Input) Fingerprint() (string, error) {
	h := sha256.New()
	names := table.NewNames(in.Named)
	for _, f := range in.Files {
		fmt.Fprintf(h, "%q %s %d %d\n", names.RowName(&table.Row{File: f.Path}), f.Format, f.Bytes, f.Rows)
		if err := f.sample(h); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// sample writes the pieces of a file that the fingerprint covers.
func (f *File) sample(to io.Writer) error {
	file, err := os.Open(f.Path)
	if err != nil {
		return err
	}
	defer file.Close()
	if f.Bytes <= pieces*pieceBytes {
		if _, err = io.CopyN(to, file, f.Bytes); err == io.EOF {
			err = f.errShorter()
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
			return f.errShorter()
		} else if err != nil {
			return err
		}
		if _, err := to.Write(piece); err != nil {
			return err
		}
	}
	return nil
}

func (f *File) errShorter() error {
	return fmt.Errorf("%s: expected %d bytes as before, found fewer: the file was changed", f.Path, f.Bytes)
}

// HashOf returns a SHA-256, in hexadecimal, of the names and contents of files in a directory. All files
// but the first may be missing.
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
