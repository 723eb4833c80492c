package table

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// TestHuggingFaceState checks that a state.json that selects or changes rows is an error with the
// key, and that such keys with empty values are accepted.
func TestHuggingFaceState(t *testing.T) {
	for state, want := range map[string]string{
		`{"_data_files":[{"filename":"a.arrow"}],"_indices_data_files":[{"filename":"i.arrow"}]}`:       "_indices_data_files selects or changes rows",
		`{"_data_files":[{"filename":"a.arrow"}],"_indices_files":[{"filename":"i.arrow"}]}`:            "_indices_files selects or changes rows",
		`{"_data_files":[{"filename":"a.arrow"}],"_inplace_history":[{"transforms":[["cast",[],{}]]}]}`: "_inplace_history selects or changes rows",
		`{"_data_files":[{"filename":"a.arrow","skip":2,"take":2}]}`:                                    "_data_files: skip selects or changes rows of the Arrow files (2)",
		`{"_data_files":[{"filename":"a.arrow","take":0}]}`:                                             "_data_files: take selects or changes rows of the Arrow files (0)",
		`{"_data_files":[{"filename":"../a.arrow"}]}`:                                                   "expected a file name",
		`{"_data_files":[{"filename":"a.arrow","skip":0,"take":null}],"_indices":null,"_indices_files":[],` +
			`"_inplace_history":[{"transforms":[]}],"_format_columns":["text"],"_split":"train"}`: "",
	} {
		path := filepath.Join(t.TempDir(), hfState)
		must.Succeed(t, os.WriteFile(path, []byte(state), 0o666))
		names, err := hfDataFiles(path)
		switch {
		case want == "" && (err != nil || !slices.Equal(names, []string{"a.arrow"})):
			t.Errorf("%s: got %q, %v, want a.arrow", state, names, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: got error %v, want %s", state, err, want)
		}
	}
}

// TestHuggingFaceShortFeatures checks that class names are read from the short forms of lists and
// classes.
func TestHuggingFaceShortFeatures(t *testing.T) {
	names := []string{"O", "B-PER"}
	for text, list := range map[string]bool{
		`[{"names":["O","B-PER"],"_type":"ClassLabel"}]`:                              true,
		`[{"names":["O","B-PER"]}]`:                                                   true,
		`{"feature":{"names":["O","B-PER"],"_type":"ClassLabel"},"_type":"Sequence"}`: true,
		`{"feature":{"names":["O","B-PER"]},"_type":"List"}`:                          true,
		`{"names":["O","B-PER"],"_type":"ClassLabel"}`:                                false,
		`{"names":["O","B-PER"]}`:                                                     false,
	} {
		dir := t.TempDir()
		must.Succeed(t, os.WriteFile(filepath.Join(dir, hfState),
			[]byte(`{"_data_files":[{"filename":"a.arrow"}]}`), 0o666))
		must.Succeed(t, os.WriteFile(filepath.Join(dir, hfFeatures), []byte(`{"features":{"x":`+text+`}}`), 0o666))
		part := must.Get(hfParts(dir))(t)[0]
		if got := part.classes.items["x"]; list != slices.Equal(got, names) {
			t.Errorf("%s: got item names %q, want %q for a list and none otherwise", text, got, names)
		}
		if got := part.classes.labels["x"]; list == slices.Equal(got, names) {
			t.Errorf("%s: got label names %q, want none for a list and %q otherwise", text, got, names)
		}
	}
}

// TestFolderOfCompressedFiles checks that compressed files in a folder are decompressed, that files left
// by desktops are skipped, and that an unsupported compression is an error.
func TestFolderOfCompressedFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, content []byte) {
		must.Succeed(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777))
		must.Succeed(t, os.WriteFile(filepath.Join(dir, name), content, 0o666))
	}
	write("a/1.gz", []byte(gzipped("one")))
	write("a/2.1.gz", []byte(gzipped("two")))
	write("b/3.txt", []byte("three"))
	for _, name := range []string{"a/Thumbs.db", "b/desktop.ini", "b/.DS_Store", "a/ehthumbs.db"} {
		write(name, []byte("x"))
	}
	var notes []string
	options := Options{Columns: []string{"content"}, MaxField: 100,
		Note: func(line string) { notes = append(notes, line) }}
	r := must.Get(Open(context.Background(), dir, options))(t)
	var row Row
	for _, want := range []string{"one", "two", "three"} {
		must.Succeed(t, r.Next(&row))
		if row.Err != nil || row.Values[0].Text != want {
			t.Errorf("got %v, %v, want %s", row.Values, row.Err, want)
		}
	}
	must.Succeed(t, r.Close())
	if len(notes) != 1 ||
		!strings.Contains(notes[0], "left out 3 files of the desktop environment (first: a/Thumbs.db)") {
		t.Errorf("got notes %q, want one on 3 files", notes)
	}
	write("b/4.xz", []byte("\xfd7zXZ"))
	if _, err := Open(context.Background(), dir, options); err == nil ||
		!strings.Contains(err.Error(), "b/4.xz: unsupported compression") {
		t.Errorf("got error %v, want unsupported compression", err)
	}
}

// TestFolderOfArchives checks that archives, and compressed files without the corresponding extension,
// are counted in a single note.
func TestFolderOfArchives(t *testing.T) {
	dir := t.TempDir()
	must.Succeed(t, os.Mkdir(filepath.Join(dir, "a"), 0o777))
	tar := strings.Repeat("\x00", 257) + "ustar\x0000"
	for name, text := range map[string]string{
		"gzip": "\x1f\x8b\x08\x00", "zstd": "\x28\xb5\x2f\xfd\x04", "xz": "\xfd7zXZ\x00\x00", "bzip2": "BZh91AY&SY",
		"zip": "PK\x03\x04", "7z": "7z\xbc\xaf\x27\x1c",
		"rar": "Rar!\x1a\x07\x00", "lz4": "\x04\x22\x4d\x18", "x.tar": tar, "y.tar.gz": gzipped(tar),
		"text.txt": "BZh is a name", "bare.txt": "PK", "good.txt.gz": gzipped("text"),
	} {
		must.Succeed(t, os.WriteFile(filepath.Join(dir, "a", name), []byte(text), 0o666))
	}
	var notes []string
	r := must.Get(Open(t.Context(), dir,
		Options{Columns: []string{"content"}, Note: func(line string) { notes = append(notes, line) }}))(t)
	defer r.Close()
	var row Row
	for range 13 {
		must.Succeed(t, r.Next(&row))
		must.Succeed(t, row.Err)
	}
	for range 2 {
		if err := r.Next(&row); err != io.EOF {
			t.Errorf("after the last file: got error %v, want io.EOF", err)
		}
	}
	if len(notes) != 1 || !strings.Contains(notes[0],
		"the bytes of 10 files in compressed formats are read unchanged (first: a/7z: 7z): decompress or unpack them") {
		t.Errorf("got notes %q, want one on 10 files, the first a/7z", notes)
	}
}

// TestFolderNotes checks the notes on byte-order marks, folders of different depths and compressed
// formats, and the error for a Git LFS pointer.
func TestFolderNotes(t *testing.T) {
	dir := t.TempDir()
	put := func(name, content string) {
		path := filepath.Join(dir, name)
		must.Succeed(t, os.MkdirAll(filepath.Dir(path), 0o777))
		must.Succeed(t, os.WriteFile(path, []byte(content), 0o666))
	}
	put("a/1.txt", "\xff\xfeh\x00")
	put("a/sub/2.txt", "\ufeffhello")
	put("b/3.txt", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 3\n")
	put("b/4.txt", "%PDF-1.7")
	put("README", "beside the classes")
	for columns, want := range map[string][]string{
		"content class": {"2 files with a byte-order mark, which is read as part of the row (first: a/1.txt: UTF-16): ",
			"files are in folders of different depths, such as a/1.txt and a/sub/2.txt: ",
			"the bytes of 1 file in compressed formats are read unchanged (first: b/4.txt: PDF)"},
		"content path": {"byte-order mark", "compressed formats"},
	} {
		var notes []string
		r := must.Get(Open(t.Context(), dir, Options{Columns: strings.Fields(columns), MaxField: 1 << 20,
			Note: func(line string) { notes = append(notes, line) }}))(t)
		var row Row
		failed := 0
		for r.Next(&row) == nil {
			if row.Err != nil {
				failed++
				if row.Err != errPointer || !strings.HasSuffix(row.Position(), "b/3.txt") {
					t.Errorf("%s: got error %v, want errPointer", row.Position(), row.Err)
				}
			}
		}
		if failed != 1 || len(notes) != len(want) {
			t.Fatalf("%s: got %d failed rows and notes %q, want 1 and %d notes", columns, failed, notes, len(want))
		}
		for i, want := range want {
			if !strings.HasPrefix(notes[i], dir+": ") || !strings.Contains(notes[i], want) {
				t.Errorf("%s: got %q, want %q", columns, notes[i], want)
			}
		}
		r.Close()
	}
	put("p.csv", lfsPointer+"v1\noid sha256:0\n")
	must.Fail(t, "found a Git LFS pointer (fetch the file with git lfs pull)")(Open(t.Context(),
		filepath.Join(dir, "p.csv"), Options{Columns: []string{"text"}, MaxField: 1 << 20}))
}

// TestFileList checks that the metadata.csv of an audio folder is reported, with the supported layout.
func TestFileList(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"data/1.wav", "metadata.csv"} {
		must.Succeed(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777))
		must.Succeed(t, os.WriteFile(filepath.Join(dir, name), []byte("file_name,label\ndata/1.wav,y\n"), 0o666))
	}
	const advice = "sftseq does not read the labels in metadata.csv (layout of Hugging Face's audiofolder and " +
		"imagefolder): " +
		"move each file into a folder named by its class"
	var notes []string
	o := Options{Columns: []string{"label"}, MaxField: 1 << 20, Note: func(line string) { notes = append(notes, line) }}
	must.Fail(t, `column "label": expected one of "content", "class", "split", "path"; `+advice)(
		Open(t.Context(), dir, o))
	o.Columns = []string{"content", "class"}
	must.Succeed(t, must.Get(Open(t.Context(), dir, o))(t).Close())
	if len(notes) != 1 || !strings.Contains(notes[0], dir+": "+advice) {
		t.Errorf("got notes %q, want the advice once", notes)
	}
}

// TestTablesHint checks that the error for a folder with a table and a file that is not a table names the
// latter. A second table or a hidden file is not an error.
func TestTablesHint(t *testing.T) {
	for other, want := range map[string]string{"a.csv.bak": "; the folder contains a.csv.bak besides the table " +
		"a.csv, so each of its files is read as a row: pass the table itself (--from ", "b.csv": "", ".hidden": "",
		"notes.txt": "; the folder contains notes.txt besides the table a.csv"} {
		dir := t.TempDir()
		for _, name := range []string{"a.csv", other} {
			must.Succeed(t, os.WriteFile(filepath.Join(dir, name), []byte("text,label\nx,y\n"), 0o666))
		}
		r, err := Open(t.Context(), dir, Options{Columns: []string{"text"}, MaxField: 1 << 20})
		if want == "" {
			must.Succeed(t, err)
			r.Close()
		} else if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want %q", other, err, want)
		}
	}
}
