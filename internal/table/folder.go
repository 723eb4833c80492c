package table

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sftseq/sftseq/internal/atomicfile"
	"github.com/sftseq/sftseq/internal/source"
)

// FolderColumns are those of a folder of files: what a file holds, the folder that it
// is in, the one above that, and its path within the whole.
var FolderColumns = []string{"content", "class", "split", "path"}

// folderReader reads a folder of files, each of which is a row, in the order of their
// paths: CLASS/FILE, or SPLIT/CLASS/FILE.
type folderReader struct {
	ctx    context.Context // of its reading
	dir    string
	files  []string // within dir
	wanted []int
	limit  int
	report func(bytes int64)
	note   func(line string) // may be nil

	packed      int    // files read whose bytes are compressed or an archive
	firstPacked string // the first of them, and its kind
}

// magics are the first bytes of compressed files and archives.
var magics = []struct{ bytes, kind string }{
	{"\x1f\x8b\x08", "gzip"}, {"\x28\xb5\x2f\xfd", "Zstandard"}, {"\xfd7zXZ\x00", "xz"}, {"BZh", "bzip2"}, {"\x04\x22\x4d\x18", "LZ4"},
	{"PK\x03\x04", "ZIP"}, {"7z\xbc\xaf\x27\x1c", "7z"}, {"Rar!\x1a\x07", "RAR"},
}

// packedKind returns by what bytes are compressed or put into an archive, as they begin; "" for other bytes.
func packedKind(content []byte) string {
	const bzip2Block, tarMagic = 4, 257
	text := string(content[:min(len(content), tarMagic+5)])
	for _, m := range magics {
		if strings.HasPrefix(text, m.bytes) && (m.kind != "bzip2" || len(text) > bzip2Block && strings.HasPrefix(text[bzip2Block:], "1AY&SY")) {
			return m.kind
		}
	}
	if len(text) > tarMagic && text[tarMagic:] == "ustar" {
		return "tar"
	}
	return ""
}

// notePacked remarks on the files whose bytes are compressed or an archive.
func (r *folderReader) notePacked() {
	if r.packed > 0 && r.note != nil {
		r.note(fmt.Sprintf("%s: compressed files and archives whose bytes are read as they are: %d (%s): decompress or unpack them, "+
			"or let the names of gzip and Zstandard end in .gz and .zst", r.dir, r.packed, r.firstPacked))
	}
	r.packed = 0
}

// desktopFiles are files that desktops leave in folders, in lower case. None is a row.
var desktopFiles = []string{"thumbs.db", "ehthumbs.db", "ehthumbs_vista.db", "desktop.ini", "icon\r"}

func isDesktopFile(name string) bool { return slices.Contains(desktopFiles, strings.ToLower(name)) }

func newFolder(ctx context.Context, dir string, o Options) (*folderReader, error) {
	r := &folderReader{ctx: ctx, dir: dir, limit: o.MaxField, report: o.Progress, note: o.Note}
	var err error
	if r.wanted, err = index(FolderColumns, o.Columns); err != nil {
		return nil, err
	}
	var desktop []string
	err = fs.WalkDir(os.DirFS(dir), ".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.Type().IsRegular() && isDesktopFile(entry.Name()):
			desktop = append(desktop, path)
		case path != "." && strings.HasPrefix(entry.Name(), "."): // hidden
			if entry.IsDir() {
				return fs.SkipDir
			}
		case entry.Type().IsRegular() && slices.Contains(unreadCompression, strings.ToLower(filepath.Ext(path))):
			return fmt.Errorf("%s: %s: decompress it, or name a folder without it", path, Stranger(path))
		case entry.Type().IsRegular():
			r.files = append(r.files, path)
		}
		return nil
	})
	if err == nil && len(r.files) == 0 {
		err = errors.New("expected files, in a folder for each class, found none")
	}
	if len(desktop) > 0 && o.Note != nil {
		o.Note(fmt.Sprintf("%s: files of a desktop (%s) are not rows: %d", dir, desktop[0], len(desktop)))
	}
	return r, err
}

// Columns returns [FolderColumns].
func (r *folderReader) Columns() []string { return FolderColumns }

// Next returns the next file.
func (r *folderReader) Next(row *Row) error {
	if len(r.files) == 0 {
		r.notePacked()
		return io.EOF
	}
	path := r.files[0]
	r.files = r.files[1:]
	row.begin(filepath.Join(r.dir, filepath.FromSlash(path)), 0)
	content, err := r.read(row.File)
	if err != nil {
		row.fail(atomicfile.Cause(err))
		return nil
	}
	if kind := packedKind(content); kind != "" {
		if r.packed++; r.packed == 1 {
			r.firstPacked = path + ": " + kind
		}
	}
	folders := strings.Split(path, "/")
	all := []string{string(content), "", "", path}
	for i := 1; i <= 2 && i < len(folders); i++ {
		all[i] = folders[len(folders)-1-i]
	}
	for _, at := range r.wanted {
		row.Values = append(row.Values, Value{Text: all[at]})
	}
	return nil
}

// read returns the bytes of a file, decompressed where its name ends as a compressed file's does.
func (r *folderReader) read(path string) ([]byte, error) {
	if slices.Contains(compressions, strings.ToLower(filepath.Ext(path))) {
		file, err := source.Open(r.ctx, path, r.report)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		return r.whole(file)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return r.whole(source.Watch(r.ctx, file, r.report))
}

func (r *folderReader) whole(in io.Reader) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(in, int64(r.limit)+1))
	if err == nil && len(content) > r.limit {
		err = fmt.Errorf("the file has more than %d bytes", r.limit)
	}
	return content, err
}

// Close does nothing: no file stays open.
func (r *folderReader) Close() error { return nil }
