package files

import (
	"archive/zip"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// File is a file of a known kind.
type File struct {
	Path    string // path of the file, or of the archive that contains it
	Member  string // name within the archive; "" for a file that is not in an archive
	Kind    int    // index in Kinds
	Package string
	below   string // Path below the root
}

// Name returns the path; a file in an archive is ARCHIVE!/MEMBER.
func (f *File) Name() string {
	if f.Member == "" {
		return f.Path
	}
	return f.Path + "!/" + f.Member
}

// Limits in bytes. A data set has neither files shorter than MinBytes nor archive members longer than
// maxMember.
const (
	MinBytes  = 16
	maxMember = 16 << 20
)

// Walk returns the files of known kinds below the roots, sorted by their names. It ignores links, files
// shorter than MinBytes, names that are not UTF-8, and unreadable folders. found is called with the
// number of files so far.
func Walk(ctx context.Context, roots []string, p *Packages, found func(n int)) ([]File, error) {
	roots, err := outermost(roots)
	if err != nil {
		return nil, err
	}
	var out []File
	for _, root := range roots {
		err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
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
			if !utf8.ValidString(name) { // ids of rows are UTF-8
				return nil
			}
			out = append(out, filesOf(name, p.Find(name, root), strings.TrimPrefix(name, root))...)
			found(len(out))
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(out, compareNames)
	return out, nil
}

// outermost returns the absolute paths of the roots with links resolved, without roots below other
// roots. A root that is not a readable folder is an error.
func outermost(roots []string) (out []string, err error) {
	for _, root := range roots {
		if root == "" {
			return nil, errors.New("expected the path of a folder, found an empty path")
		}
		path, err := filepath.Abs(root)
		if err == nil {
			path, err = filepath.EvalSymlinks(path)
		}
		if err == nil {
			_, err = os.ReadDir(path)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, path)
	}
	slices.Sort(out)
	out = slices.Compact(out)
	return slices.DeleteFunc(slices.Clone(out), func(path string) bool {
		return slices.ContainsFunc(out, func(other string) bool {
			return path != other && strings.HasPrefix(path, strings.TrimSuffix(other, "/")+"/")
		})
	}), nil
}

// filesOf returns the file and its archive members, without files of unknown kinds.
func filesOf(name, pack, below string) (out []File) {
	slashed := filepath.ToSlash(name)
	kind := KindOf(slashed)
	if kind < 0 && mayBeELF(slashed) {
		kind = elfKind(readHeader(name))
	}
	add := func(kind int, member string) {
		out = append(out, File{Path: name, Member: member, Kind: kind, Package: pack, below: below})
	}
	if kind >= 0 {
		add(kind, "")
	}
	switch inner := strings.TrimSuffix(slashed, ".gz"); {
	case inner != slashed:
		if kind := KindOf(inner); kind >= 0 {
			add(kind, path.Base(inner))
		}
	case slices.Contains([]string{".zip", ".jar", ".whl"}, path.Ext(slashed)):
		archive, err := zip.OpenReader(name)
		if err != nil {
			break // a damaged archive has no members
		}
		defer archive.Close()
		for _, member := range archive.File {
			if kind := KindOf(member.Name); kind >= 0 && member.UncompressedSize64 >= MinBytes &&
				member.UncompressedSize64 <= maxMember && member.Mode().IsRegular() && fs.ValidPath(member.Name) &&
				!strings.Contains(member.Name, `\`) && utf8.ValidString(member.Name) {
				add(kind, member.Name)
			}
		}
	}
	return out
}

// readHeader returns the first bytes of a file, at most 64, or an empty slice if the file is unreadable.
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
