package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
)

// TestPythonClient runs the tests of clients/python, and its example as its comment says,
// against the program.
func TestPythonClient(t *testing.T) {
	testenv.NeedPrograms(t, "python3")
	path, model := built(t), goldenPath("post") // whose classes of the example's sequences differ
	source := must.Get(filepath.Abs("../../clients/python"))(t)
	models, session := clientModels(t), sessionOf(t, model, pythonSession)
	t.Parallel()
	python := []string{"env", "PYTHONPATH=" + filepath.Join(source, "src"), "PYTHONDONTWRITEBYTECODE=1",
		"SFTSEQ_PROGRAM=" + path, "SFTSEQ_GOLDEN=" + models, "python3"}
	example := append(python[:len(python):len(python)], filepath.Join(source, "example.py"))
	// A client that the machine holds up between two changes must not be given the first.
	flags := []string{"--log", "warn", "--debounce", "500ms"}

	t.Run("tests", func(t *testing.T) {
		_, errs, err := runClient(t, "", python, "-W", "error::ResourceWarning", "-m", "unittest", "discover", "-s",
			filepath.Join(source, "tests"))
		if err != nil || !strings.Contains(errs, "\nOK") {
			t.Errorf("%v\n%s", err, errs)
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
		for range 2 { // a client that leaves does not take the server along
			checkSession(t, client(t, "", example, "unix:"+socket), strings.Replace(session, "$status", "None", 1))
		}
	})
}
