package files

import (
	"archive/zip"
	"context"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// File is a file of a known kind.
type File struct {
	Path    string // path of the file, or of the archive that contains it
	Member  string // name within the archive; "" for a file that is not in an archive
	Kind    int    // index in Kinds
	Package string
}

// Name returns the path; a file in an archive is ARCHIVE!/MEMBER.
func (f *File) Name() string {
	if f.Member == "" {
		return f.Path
	}
	return f.Path + "!/" + f.Member
}

// Limits of files in bytes. Shorter files say nothing about their kind, and only uncompressed files may
// be longer.
const (
	MinBytes  = 16
	maxMember = 16 << 20
)

// Walk returns the files of known kinds below the roots, sorted by their names. It ignores links,
// files shorter than MinBytes and unreadable folders. found is called with the number of files so far.
func Walk(ctx context.Context, roots []string, p *Packages, found func(n int)) ([]File, error) {
	var out []File
	for _, root := range roots {
		root, err := filepath.Abs(root)
		if err != nil {
			return nil, err
		}
		if _, err := os.ReadDir(root); err != nil {
			return nil, err
		}
		err = filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil || !entry.Type().IsRegular() {
				return nil
			}
			info, err := entry.Info()
			if err != nil || info.Size() < MinBytes {
				return nil
			}
			out = append(out, filesOf(name, p.Of(name, root))...)
			found(len(out))
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(out, compareNames)
	return slices.Compact(out), nil
}

// filesOf returns a file and the files within it, as far as their kinds are known.
func filesOf(name, pack string) (out []File) {
	slashed := filepath.ToSlash(name)
	kind := -1
	if mayBeELF(slashed) {
		kind = elfKind(readHeader(name))
	} else {
		kind = KindOf(slashed)
	}
	if kind >= 0 {
		out = append(out, File{Path: name, Kind: kind, Package: pack})
	}
	switch inner := strings.TrimSuffix(slashed, ".gz"); {
	case inner != slashed:
		if kind := KindOf(inner); kind >= 0 {
			out = append(out, File{Path: name, Member: path.Base(inner), Kind: kind, Package: pack})
		}
	case slices.Contains([]string{".zip", ".jar", ".whl"}, path.Ext(slashed)):
		archive, err := zip.OpenReader(name)
		if err != nil {
			break // a damaged archive has no files
		}
		defer archive.Close()
		for _, member := range archive.File {
			if kind := KindOf(member.Name); kind >= 0 && member.UncompressedSize64 >= MinBytes &&
				member.UncompressedSize64 <= maxMember {
				out = append(out, File{Path: name, Member: member.Name, Kind: kind, Package: pack})
			}
		}
	}
	return out
}

// readHeader returns the first bytes of a file. It is nil for unreadable files.
func readHeader(name string) []byte {
	file, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer file.Close()
	header := make([]byte, 64)
	n, _ := io.ReadFull(file, header)
	return header[:n]
}
