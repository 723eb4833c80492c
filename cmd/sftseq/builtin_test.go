package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	builtin "github.com/sftseq/sftseq/models"
)

// TestBuiltin checks the models of the program: their names, their folders in the cache, and that other content of a
// folder is replaced.
func TestBuiltin(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	for _, name := range builtin.Names() {
		shown := succeed(t, "", "info", "--model", "builtin:"+name)
		contains(t, shown, `"model_type"`)
		notContains(t, shown, `"/`) // no path of the machine that trained the model
		contains(t, succeed(t, `{"text":"package main"}`, "predict", "--model", "builtin:"+name), `"label"`)
		succeed(t, "", "info", "builtin:"+name)
		found := must.Get(filepath.Glob(filepath.Join(cache, "sftseq/models", name+"-*")))(t)
		if len(found) != 1 {
			t.Fatalf("got the folders %v", found)
		}
		weights := filepath.Join(found[0], "model.safetensors")
		info := must.Get(os.Stat(weights))(t)
		if info.Size() > 2<<20 {
			t.Errorf("%s has %d bytes, want at most 2 MiB", weights, info.Size())
		}
		contains(t, readText(t, filepath.Join("../../models", name, "README.md")), "## Data", "## Accuracy",
			"## Limits")
		succeed(t, "", "info", "--model", "builtin:"+name)
		if again := must.Get(os.Stat(weights))(t); !again.ModTime().Equal(info.ModTime()) {
			t.Error("the second command wrote the model again")
		}
		must.Check(t, os.WriteFile(weights, []byte("damaged"), 0o666))
		succeed(t, "", "info", "--model", "builtin:"+name)
	}
	refuse(t, exitError, `--model builtin:nothing: expected a model of the program (`+
		strings.Join(builtin.Names(), ", ")+`), found "nothing"`, "", "info", "--model", "builtin:nothing")
	t.Setenv("XDG_CACHE_HOME", writeText(t, filepath.Join(t.TempDir(), "file"), ""))
	refuse(t, exitError, "--model builtin:files: ", "", "info", "--model", "builtin:files")
}

// TestBuiltinFiles checks the kinds of some files of this repository by the model of the program, which reads their
// content: a name does not matter.
func TestBuiltinFiles(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	wrong := writeText(t, filepath.Join(t.TempDir(), "table.csv"), readText(t, "main.go"))
	want := map[string]string{"main.go": "go", "../../go.mod": "gomod", "../../Makefile": "make",
		"../../README.md": "markdown", "../../docs/layer.svg": "svg", wrong: "go",
		"../../internal/report/page.html": "html", "../../examples/files/packages.sh": "shell",
		"../../internal/export/modeling_sft.py": "python"}
	args := []string{"files", "--json"}
	for path := range want {
		args = append(args, path)
	}
	for line := range strings.Lines(succeed(t, "", args...)) {
		var r fileResult
		must.Check(t, json.Unmarshal([]byte(line), &r))
		if r.Kind != want[r.Path] {
			t.Errorf("got %s, want %s", line, want[r.Path])
		}
	}
}
