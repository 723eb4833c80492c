package shard

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/table"
)

// TestFind checks that the files found by file, directory and pattern are sorted, without duplicates.
func TestFind(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b/2.jsonl", "b/1.jsonl", "b.jsonl", "a.jsonl", "c/[x].jsonl", "_SUCCESS",
		".hidden.jsonl", "_tmp/3.jsonl"} {
		write(t, filepath.Join(dir, name), lines("x", "\n", 1))
	}
	must.Succeed(t, os.Symlink(filepath.Join(dir, "_SUCCESS"), filepath.Join(dir, "c", "link.jsonl")))
	at := func(names ...string) (out []string) {
		for _, name := range names {
			out = append(out, filepath.Join(dir, name))
		}
		return out
	}
	for _, c := range []struct{ named, want []string }{
		{at(""), at("a.jsonl", "b.jsonl", "b/1.jsonl", "b/2.jsonl", "c/[x].jsonl", "c/link.jsonl")},
		{at("*.jsonl"), at(".hidden.jsonl", "a.jsonl", "b.jsonl")},
		{at("b/*", "a.jsonl", "b", "b/1.jsonl"), at("a.jsonl", "b/1.jsonl", "b/2.jsonl")},
		{at("c/[x].jsonl"), at("c/[x].jsonl")},
	} {
		in, err := Find(t.Context(), c.named, "")
		if err != nil {
			t.Error(err)
			continue
		}
		var got []string
		for _, f := range in.Files {
			got = append(got, f.Path)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q: got %q, want %q", c.named, got, c.want)
		}
	}
}

// TestLinkedFolders checks that a named link to a folder is followed. A link to a folder inside a named
// folder is an error, unless its name begins with an underscore.
func TestLinkedFolders(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "real", "below", "a.jsonl"), lines("x", "\n", 1))
	link := filepath.Join(dir, "link")
	must.Succeed(t, os.Symlink("real", link))
	for _, name := range []string{link, link + "/"} {
		in, err := Find(t.Context(), []string{name}, "")
		if err != nil || len(in.Files) != 1 || in.Files[0].Path != filepath.Join(link, "below", "a.jsonl") {
			t.Errorf("%s: got %v, error %v, want below/a.jsonl", name, in, err)
		}
	}
	if in, err := Find(t.Context(), []string{dir}, ""); err == nil ||
		!strings.Contains(err.Error(), link+": found a link to a folder: pass its path separately") {
		t.Errorf("got %v, error %v, want an error about the link", in, err)
	}
	must.Succeed(t, os.Rename(link, filepath.Join(dir, "_link")))
	if in, err := Find(t.Context(), []string{dir}, ""); err != nil || len(in.Files) != 1 {
		t.Errorf("hidden link: got %v, error %v, want only real/below/a.jsonl", in, err)
	}
}

// TestFindErrors checks the errors for missing files, damaged files and files that cannot be split.
func TestFindErrors(t *testing.T) {
	dir := t.TempDir()
	os.Mkdir(filepath.Join(dir, "empty"), 0o777)
	for name, text := range map[string]string{"x.csv": "a\n", "data": "{}\n",
		"x.arrow.gz": gzipped(batches(t, "file", "x", 1)), "text.arrow": "text", "text.parquet": "text",
		"cut.arrow": batches(t, "file", "x", 9)[:300], "wide.jsonl": "\xff\xfe{\x00"} {
		write(t, filepath.Join(dir, name), text)
	}
	for name, want := range map[string]string{
		"empty": "expected files, found none", "none.jsonl": "no such file",
		"*.json": "expected files that match, found none", "[": "no such file",
		"x.csv": "expected Arrow, Parquet or JSON lines", "data": "expected Arrow, Parquet or JSON lines",
		"x.arrow.gz": "expected an uncompressed Arrow file",
		"text.arrow": "text.arrow", "text.parquet": "expected a Parquet file", "cut.arrow": "cut.arrow",
		"wide.jsonl": "found UTF-16",
	} {
		if name == "[" {
			want = "syntax error in pattern"
		}
		if in, err := Find(t.Context(), []string{filepath.Join(dir, name)}, ""); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, error %v, want %s", name, in, err, want)
		}
	}
	if _, err := Find(t.Context(), []string{filepath.Join(dir, "data")}, "jsonl"); err != nil {
		t.Errorf("with a given format: got error %v", err)
	}
	must.Fail(t, "which an --output folder requires, found csv: set --output to a file", "a given format")(
		Find(t.Context(), []string{filepath.Join(dir, "data")}, "csv"))
}

// TestFindConfigs checks the error for a folder or a pattern whose files belong to several configurations of
// the data set card: it names the configurations and their line in README.md. The files of one configuration
// are accepted.
func TestFindConfigs(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "README.md"), "---\nconfigs:\n- config_name: en\n  data_dir: en\n"+
		"- config_name: fr\n  data_dir: fr\n---\n")
	for _, name := range []string{"en", "fr"} {
		write(t, filepath.Join(dir, name, "train.jsonl"), lines("x", "\n", 1))
	}
	for _, name := range []string{dir, dir + "/", filepath.Join(dir, "*", "train.jsonl")} {
		if in, err := Find(t.Context(), []string{name}, ""); err == nil ||
			!strings.Contains(err.Error(), "found tables of en, fr") || !strings.Contains(err.Error(), "README.md:3") {
			t.Errorf("%s: got %v, error %v, want an error about en and fr", name, in, err)
		}
	}
	for _, name := range []string{"en", "en/*", "e*/train.jsonl"} {
		if in, err := Find(t.Context(), []string{filepath.Join(dir, name)}, ""); err != nil || len(in.Files) != 1 {
			t.Errorf("%s: got %v, error %v, want one file", name, in, err)
		}
	}
}

// TestFingerprint checks that the fingerprint depends on names and contents, but not on the
// directory.
func TestFingerprint(t *testing.T) {
	long := strings.Repeat(lines("long", "\n", 50), 100)
	of := func(files map[string]string) string {
		t.Helper()
		dir := t.TempDir()
		for name, text := range files {
			write(t, filepath.Join(dir, name), text)
		}
		in := must.Get(Find(t.Context(), []string{dir}, ""))(t)
		return must.Get(in.Fingerprint())(t)
	}
	first := of(map[string]string{"a.jsonl": "{}\n", "b.jsonl": long})
	if again := of(map[string]string{"a.jsonl": "{}\n", "b.jsonl": long}); again != first {
		t.Error("the same files in another directory have another fingerprint")
	}
	for name, files := range map[string]map[string]string{
		"another name":    {"c.jsonl": "{}\n", "b.jsonl": long},
		"another content": {"a.jsonl": "[]\n", "b.jsonl": long},
		"one file more":   {"a.jsonl": "{}\n", "b.jsonl": long, "c.jsonl": ""},
		"another head":    {"a.jsonl": "{}\n", "b.jsonl": "[" + long[1:]},
		"another end":     {"a.jsonl": "{}\n", "b.jsonl": long[:len(long)-2] + "]\n"},
		"longer":          {"a.jsonl": "{}\n", "b.jsonl": long + "\n"},
		"a tenth replaced": {"a.jsonl": "{}\n",
			"b.jsonl": long[:len(long)/2] + strings.ToUpper(long[len(long)/2:len(long)*6/10]) + long[len(long)*6/10:]},
	} {
		if of(files) == first {
			t.Errorf("%s: got the fingerprint %s of the first files, want another", name, first)
		}
	}
}

// TestChangedFiles checks that Fingerprint fails if a file has become shorter.
func TestChangedFiles(t *testing.T) {
	for _, text := range []string{lines("short", "\n", 3), strings.Repeat("\n", pieces*pieceBytes+1)} {
		path := write(t, filepath.Join(t.TempDir(), "a.jsonl"), text)
		in := must.Get(Find(t.Context(), []string{path}, ""))(t)
		if _, err := in.Fingerprint(); err != nil {
			t.Error(err)
		}
		write(t, path, text[1:])
		want := fmt.Sprintf("%s: expected %d bytes as before, found fewer: the file was changed", path, len(text))
		if _, err := in.Fingerprint(); err == nil || err.Error() != want {
			t.Errorf("%d bytes: got error %v, want %s", len(text), err, want)
		}
	}
}

// TestIrregularInput checks that a named pipe or directory instead of a file is an error, without
// blocking, and that a pipe in a folder is skipped.
func TestIrregularInput(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.jsonl", "a.arrow", "a.parquet"} {
		path := filepath.Join(dir, name)
		must.Succeed(t, syscall.Mkfifo(path, 0o666))
		if _, err := Find(t.Context(), []string{path}, ""); err == nil ||
			!strings.HasPrefix(err.Error(), path+": expected a file, found p") {
			t.Errorf("got error %v, want expected a file", err)
		}
	}
	write(t, filepath.Join(dir, "b.jsonl"), "{}\n")
	if in, err := Find(t.Context(), []string{dir}, ""); err != nil || len(in.Files) != 1 {
		t.Errorf("got %v, error %v, want one file", in, err)
	}
	want := dir + ": expected a file, found d"
	if _, err := table.ExtentOf(t.Context(), dir, "jsonl"); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("directory: got error %v, want %q at its beginning", err, want)
	}
}

// TestHashOf checks that the hash covers the names and contents of the existing files, that a missing
// file differs from an empty one, and that the first file must exist.
func TestHashOf(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a"), "1")
	hash := func(names ...string) string {
		return must.Get(HashOf(dir, names...))(t)
	}
	one := hash("a", "b")
	write(t, filepath.Join(dir, "b"), "")
	both := hash("a", "b")
	write(t, filepath.Join(dir, "b"), "1")
	if one == both || hash("a", "b") == both || hash("a") == hash("b") || hash("a") != one {
		t.Error("different files have the same hash")
	}
	must.FailWith(t, fs.ErrNotExist, "without the first")(HashOf(dir, "c", "a"))
}

// TestUnreadableFolder checks that the error for a missing folder names the folder.
func TestUnreadableFolder(t *testing.T) {
	absent := filepath.Join(t.TempDir(), "absent")
	must.Fail(t, absent)(filesIn(absent))
}
