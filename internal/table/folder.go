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

// FolderColumns are the columns of a folder of files: a file's content, the name of the file's folder,
// the name of the parent of that folder, and the file's path within the folder that is read.
var FolderColumns = []string{"content", "class", "split", "path"}

// folderReader reads a folder of files, one row per file. The paths are CLASS/FILE or
// SPLIT/CLASS/FILE. Files are read in the order of their paths, or as Options.Spread reorders them.
type folderReader struct {
	ctx    context.Context // cancels reading
	dir    string
	files  []string // paths relative to dir
	wanted []int
	limit  int
	report func(bytes int64)
	note   func(line string) // may be nil

	packed      int       // number of compressed files, archives and media files that were read unchanged
	firstPacked string    // first packed file and its kind
	marked      int       // number of files that begin with a byte-order mark
	firstMarked string    // first marked file and its encoding
	depths      [2]string // the first file with a class, and the first such file at another depth; "" if none
}

// markEncoding returns the encoding of the byte-order mark of content, or "" without one.
func markEncoding(content []byte) string {
	for _, m := range []struct{ bytes, encoding string }{{"\xef\xbb\xbf", "UTF-8"}, {"\xff\xfe", "UTF-16"},
		{"\xfe\xff", "UTF-16"}} {
		if strings.HasPrefix(string(content[:min(len(content), 3)]), m.bytes) {
			return m.encoding
		}
	}
	return ""
}

// lfsPointer is the beginning of a Git LFS pointer, which Git checks out instead of the file's
// content.
const lfsPointer = "version https://git-lfs.github.com/spec/"

var errPointer = errors.New("expected a file's content, found a Git LFS pointer (fetch the files with git lfs pull)")

// inspect records findings about the content and the path of a file for writeNotes.
func (r *folderReader) inspect(path string, content []byte) {
	if kind := packedKind(content); kind != "" {
		if r.packed++; r.packed == 1 {
			r.firstPacked = path + ": " + kind
		}
	}
	if encoding := markEncoding(content); encoding != "" {
		if r.marked++; r.marked == 1 {
			r.firstMarked = path + ": " + encoding
		}
	}
	switch depth := strings.Count(path, "/"); {
	case depth == 0: // the file has no class
	case r.depths[0] == "":
		r.depths[0] = path
	case r.depths[1] == "" && depth != strings.Count(r.depths[0], "/"):
		r.depths[1] = path
	}
}

// magics are the first bytes of compressed files, archives and media files.
var magics = []struct{ bytes, kind string }{
	{"\x1f\x8b\x08", "gzip"}, {"\x28\xb5\x2f\xfd", "Zstandard"}, {"\xfd7zXZ\x00", "xz"}, {"BZh", "bzip2"},
	{"\x04\x22\x4d\x18", "LZ4"},
	{"%PDF-", "PDF"}, {"\xff\xd8\xff", "JPEG"}, {"\x89PNG\r\n", "PNG"}, {"GIF8", "GIF"}, {"OggS", "Ogg"},
	{"fLaC", "FLAC"}, {"ID3", "MP3"},
	{"PK\x03\x04", "ZIP"}, {"7z\xbc\xaf\x27\x1c", "7z"}, {"Rar!\x1a\x07", "RAR"},
}

// packedKind returns the kind of a compressed file, archive or media file that begins with content,
// or "".
func packedKind(content []byte) string {
	const bzip2Block, tarMagic = 4, 257
	text := string(content[:min(len(content), tarMagic+5)])
	for _, m := range magics {
		if strings.HasPrefix(text, m.bytes) && (m.kind != "bzip2" || len(text) > bzip2Block &&
			strings.HasPrefix(text[bzip2Block:], "1AY&SY")) {
			return m.kind
		}
	}
	if len(text) > tarMagic && text[tarMagic:] == "ustar" {
		return "tar"
	}
	return ""
}

// writeNotes writes a note about each finding of inspect, and clears the findings.
func (r *folderReader) writeNotes() {
	if r.marked > 0 && r.note != nil {
		r.note(fmt.Sprintf("%s: %s with a byte-order mark, which is read as part of the row (first: %s): "+
			"convert all files to UTF-8 without a mark", r.dir, countFiles(r.marked), r.firstMarked))
	}
	if class := r.depths[1] != "" && r.note != nil &&
		slices.ContainsFunc(r.wanted, func(at int) bool { return at == 1 || at == 2 }); class {
		r.note(fmt.Sprintf("%s: files are in folders of different depths, such as %s and %s: the class of a row is "+
			"the folder of its file, and its split is the parent of that folder", r.dir, r.depths[0], r.depths[1]))
	}
	r.marked, r.depths = 0, [2]string{}
	if r.packed > 0 && r.note != nil {
		r.note(fmt.Sprintf("%s: the bytes of %s in compressed formats are read unchanged (first: %s): decompress "+
			"or unpack them, rename gzip and Zstandard files to end in .gz and .zst, and convert sound to WAV and "+
			"images or documents to text or numbers", r.dir, countFiles(r.packed), r.firstPacked))
	}
	r.packed = 0
}

// desktopFiles are the names, in lower case, of files that desktops leave in folders. They are not rows.
var desktopFiles = []string{"thumbs.db", "ehthumbs.db", "ehthumbs_vista.db", "desktop.ini", "icon\r"}

func isDesktopFile(name string) bool { return slices.Contains(desktopFiles, strings.ToLower(name)) }

func newFolder(ctx context.Context, dir string, o Options) (*folderReader, error) {
	r := &folderReader{ctx: ctx, dir: dir, limit: o.MaxField, report: o.Progress, note: o.Note}
	var desktop []string
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return atomicfile.WalkError(dir, path, err)
		case entry.Type().IsRegular() && isDesktopFile(entry.Name()):
			desktop = append(desktop, path)
		case path != "." && strings.HasPrefix(entry.Name(), "."): // hidden
			if entry.IsDir() {
				return fs.SkipDir
			}
		case entry.Type().IsRegular() && slices.Contains(unsupportedCompressions, strings.ToLower(filepath.Ext(path))):
			return fmt.Errorf("%s: %s: decompress the file, or pass a folder without it", path, UnsupportedAdvice(path))
		case entry.Type().IsRegular():
			r.files = append(r.files, path)
		}
		return nil
	})
	if err == nil && len(r.files) == 0 {
		err = errors.New("expected a folder of files for each class, found no file")
	}
	if err == nil {
		if r.wanted, err = columnIndices(FolderColumns, o.Columns); err != nil {
			err = fmt.Errorf("%w%s", err, tablesHint(dir))
		}
	}
	if err != nil {
		return nil, err
	}
	if o.Spread {
		r.files = spread(r.files)
	}
	for _, path := range r.files {
		if isFileList(path) && o.Note != nil {
			o.Note(fmt.Sprintf("%s: %s", dir, fileListAdvice(path)))
		}
	}
	if len(desktop) > 0 && o.Note != nil {
		o.Note(fmt.Sprintf("%s: left out %s of the desktop environment (first: %s)", dir, countFiles(len(desktop)),
			desktop[0]))
	}
	return r, nil
}

// tablesHint returns a hint if a folder has tables, but another file or folder beside them makes it a
// folder of files. Otherwise, it returns "".
func tablesHint(dir string) string {
	entries, err := os.ReadDir(dir)
	first, other := "", ""
	for _, e := range entries {
		switch format := formatOfName(e.Name()); {
		case strings.HasPrefix(e.Name(), ".") || isDesktopFile(e.Name()) || IsDocumentation(e.Name()):
		case e.Type().IsRegular() && format != "" && format != "text" && first == "":
			first = e.Name()
		case other == "" && (first == "" || e.IsDir() || format != formatOfName(first)):
			other = e.Name()
		}
	}
	if err != nil || first == "" || other == "" {
		return ""
	}
	if isFileList(first) {
		return "; " + fileListAdvice(first)
	}
	return fmt.Sprintf("; the folder contains %s besides the table %s, so each of its files is read as a row: pass "+
		"the table itself (--from %s), or a folder that contains only tables", other, first, filepath.Join(dir, first))
}

// isFileList reports whether a file is the list of files and labels of a data set in the layouts
// audiofolder and imagefolder of Hugging Face's datasets library.
func isFileList(name string) bool {
	return slices.Contains([]string{"metadata.csv", "metadata.jsonl", "metadata.parquet"}, name)
}

// fileListAdvice returns the next step for a folder with a list of files.
func fileListAdvice(name string) string {
	return fmt.Sprintf("sftseq does not read the labels in %s (layout of Hugging Face's audiofolder and "+
		"imagefolder): move each file into a folder named by its class (CLASS/FILE, or "+
		"SPLIT/CLASS/FILE), remove %s, and predict the column class", name, name)
}

// countFiles formats a number of files.
func countFiles(n int) string {
	if n == 1 {
		return "1 file"
	}
	return fmt.Sprintf("%d files", n)
}

// spread reorders files so that files with a common path prefix, such as a class, are evenly distributed. It
// steps through the n files by about n divided by the golden ratio, modulo n.
func spread(files []string) []string {
	const golden = 0.6180339887498949
	n := len(files)
	step := max(1, int(golden*float64(n)))
	for gcd(step, n) != 1 {
		step++
	}
	out := make([]string, n)
	for i := range out {
		out[i] = files[i*step%n]
	}
	return out
}

func gcd(a, b int) int {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}

// Columns returns [FolderColumns].
func (r *folderReader) Columns() []string { return FolderColumns }

// Next reads the next file into row. It returns io.EOF after the last file.
func (r *folderReader) Next(row *Row) error {
	if len(r.files) == 0 {
		r.writeNotes()
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
	if strings.HasPrefix(string(content[:min(len(content), len(lfsPointer))]), lfsPointer) {
		row.fail(errPointer)
		return nil
	}
	r.inspect(path, content)
	folders := strings.Split(path, "/")
	values := []string{string(content), "", "", path}
	for i := 1; i <= 2 && i < len(folders); i++ {
		values[i] = folders[len(folders)-1-i]
	}
	for _, at := range r.wanted {
		row.Values = append(row.Values, Value{Text: values[at]})
	}
	return nil
}

// read returns the content of a file, decompressed if its name ends in a known compression
// extension.
func (r *folderReader) read(path string) ([]byte, error) {
	if slices.Contains(compressions, strings.ToLower(filepath.Ext(path))) {
		file, err := source.Open(r.ctx, path, r.report)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		return r.readAll(file)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return r.readAll(source.Watch(r.ctx, file, r.report))
}

// readAll returns the content of a file, or an error if it has more than r.limit bytes.
func (r *folderReader) readAll(in io.Reader) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(in, int64(r.limit)+1))
	if err == nil && len(content) > r.limit {
		err = fmt.Errorf("the file has more than %d bytes", r.limit)
	}
	return content, err
}

// Close does nothing, because no file stays open.
func (r *folderReader) Close() error { return nil }
