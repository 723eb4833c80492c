package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/files"
	"github.com/sftseq/sftseq/internal/must"
	builtin "github.com/sftseq/sftseq/models"
)

// TestBuiltin checks the built-in models: their names, their folders in the cache, and that damaged files in the cache
// are replaced.
func TestBuiltin(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	input := map[string]string{"files": `{"text":"package main"}`,
		"fragments":  `{"text":"package main"}`,
		"listops":    `{"text":"[MAX 2 9 ]"}`,
		"pathfinder": fmt.Sprintf(`{"tokens":[%s0]}`, strings.Repeat("0,", 1023))}
	help := succeed(t, "", "--help")
	for _, name := range builtin.Names() {
		contains(t, help, "builtin:"+name)
		shown := succeed(t, "", "info", "--model", "builtin:"+name)
		contains(t, shown, `"model_type"`)
		notContains(t, shown, `"/`) // no path of the machine that trained the model
		if !strings.HasPrefix(shown, "builtin:"+name+"\n") {
			t.Errorf("%s: got %.60q, want the model's name", name, shown)
		}
		served, _ := exits(t, exitOK, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`, "serve",
			"builtin:"+name)
		contains(t, served, `"model":{"name":"builtin:`+name+`"`)
		_, missing := exits(t, exitUsage, "", "eval", "--model", "builtin:"+name)
		contains(t, missing, "expected an Arrow file or a data set directory; see sftseq eval --help")
		contains(t, succeed(t, input[name], "predict", "--model", "builtin:"+name), `"label"`)
		succeed(t, "", "info", "builtin:"+name)
		found := must.Get(filepath.Glob(filepath.Join(cache, "sftseq/models", name+"-*")))(t)
		if len(found) != 1 {
			t.Fatalf("got the folders %v, want one folder of %s", found, name)
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
	refuse(t, exitUsage, "--model builtin:nothing: expected builtin:"+strings.Join(builtin.Names(), ", builtin:"), "",
		"info", "--model", "builtin:nothing")
	prose := readText(t, proseTable(t, 20))
	tableData(t, "reviews.csv", prose, "--text", "review", "--label", "mood", "--tokenizer", "from:builtin:files")
	refuse(t, exitUsage, "--tokenizer from:builtin:nothing: expected builtin:files", "", "data", "convert", "--from",
		writeText(t, filepath.Join(t.TempDir(), "r.csv"), prose), "--text", "review", "--label", "mood", "--to",
		filepath.Join(t.TempDir(), "data"), "--tokenizer", "from:builtin:nothing")
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	t.Setenv("XDG_CACHE_HOME", writeText(t, filepath.Join(t.TempDir(), "file"), "")) // not a folder
	contains(t, succeed(t, "", "files", "main.go"), "main.go: go ")
	if left := must.Get(os.ReadDir(temporary))(t); len(left) > 0 {
		t.Errorf("%s stays in the temporary folder", left[0].Name())
	}
	t.Setenv("TMPDIR", filepath.Join(temporary, "none"))
	refuse(t, exitError, "--model builtin:files: ", "", "info", "--model", "builtin:files")
}

// TestBuiltinFiles checks the kinds that builtin:files predicts for some files of this repository. The model reads the
// content of a file, not its name.
func TestBuiltinFiles(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	wrong := writeText(t, filepath.Join(t.TempDir(), "table.csv"), readText(t, "main.go"))
	want := map[string]string{"main.go": "go", "../../go.mod": "gomod", "../../Makefile": "make",
		"../../README.md": "markdown", "../../docs/layer.svg": "svg", wrong: "go",
		"../../internal/report/page.html": "html", "../../examples/files/packages.sh": "shell",
		"../../clients/python/src/sftseq/client.py": "python"}
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

// TestBuiltinAccuracy checks the accuracy of two built-in models on 64 new rows. On 20,000 images of 14
// dashes the accuracy is 86%, on 10,000 expressions 55%.
func TestBuiltinAccuracy(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for task, minimum := range map[string]float64{"pathfinder": 0.75, "listops": 0.45} {
		data := filepath.Join(t.TempDir(), "data")
		mustRunData(t, "generate", task, "--out", data, "--train", "0", "--val", "0", "--test", "64", "--seed", "7",
			"--no-baselines")
		result := decode[struct {
			Model    string
			Accuracy float64
		}](t, printed(t, "", "eval", "--model", "builtin:"+task, "--data", data, "--json"))
		if result.Accuracy < minimum || result.Model != "builtin:"+task {
			t.Errorf("got model %s, accuracy %v of 64 rows, want at least %v", result.Model, result.Accuracy, minimum)
		}
	}
}

// TestBlockEvidence checks the evidence of a model with layers: the blocks whose removal lowers the probability of
// the kind most. For short files it compares the weights with the predictions for the file without each block. For a
// long file it checks that the block with the largest weight is at the end.
func TestBlockEvidence(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	whole := readText(t, "main.go")
	long := strings.Repeat("17 4 9 22 8 1 64 3 90 5\n", 120) + whole[:512]
	for _, c := range []struct {
		text string
		size int
	}{{whole[:1500], 64}, {whole[200:400], 16}, {long, 64}} {
		dir := t.TempDir()
		name := writeText(t, filepath.Join(dir, "whole"), c.text)
		var want fileResult
		shown := succeed(t, "", "files", "--json", "--evidence", "--threshold", "0", name)
		must.Check(t, json.Unmarshal([]byte(shown), &want))
		args := []string{"files", "--json", "--threshold", "0"}
		for _, e := range want.Evidence {
			if e.End-e.Start > int64(c.size) || e.Start < 0 || e.End > int64(len(c.text)) {
				t.Fatalf("%d bytes: got evidence at bytes %d to %d, want at most %d bytes within the file", len(c.text),
					e.Start, e.End, c.size)
			}
		}
		if len(want.Evidence) != maxEvidence {
			t.Fatalf("%d bytes: got evidence %+v, want %d ranges", len(c.text), want.Evidence, maxEvidence)
		}
		if len(c.text) > files.SampleBytes { // removed bytes would move the other parts of the sample
			if e := want.Evidence[0]; e.Start < int64(len(c.text)-512) {
				t.Errorf("got the largest evidence at bytes %d to %d, want it in the last 512 of %d bytes", e.Start,
					e.End, len(c.text))
			}
			continue
		}
		var starts []int
		for first := 0; first < len(c.text); first += c.size {
			rest := c.text[:first] + c.text[min(len(c.text), first+c.size):]
			args = append(args, writeText(t, filepath.Join(dir, fmt.Sprintf("%04d", first)), rest))
			starts = append(starts, first)
		}
		changes := map[int64]float64{}
		for line := range strings.Lines(succeed(t, "", args...)) {
			var r fileResult
			must.Check(t, json.Unmarshal([]byte(line), &r))
			if r.Nearest != want.Nearest {
				t.Fatalf("got the kind %s for %s, want %s as for the whole file", r.Nearest, r.Path, want.Nearest)
			}
			changes[int64(starts[len(changes)])] = math.Log(want.Probability) - math.Log(r.Probability)
		}
		order := slices.SortedFunc(maps.Values(changes), func(a, b float64) int { return cmp.Compare(b, a) })
		for i, e := range want.Evidence {
			if math.Abs(float64(e.Weight)-changes[e.Start]) > 1e-5 || math.Abs(float64(e.Weight)-order[i]) > 1e-5 {
				t.Errorf("evidence %d at byte %d: got weight %v, want %v for this block and %v for this rank", i,
					e.Start, e.Weight, changes[e.Start], order[i])
			}
		}
	}
}
