package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
)

// TestParseTarget checks the suffixes of valid targets, and that other targets are rejected.
func TestParseTarget(t *testing.T) {
	for name, want := range map[string]string{"linux/amd64": "linux-amd64", "darwin/arm64": "darwin-arm64",
		"windows/amd64": "windows-amd64"} {
		if got, err := parseTarget(name); err != nil || got.suffix() != want {
			t.Errorf("%s: got %v, %v, expected %s", name, got, err, want)
		}
	}
	for _, name := range []string{"", "linux", "linux/386", "plan9/amd64", "linux/amd64/cuda",
		"windows/amd64/vulkan", "linux/amd64 "} {
		if got, err := parseTarget(name); err == nil {
			t.Errorf("%q: got %v, expected an error", name, got)
		}
	}
	for _, name := range defaultTargets() {
		if _, err := parseTarget(name); err != nil {
			t.Error(err)
		}
	}
}

// TestEnvironment checks that user settings do not change the compiled code: neither environment
// variables nor defaults written by go env -w.
func TestEnvironment(t *testing.T) {
	defaults := filepath.Join(t.TempDir(), "env")
	must.Succeed(t, os.WriteFile(defaults, []byte("GOFLAGS=-tags=other\nCGO_CFLAGS=-O0\nGOEXPERIMENT=synctest\n"),
		0o666))
	t.Setenv("GOENV", defaults)
	t.Setenv("GOAMD64", "v3")
	names := []string{"GOFLAGS", "CGO_CFLAGS", "GOEXPERIMENT", "GOAMD64"}
	out, err := target{system: "linux", arch: "amd64"}.goCommand(t.Context(), t.TempDir(),
		append([]string{"env"}, names...)...)
	if want := "\n-O2 -g\n\nv1\n"; err != nil || string(out) != want { // -O2 -g is Go's default
		t.Errorf("got %q, error %v, want %q", out, err, want)
	}
}

// needSwitch skips a test that compiles releases or builds images, unless SFTSEQ_DIST is set.
func needSwitch(t *testing.T) {
	t.Helper()
	if os.Getenv("SFTSEQ_DIST") == "" {
		t.Skip("takes minutes: make test-dist sets SFTSEQ_DIST=1")
	}
}

// TestArchives builds archives for this machine from two checkouts, and for Windows from one. It checks
// the contents, and that both checkouts have the same archive for this machine. It also checks the
// versions of tagged and modified checkouts and, on Linux with amd64, the installation.
func TestArchives(t *testing.T) {
	needSwitch(t)
	here := host()
	a, b := release{root: checkout(t), out: t.TempDir(), scratch: t.TempDir()},
		release{root: checkout(t), out: t.TempDir(), scratch: t.TempDir()}
	windows := target{system: "windows", arch: "amd64"}
	must.Succeed(t, a.build(t.Context(), []target{here, windows}))
	must.Succeed(t, b.build(t.Context(), []target{here}))
	revision := strings.TrimSpace(command(t, a.root, "git", "rev-parse", "HEAD"))
	version := "v0.0.0-20300102030405-" + revision[:12]
	name := "sftseq-" + version + "-" + here.suffix() + ".tar.gz"
	first, second := read(t, filepath.Join(a.out, name)), read(t, filepath.Join(b.out, name))
	if !bytes.Equal(first, second) {
		t.Errorf("%s differs for a checkout in another folder", name)
	}
	if runtime.GOOS == "linux" {
		command(t, a.out, "sha256sum", "--check", "--strict", "SHA256SUMS")
	}
	if n := strings.Count(string(read(t, filepath.Join(a.out, "SHA256SUMS"))), "\n"); n != 2 {
		t.Errorf("SHA256SUMS has %d lines, expected 2", n)
	}

	program := checkArchive(t, untar(t, first), here)
	path := filepath.Join(t.TempDir(), "sftseq")
	must.Succeed(t, os.WriteFile(path, program, 0o777))
	var info struct {
		Version, Revision, Committed string
		Modified, Vulkan             bool
	}
	must.Succeed(t, json.Unmarshal([]byte(command(t, t.TempDir(), path, "version", "--json")), &info))
	if info.Version != version || info.Revision != revision || info.Committed != "2030-01-02T03:04:05Z" ||
		info.Modified || info.Vulkan {
		t.Errorf("got %+v, want version %s of revision %s, committed at %v, unmodified and without Vulkan", info,
			version, revision, committed.Format(time.RFC3339))
	}
	checkArchive(t, unzip(t, read(t, filepath.Join(a.out, "sftseq-"+version+"-windows-amd64.zip"))), windows)
	if here.suffix() == "linux-amd64" {
		checkInstallation(t, a.out, info.Version)
	}

	// versions of a tagged commit and of a modified tree
	command(t, b.root, "git", "tag", "v1.2.3")
	expectVersion(t, b, "v1.2.3")
	must.Succeed(t, os.WriteFile(filepath.Join(b.root, "README.md"), nil, 0o666))
	expectVersion(t, b, "v1.2.3+dirty")
}

// checkInstallation runs the commands of docs/install.md in the folder of the archives.
func checkInstallation(t *testing.T, archives, version string) {
	blocks := shellBlock.FindAllSubmatch(read(t, filepath.Join(root, "docs/install.md")), -1)
	if len(blocks) != 1 {
		t.Fatalf("docs/install.md has %d blocks of commands, expected 1", len(blocks))
	}
	home := t.TempDir()
	command(t, archives, "env", "HOME="+home, "sh", "-e", "-c", string(blocks[0][1]))
	if out := command(t, home, filepath.Join(home, ".local/bin/sftseq"),
		"version"); !strings.HasPrefix(out, "sftseq "+version+" ") {
		t.Errorf("installed version: got %s, want %s", out, version)
	}
	for _, name := range []string{"share/man/man1/sftseq.1", "share/bash-completion/completions/sftseq"} {
		if len(read(t, filepath.Join(home, ".local", name))) == 0 {
			t.Errorf("%s is empty", name)
		}
	}
}

var shellBlock = regexp.MustCompile("(?ms)^```sh\n(.*?)^```$")

func expectVersion(t *testing.T, r release, want string) {
	t.Helper()
	if _, from, err := r.program(t.Context(), host()); err != nil || from.version != want {
		t.Errorf("got version %q (error %v), want %q", from.version, err, want)
	}
}

// TestNoCommit checks that a tree without a commit cannot be released.
func TestNoCommit(t *testing.T) {
	testenv.Long(t, "runs the Go compiler")
	dir := t.TempDir()
	must.Succeed(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.org/x\n"), 0o666))
	must.Succeed(t, os.MkdirAll(filepath.Join(dir, "cmd/sftseq"), 0o777))
	must.Succeed(t, os.WriteFile(filepath.Join(dir, "cmd/sftseq/main.go"),
		[]byte("package main\n\nfunc main() {}\n"), 0o666))
	r := release{root: dir, out: filepath.Join(dir, "out"), scratch: t.TempDir()}
	must.Fail(t, "git checkout")(r.build(t.Context(), []target{host()}))
	if entries, err := os.ReadDir(r.out); err != nil || len(entries) > 0 {
		t.Errorf("output directory has %v (error %v), want no files", entries, err)
	}
}

// checkArchive checks the files of an archive and returns the program.
func checkArchive(t *testing.T, files map[string][]byte, of target) []byte {
	t.Helper()
	program := of.executable("sftseq")
	want := []string{program, "LICENSE", "NOTICE", "README.md", "man/man1/sftseq.1", "completions/sftseq.bash",
		"completions/_sftseq", "completions/sftseq.fish", "completions/sftseq.ps1"}
	if len(files) != len(want) {
		t.Errorf("%s has %d files, expected %d", of.suffix(), len(files), len(want))
	}
	for _, name := range want {
		if len(files[name]) == 0 {
			t.Errorf("%s has no %s", of.suffix(), name)
		}
	}
	info := must.Get(buildinfo.Read(bytes.NewReader(files[program])))(t)
	if len(info.Deps) < 20 {
		t.Errorf("%s: build info has %d modules, expected at least 20", of.suffix(), len(info.Deps))
	}
	for _, m := range info.Deps {
		if !strings.Contains(string(files["NOTICE"]), "\n"+m.Path+" "+m.Version+", ") {
			t.Errorf("%s: NOTICE has no line that begins with %q", of.suffix(), m.Path+" "+m.Version+", ")
		}
	}
	return files[program]
}

var committed = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

// untar and unzip map the paths in an archive, without the top-level folder, to the files' contents.
// They check modes, times and order; untar also checks owners.
func untar(t *testing.T, archive []byte) map[string][]byte {
	compressed := must.Get(gzip.NewReader(bytes.NewReader(archive)))(t)
	if !compressed.ModTime.IsZero() || compressed.Name != "" {
		t.Errorf("gzip header: got %+v, want no time and no name", compressed.Header)
	}
	var e entries
	for r := tar.NewReader(compressed); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return e.checked(t)
		}
		must.Succeed(t, err)
		if h.Uid != 0 || h.Gid != 0 || h.Uname != "" || h.Gname != "" {
			t.Errorf("%s: owner %d %q, group %d %q, want 0 and no names", h.Name, h.Uid, h.Uname, h.Gid, h.Gname)
		}
		e.add(t, h.Name, h.FileInfo().Mode(), h.ModTime, r)
	}
}

func unzip(t *testing.T, archive []byte) map[string][]byte {
	r := must.Get(zip.NewReader(bytes.NewReader(archive), int64(len(archive))))(t)
	var e entries
	for _, f := range r.File {
		content := must.Get(f.Open())(t)
		e.add(t, f.Name, f.Mode(), f.Modified, content)
		content.Close()
	}
	return e.checked(t)
}

type entries struct {
	names []string
	files map[string][]byte
}

func (e *entries) add(t *testing.T, name string, mode fs.FileMode, at time.Time, content io.Reader) {
	text := must.Get(io.ReadAll(content))(t)
	folder, within, _ := strings.Cut(name, "/")
	want := fs.FileMode(0o644)
	if strings.TrimSuffix(within, ".exe") == "sftseq" {
		want = 0o755
	}
	if !strings.HasPrefix(folder, "sftseq-v") || mode != want || !at.Equal(committed) {
		t.Errorf("%s: mode %v, time %v, want a folder sftseq-v…, mode %v, time %v", name, mode, at, want, committed)
	}
	if e.files == nil {
		e.files = map[string][]byte{}
	}
	e.names, e.files[within] = append(e.names, name), text
}

func (e *entries) checked(t *testing.T) map[string][]byte {
	if !slices.IsSorted(e.names) {
		t.Errorf("the archive's names are not sorted: %v", e.names)
	}
	return e.files
}

func read(t *testing.T, path string) []byte {
	return must.Get(os.ReadFile(path))(t)
}
