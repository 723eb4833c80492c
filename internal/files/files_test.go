package files

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/tokenizers"
)

// TestKinds checks that names and extensions belong to one kind each, that kinds are sorted, and that
// binary kinds other than those of ELF files have signatures.
func TestKinds(t *testing.T) {
	seen := map[string]bool{}
	for i, k := range Kinds {
		if i > 0 && Kinds[i-1].Name >= k.Name {
			t.Errorf("got kind %s after %s, want ascending names", k.Name, Kinds[i-1].Name)
		}
		if !k.text && k.signatures == nil && !strings.HasPrefix(k.Name, "elf-") {
			t.Errorf("%s: binary files without a signature", k.Name)
		}
		for _, e := range k.Extensions {
			if seen[e] {
				t.Errorf("%s: %s is an extension of two kinds", k.Name, e)
			}
			seen[e] = true
		}
	}
}

func TestKindOf(t *testing.T) {
	for file, want := range map[string]string{
		"/a/b.PY": "python", "Makefile": "make", "x/makefile": "", "/usr/lib/libm.so.6": "",
		"/usr/share/man/man3/x.3": "manpage", "/usr/lib/libx.3": "", "go.mod": "gomod", "a.mod": "",
		"a.tar.gz": "gzip", "a": "", ".py": "python", "a.d.ts": "typescript", "a.rst.txt": "rst", "b.RST.txt": "rst",
		"rst.txt": "txt", "a.c.txt": "txt", "CMakeLists.txt": "cmake",
	} {
		got := ""
		if k := KindOf(file); k >= 0 {
			got = Kinds[k].Name
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", file, got, want)
		}
	}
}

// TestAgrees checks whether contents agree with the kinds of the file names.
func TestAgrees(t *testing.T) {
	for _, c := range []struct {
		name, content string
		want          bool
	}{
		{"a.py", "import os\n", true},
		{"a.py", "import os\x00", false},
		{"a.js", "%PDF-1.4\n", false},
		{"a.txt", "BM is not a bitmap", true}, // a signature of two bytes does not exclude text
		{"a.png", "\x89PNG\r\n\x1a\n....", true},
		{"a.png", "GIF89a", false},
		{"a.wav", "RIFF\x00\x00\x00\x00WAVE", true},
		{"a.wav", "RIFF", false},
		{"a.opus", "OggS" + strings.Repeat("\x00", 24) + "OpusHead", true},
		{"a.opus", "OggS" + strings.Repeat("\x00", 24) + "\x01vorbis", false},
		{"a.beam", "FOR1\x00\x00\x01\x00BEAM", true},
		{"a.qm", "\x3c\xb8\x64\x18\xca\xef\x9c\x95", true},
		{"a.hi", "\x01\xfa\xce\x64\x00", true},
		{"a.cmi", "Caml1999I031", true},
		{"a.elc", ";ELC\x1b\x00\x00\x00", true},
		{"a.mat", "MATLAB 7.3 MAT-file", true},
		{"a.pcap", "\x4d\x3c\xb2\xa1\x02\x00", true},
		{"a.pcx", "\x0a\x03\x01\x08", true},
		{"a.pcx", "\x0a\x09\x01\x08", false},
		{"a.swf", "ZWS\x0d", true},
		{"a.lz4", "\x02\x21\x4c\x18", true},
		{"a.ppm", "P6 1 1 255\n", true},
		{"a.icc", strings.Repeat("\x00", 36) + "acsp", true},
		{"a.s3m", strings.Repeat("\x00", 44) + "SCRM", true},
		{"a.docx", "PK\x03\x04 word/document.xml", true},
		{"a.docx", "PK\x03\x04 xl/workbook.xml", false},
		{"a.json", "true", true}, // also the beginning of a font
		{"a.css", ".snd-bar {}", true},
		{"a.ini", "PAR1=foo", true},
		{"a.ini", "PK\x03\x04", false},
		{"a.ts", "<?xml version='1.0'?><TS>", false},
		{"a.service", "# comment\n[Unit]\n", true},
		{"a.service", "[D-BUS Service]\n", false},
		{"a.tar", strings.Repeat("x", 257) + "ustar", true},
		{"a.tar", strings.Repeat("x", 256) + "ustar", false},
		{"a.mp4", "\x00\x00\x00 ftypisom", true},
		{"a.webp", "RIFF\x00\x00\x00\x00WEBP", true},
		{"a.epub", "PK\x03\x04" + strings.Repeat("x", 26) + "mimetypeapplication/epub+zip", true},
	} {
		if got := Kinds[KindOf(c.name)].Agrees([]byte(c.content)); got != c.want {
			t.Errorf("%s with %q: got %v, want %v", c.name, c.content, got, c.want)
		}
	}
}

// TestELF checks the kinds of ELF files by their headers.
func TestELF(t *testing.T) {
	header := func(class, order byte, words ...byte) []byte {
		return slices.Concat([]byte("\x7fELF"), []byte{class, order}, make([]byte, 10), words, make([]byte, 8))
	}
	for _, c := range []struct {
		header []byte
		want   string
	}{
		{header(2, 1, 3, 0, 62, 0), "elf-amd64"},
		{header(2, 2, 0, 2, 0, 22), "elf-s390x"},
		{header(2, 1, 1, 0, 62, 0), "elf-object"},
		{header(2, 1, 2, 0, 9, 9), ""},
		{header(1, 1, 2, 0, 8, 0), "elf-mipsle"},
		{header(1, 2, 0, 2, 0, 8), "elf-mips"},
		{header(2, 1, 4, 0, 62, 0), ""}, // a core dump
		{header(2, 1, 0, 0, 62, 0), ""},
		{header(2, 3, 2, 0, 62, 0), ""},
		{[]byte("\x7fELF"), ""},
		{[]byte("MZ"), ""},
	} {
		got := ""
		if k := elfKind(c.header); k >= 0 {
			got = Kinds[k].Name
		}
		if got != c.want {
			t.Errorf("% x: got %q, want %q", c.header, got, c.want)
		}
	}
}

func TestPackages(t *testing.T) {
	dir := t.TempDir()
	must.Check(t, os.Mkdir(filepath.Join(dir, "info"), 0o777))
	for name, text := range map[string]string{
		"status":                      "Package: libpng16-16\nSource: libpng1.6 (1.6.39)\n\nPackage: sed\n",
		"info/libpng16-16:amd64.list": "/.\n/usr/lib/libpng16.so\n/lib/a.h\n",
		"info/sed.list":               "/bin/sed\n",
	} {
		must.Check(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
	}
	p := must.Get(OpenPackages(dir))(t)
	for file, want := range map[string]string{
		"/usr/lib/libpng16.so": "libpng",
		"/usr/lib/a.h":         "libpng",
		"/home/a/go/pkg/mod/gopkg.in/yaml.v2@v2.4.0/a.go":             "go/gopkg.in/yaml",
		"/home/a/go/pkg/mod/a.b/c@v1/vendor/gopkg.in/yaml.v3/x.go":    "go/gopkg.in/yaml",
		"/home/a/go/pkg/mod/a.b/c@v1/vendor/github.com/x/y/v2/z/x.go": "go/github.com/x/y",
		"/v/lib/python3.11/site-packages/__pycache__/six.c-311.pyc":   "python/six",
		"/v/lib/python3.11/site-packages/zope.interface-1.dist-info":  "python/zope",
		"/usr/bin/sed": "sed",
		"/home/a/go/pkg/mod/gonum.org/v1/gonum@v0.1/a/b.go":   "go/gonum.org/v1/gonum",
		"/home/a/go/pkg/mod/github.com/x/y/v15@v15.0.2/z.go":  "go/github.com/x/y",
		"/home/a/go/pkg/mod/cache/download/a.b/c/@v/v1.0.zip": "go/a.b/c",
		"/x/node_modules/a/node_modules/@b/c/d/e.js":          "npm/@b/c",
		"/x/node_modules/a/e.js":                              "npm/a",
		"/usr/lib/python3/dist-packages/My-Pack/x.py":         "python/my",
		"/v/lib/python3.11/site-packages/six.py":              "python/six",
		"/v/lib/python3.11/site-packages/six-1.0.dist-info":   "python/six",
		"/v/lib/python3.11/json/x.py":                         "python/core",
		"/srv/a-1.2-rc1/b3.1/c/d.py":                          "a",
		"/srv/libpng16-16/d.py":                               "libpng16",
		"/srv/python3.11/d.py":                                "python",
		"/srv/pkg7/d.py":                                      "pkg7",
		"/srv/lib2geom/d.py":                                  "lib2geom",
		"/srv/d.py":                                           ".",
	} {
		if got := p.Find(file, "/srv"); got != want {
			t.Errorf("%s: got %q, want %q", file, got, want)
		}
	}
	if p := must.Get(OpenPackages(filepath.Join(dir, "absent")))(t); p.Find("/srv/a/b/c.py", "/srv") != "a" {
		t.Error("without Debian's database, a file is not in the package of its folder")
	}
}

// TestSample checks Sample and Offset for file sizes around the limit, and the bytes of fragments.
func TestSample(t *testing.T) {
	all := make([]byte, 10_000)
	for i := range all {
		all[i] = byte(uint32(i) * 2654435761 >> 24) // neighbours differ
	}
	for _, size := range []int{0, 16, SampleBytes, SampleBytes + 1, len(all)} {
		got := must.Get(Sample(bytes.NewReader(all[:size]), int64(size)))(t)
		want := all[:size]
		if size > SampleBytes {
			middle := (size - MiddleBytes) / 2
			want = slices.Concat(all[:HeadBytes], all[middle:middle+MiddleBytes], all[size-TailBytes:size])
		}
		if !bytes.Equal(got, want) {
			t.Errorf("the sample of a file of %d bytes differs", size)
		}
		for i, b := range got {
			if all[Offset(i, int64(size))] != b {
				t.Fatalf("byte %d of the sample of a file of %d bytes is not at offset %d", i, size,
					Offset(i, int64(size)))
			}
		}
	}
	for place, at := range map[float64]int{0: 0, 0.5: 4750, 0.99999: len(all) - 500} {
		got := must.Get(Fragment(bytes.NewReader(all), int64(len(all)), 500, place))(t)
		if !bytes.Equal(got, all[at:at+500]) {
			t.Errorf("fragment at %g differs", place)
		}
	}
	if got := must.Get(Fragment(bytes.NewReader(all[:99]), 99, 500, 0.5))(t); len(got) != 99 {
		t.Errorf("fragment of a short file has %d bytes", len(got))
	}
	if _, err := Sample(bytes.NewReader(all[:100]), 200); err == nil {
		t.Error("a file that has become shorter returned no error")
	}
}

// software writes folders of 30 packages below dir. Each has two Python files of its own and one that
// all packages share, a JSON file in a zip archive, and a gzip file with a manual page. Each also has a
// mislabelled file, a file that is too short, and a link.
func software(t *testing.T, dir string) {
	for n := range 30 {
		folder := filepath.Join(dir, fmt.Sprintf("p%c%c", 'a'+n/26, 'a'+n%26), "x", "man1")
		must.Check(t, os.MkdirAll(folder, 0o777))
		write := func(name string, content []byte) {
			must.Check(t, os.WriteFile(filepath.Join(folder, name), content, 0o666))
		}
		write("a.py", fmt.Appendf(nil, "import number%d\nprint(number)\n", n))
		write("b.py", fmt.Appendf(nil, "from other import number%d\n", n))
		write("copy.py", []byte("# every package has this file\n"))
		write("c.pyc", fmt.Appendf(nil, "this is not byte code %d", n))
		write("short.py", []byte("#"))
		must.Check(t, os.Symlink("a.py", filepath.Join(folder, "link.py")))
		var packed bytes.Buffer
		z := zip.NewWriter(&packed)
		must.Get(must.Get(z.Create("in/d.json"))(t).Write(fmt.Appendf(nil, `{"a package": [%d]}`, n)))(t)
		must.Check(t, z.Close())
		write("e.zip", packed.Bytes())
		packed.Reset()
		g := gzip.NewWriter(&packed)
		must.Get(fmt.Fprintf(g, ".TH page %d\n.SH NAME\n", n))(t)
		must.Check(t, g.Close())
		write("f.1.gz", packed.Bytes())
	}
}

// collect returns the data set of the files below dir.
func collect(t *testing.T, dir string, o Options) (*seq.Dataset, *Summary) {
	found := must.Get(Walk(context.Background(), []string{dir}, &Packages{}, func(int) {}))(t)
	d, summary, err := Write(context.Background(), filepath.Join(t.TempDir(), "data"), o.Choose(found), o)
	must.Check(t, err)
	return d, summary
}

// texts returns the rows of a split: kinds and contents by id.
func texts(t *testing.T, d *seq.Dataset, split string) map[string]string {
	out := map[string]string{}
	r := must.Get(d.Reader(split))(t)
	defer r.Close()
	for rows, err := range r.All() {
		must.Check(t, err)
		for i := range rows.Len() {
			e := rows.Example(i)
			out[e.ID] = d.Manifest.LabelNames[e.Label] + " " + tokenizers.Byte{}.Decode(e.A)
		}
	}
	return out
}

// TestWrite checks the rows of a collected data set. It must contain files in archives, and omit
// duplicates, files whose content contradicts their kind, and rare kinds. Each package must be in only
// one split.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	software(t, dir)
	o := DefaultOptions
	o.MinFiles, o.Seed = 20, 1
	d, summary := collect(t, dir, o)
	if got := strings.Join(d.Manifest.LabelNames, " "); got != "gzip json manpage python zip" {
		t.Fatalf("got the kinds %s, want gzip json manpage python zip", got)
	}
	if python := summary.Kinds[3]; python.Files != 61 || python.Packages != 30 || summary.Duplicates != 29 {
		t.Errorf("got %+v and %d duplicates, want 61 Python files of 30 packages and 29 duplicates", python,
			summary.Duplicates)
	}
	if got := summary.Rare; len(got) != 1 || got[0] != (KindSummary{Name: "pyc", Mislabelled: 30, Missing: "train"}) {
		t.Errorf("got the omitted kinds %+v, want only pyc, with 30 mislabelled files", got)
	}
	rows := 0
	splits := map[string]string{}
	for _, split := range []string{"train", "val", "test"} {
		all := texts(t, d, split)
		rows += len(all)
		for id, text := range all {
			pack := strings.Split(strings.TrimPrefix(id, dir), "/")[1]
			if splits[pack] != "" && splits[pack] != split {
				t.Errorf("package %s is in %s and %s", pack, splits[pack], split)
			}
			splits[pack] = split
			switch filepath.Base(id) {
			case "d.json":
				if !strings.Contains(id, "e.zip!/in/d.json") || !strings.HasPrefix(text, `json {"a package"`) {
					t.Errorf(`got id %q, text %q; want e.zip!/in/d.json in the id, prefix json {"a package"`, id, text)
				}
			case "f.1":
				if !strings.Contains(id, "f.1.gz!/f.1") || !strings.HasPrefix(text, "manpage .TH page") {
					t.Errorf("got id %q, text %q; want f.1.gz!/f.1 in the id, prefix manpage .TH page", id, text)
				}
			}
		}
	}
	if rows != 61+4*30 || len(splits) != 30 {
		t.Errorf("got %d rows of %d packages, want %d of 30", rows, len(splits), 61+4*30)
	}
	again, _ := collect(t, dir, o)
	if !maps.Equal(texts(t, d, "test"), texts(t, again, "test")) {
		t.Error("the test split of a repetition differs")
	}
}

// TestMislabelled checks that the split Mislabelled is not empty and has only files whose content
// contradicts their kind, from packages of the test split.
func TestMislabelled(t *testing.T) {
	dir := t.TempDir()
	software(t, dir)
	var files []string
	for _, name := range must.Get(filepath.Glob(filepath.Join(dir, "*/x/man1/a.py")))(t) {
		wrong := filepath.Join(filepath.Dir(name), "wrong.py")
		must.Check(t, os.WriteFile(wrong, []byte("GIF89a of "+name), 0o666))
		files = append(files, wrong)
	}
	o := DefaultOptions
	o.MinFiles, o.Seed = 20, 1
	d, summary := collect(t, dir, o)
	if got := summary.Kinds[3].Mislabelled; got != len(files) {
		t.Errorf("got %d mislabelled files, want %d", got, len(files))
	}
	test, wrong := texts(t, d, "test"), texts(t, d, Mislabelled)
	if len(wrong) == 0 {
		t.Errorf("the split %s is empty", Mislabelled)
	}
	for id, text := range wrong {
		if filepath.Base(id) != "wrong.py" || !strings.HasPrefix(text, "python GIF89a") ||
			test[filepath.Join(filepath.Dir(id), "a.py")] == "" {
			t.Errorf("split %s: got id %q, text %q; want wrong.py beside an a.py in test, prefix python GIF89a",
				Mislabelled, id, text)
		}
	}
}

// TestChoose checks that Choose takes a file of every package before a second file of any package, and
// respects the limits.
func TestChoose(t *testing.T) {
	var all []File
	for _, size := range []struct {
		pack string
		n    int
	}{{"large", 100}, {"small", 1}, {"medium", 5}} {
		for i := range size.n {
			file := File{Path: fmt.Sprintf("%s/%d.py", size.pack, i), Kind: KindOf("a.py"), Package: size.pack}
			all = append(all, file)
		}
	}
	for _, c := range []struct {
		perKind, perPackage int
		want                map[string]int
	}{
		{3, 50, map[string]int{"large": 1, "small": 1, "medium": 1}},
		{6, 50, map[string]int{"large": 3, "small": 1, "medium": 2}},
		{1000, 4, map[string]int{"large": 4, "small": 1, "medium": 4}},
		{1000, 200, map[string]int{"large": 100, "small": 1, "medium": 5}},
	} {
		o := Options{PerKind: c.perKind, PerPackage: c.perPackage}
		got := map[string]int{}
		for _, f := range o.Choose(all) {
			got[f.Package]++
		}
		if c.perKind == 6 && got["large"]+got["medium"] == 5 {
			got = c.want // the sixth file is random: of large or of medium
		}
		if !maps.Equal(got, c.want) {
			t.Errorf("at most %d files, %d per package: got %v, want %v", c.perKind, c.perPackage, got, c.want)
		}
	}
}

// TestWalk checks that Walk finds the kinds of files by their names or ELF headers, and in archives. Files
// are listed once if a root is repeated or within another root. A root may be a link.
func TestWalk(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, content []byte) {
		name = filepath.Join(dir, "p", name)
		must.Check(t, os.MkdirAll(filepath.Dir(name), 0o777))
		must.Check(t, os.WriteFile(name, content, 0o666))
	}
	text := []byte("a text of some length\n")
	for _, name := range []string{"Makefile", "Dockerfile", "README", "man8/ld.so.8", "x.so.py", "libx.so.8",
		"name\xff.py"} {
		write(name, text)
	}
	write("libelf.so.1", slices.Concat([]byte("\x7fELF\x02\x01"), make([]byte, 10), []byte{3, 0, 62, 0}, text))
	write("short.py", []byte("#"))
	for _, extension := range []string{".zip", ".jar", ".whl"} {
		var packed bytes.Buffer
		z := zip.NewWriter(&packed)
		for name, n := range map[string]int{"a.py": 20, "b.py": 5, "c.py": maxMember + 1, "../d.py": 20,
			"e\\f.py": 20} {
			must.Get(must.Get(z.Create(name))(t).Write(make([]byte, n)))(t)
		}
		link := &zip.FileHeader{Name: "link.py"}
		link.SetMode(os.ModeSymlink | 0o777)
		must.Get(must.Get(z.CreateHeader(link))(t).Write(text))(t)
		must.Check(t, z.Close())
		write("archive"+extension, packed.Bytes())
	}
	must.Check(t, os.Symlink(filepath.Join(dir, "p"), filepath.Join(dir, "link")))
	want := []string{"Dockerfile dockerfile", "Makefile make", "archive.jar jar", "archive.jar!/a.py python",
		"archive.whl zip", "archive.whl!/a.py python", "archive.zip zip", "archive.zip!/a.py python",
		"libelf.so.1 elf-amd64", "man8/ld.so.8 manpage", "x.so.py python"}
	for _, roots := range [][]string{{dir}, {dir, dir}, {filepath.Join(dir, "p"), dir}, {filepath.Join(dir, "link")}} {
		var got []string
		for _, f := range must.Get(Walk(context.Background(), roots, &Packages{}, func(int) {}))(t) {
			got = append(got, strings.TrimPrefix(f.Name(), filepath.Join(dir, "p")+"/")+" "+Kinds[f.Kind].Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("roots %q: got %q, want %q", roots, got, want)
		}
	}
	for _, root := range []string{"", filepath.Join(dir, "absent"), filepath.Join(dir, "p/Makefile")} {
		if _, err := Walk(context.Background(), []string{root}, &Packages{}, func(int) {}); err == nil {
			t.Errorf("root %q returned no error", root)
		}
	}
}

// TestUnreadable checks that files which are too long or damaged are counted, and that the error of the
// first is kept.
func TestUnreadable(t *testing.T) {
	dir := t.TempDir()
	var packed bytes.Buffer
	g := gzip.NewWriter(&packed)
	must.Get(g.Write(make([]byte, maxMember+1)))(t)
	must.Check(t, g.Close())
	must.Check(t, os.WriteFile(filepath.Join(dir, "a.py.gz"), packed.Bytes(), 0o666))
	must.Check(t, os.WriteFile(filepath.Join(dir, "b.py.gz"), packed.Bytes()[:1000], 0o666))
	found := must.Get(Walk(context.Background(), []string{dir}, &Packages{}, func(int) {}))(t)
	o := DefaultOptions
	rows, summary, err := o.read(context.Background(), found)
	if err != nil || len(rows) != 2 || summary.Unreadable != 2 || summary.FirstError == nil ||
		!strings.Contains(summary.FirstError.Error(), "a.py.gz!/a.py: the file has more than 16 MiB") {
		t.Errorf("got %d rows, %+v, error %v, want 2 rows, 2 unreadable files and the error of a.py", len(rows),
			summary, err)
	}
}

// TestDuplicates checks that one of several rows with equal samples or equal fragments is kept: the first
// whose content agrees with its kind, otherwise the first.
func TestDuplicates(t *testing.T) {
	of := func(name, sample, bytes string, agrees bool) row {
		return row{file: File{Path: name}, sample: []byte(sample), bytes: []byte(bytes), agrees: agrees}
	}
	var got []string
	rows := []row{of("a", "s", "1", false), of("b", "s", "2", true), of("c", "s", "3", true), of("d", "t", "2", true),
		of("e", "u", "4", false), of("f", "u", "5", false), of("g", "v", "6", true)}
	for _, r := range withoutDuplicates(rows) {
		got = append(got, r.file.Path)
	}
	if !slices.Equal(got, []string{"b", "e", "g"}) {
		t.Errorf("got %q, want b, e and g", got)
	}
}

// TestSplits checks the fractions of packages in the splits, and that another seed changes the splits.
func TestSplits(t *testing.T) {
	counts, moved := map[string]int{}, 0
	const n = 10_000
	for i := range n {
		name := fmt.Sprint("package ", i)
		split := (&Options{}).split(name)
		counts[split]++
		if (&Options{Seed: 1}).split(name) != split {
			moved++
		}
	}
	for split, want := range map[string]int{"train": 8000, "val": 1000, "test": 1000} {
		if got := counts[split]; got < want-150 || got > want+150 {
			t.Errorf("%d of %d packages are in %s, want about %d", got, n, split, want)
		}
	}
	if moved < 3000 || moved > 3800 { // 1 − 0.8² − 2·0.1²
		t.Errorf("another seed moves %d of %d packages, want about 3400", moved, n)
	}
}
