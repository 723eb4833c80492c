package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
)

// TestPythonClient runs the tests of clients/python, and its example as the example's docstring shows,
// against the program.
func TestPythonClient(t *testing.T) {
	testenv.NeedPrograms(t, "python3")
	path, model := built(t), goldenPath("post") // predicts different classes for the example's sequences
	source := must.Get(filepath.Abs("../../clients/python"))(t)
	models, session := clientModels(t), sessionOf(t, model, pythonSession)
	t.Parallel()
	python := []string{"env", "PYTHONPATH=" + filepath.Join(source, "src"), "PYTHONDONTWRITEBYTECODE=1",
		"SFTSEQ_PROGRAM=" + path, "SFTSEQ_GOLDEN=" + models, "python3"}
	example := append(python[:len(python):len(python)], filepath.Join(source, "example.py"))
	// The debounce keeps a slow client from receiving a result between its two changes.
	flags := []string{"--log", "warn", "--debounce", "500ms"}

	t.Run("tests", func(t *testing.T) {
		_, errs, err := runClient(t, "", python, "-W", "error::ResourceWarning", "-m", "unittest", "discover", "-s",
			filepath.Join(source, "tests"))
		if err != nil || !strings.Contains(errs, "\nOK") {
			t.Errorf("got error %v, output:\n%s\nwant error <nil> and a line that begins with OK", err, errs)
		}
	})
	t.Run("tests of a clone", func(t *testing.T) { // without SFTSEQ_PROGRAM and SFTSEQ_GOLDEN
		testenv.NeedPrograms(t, "go")
		_, errs, err := runClient(t, "", []string{"env", "PYTHONDONTWRITEBYTECODE=1", "python3"}, "-m", "unittest",
			"discover", "-s", filepath.Join(source, "tests"), "-k", "classify_returns", "-k", "tags_return")
		if err != nil || !regexp.MustCompile(`Ran 2 tests.*\s+OK \(skipped=1\)`).MatchString(errs) {
			t.Errorf("got error %v, output:\n%s\nwant error <nil>, Ran 2 tests and OK (skipped=1)", err, errs)
		}
	})
	t.Run("example", func(t *testing.T) {
		got := client(t, "", example, append([]string{path, model}, flags...)...)
		checkSession(t, got, strings.Replace(session, "$status", "0", 1))
		_, errs, err := runClient(t, "", example, path, "no/model")
		if err == nil || !strings.Contains(errs, "expected a model directory") {
			t.Errorf("without a model: %v\n%s", err, errs)
		}
	})
	t.Run("example over a socket", func(t *testing.T) {
		socket := serveSocket(t, append([]string{path, "serve", "--model", model}, flags...))
		for range 2 { // a client that disconnects does not stop the server
			checkSession(t, client(t, "", example, "unix:"+socket), strings.Replace(session, "$status", "None", 1))
		}
	})
}

// TestPythonInstall checks that pip installs clients/python without leaving files in the source.
// Debian's Python has pip and the build backend, so nothing is downloaded.
func TestPythonInstall(t *testing.T) {
	const python = "/usr/bin/python3"
	if _, err := exec.Command(python, "-c", "import pip, flit_core").Output(); err != nil {
		testenv.Missing(t, "Python's pip and flit_core", errors.New("Debian has them in python3-pip and flit"))
	}
	source, target := filepath.Join(t.TempDir(), "python"), t.TempDir()
	must.Succeed(t, os.CopyFS(source, os.DirFS("../../clients/python")))
	before := filesBelow(t, source)
	client(t, "", []string{python, "-m", "pip"}, "install", "--no-build-isolation", "--no-index", "--quiet", "--target",
		target, source)
	equal(t, filesBelow(t, source), before)
	out := client(t, "", []string{"env", "PYTHONDONTWRITEBYTECODE=1", "PYTHONPATH=" + target, python, "-c",
		"import sftseq, importlib.metadata as m; print(sftseq.__file__, m.version('sftseq-client'))"})
	equal(t, out, filepath.Join(target, "sftseq", "__init__.py")+" 0.1.0\n")
	must.Get(os.Stat(filepath.Join(target, "sftseq", "py.typed")))(t)
}

// filesBelow returns the paths of a folder and of all files and folders below it.
func filesBelow(t *testing.T, folder string) (names []string) {
	t.Helper()
	must.Succeed(t, filepath.WalkDir(folder, func(name string, _ os.DirEntry, err error) error {
		names = append(names, name)
		return err
	}))
	return names
}
