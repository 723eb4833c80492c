package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/hftokenizer"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/onnx/onnxtest"
	"github.com/sftseq/sftseq/internal/testenv"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/tokenizers"
)

// TestExportONNX checks that the command writes a complete, reproducible file and describes it.
func TestExportONNX(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "model.onnx")
	out := succeed(t, "", "export", "onnx", goldenPath("tagging"), "--output", path)
	hasPrefix(t, out, path+": "+goldenPath("tagging")+" of the task tagging as ONNX, ")
	first := readText(t, path)
	m := onnxtest.Read(t, []byte(first))
	if want := []string{"logits", "embedding"}; !slices.Equal(m.Outputs, want) ||
		m.Metadata["label_names"] != `["O","B-X","I-X"]` {
		t.Errorf("got outputs %v and metadata %v, want outputs %v and three label names", m.Outputs, m.Metadata, want)
	}
	if succeed(t, "", "export", "onnx", goldenPath("tagging"), "--output", path); readText(t, path) != first {
		t.Error("a second export of the same model writes a different file")
	}
	refuse(t, exitUsage, "expected one MODEL, a model directory, found 0 arguments", "", "export",
		"onnx", "--output", path)
	refuse(t, exitUsage, "--output is missing", "", "export", "onnx", goldenPath("pre"))
	refuse(t, exitUsage, "expected a command: onnx, pytorch", "", "export")
	refuse(t, exitError, "expected a model directory", "", "export", "onnx", dir, "--output", path)
	folder := filepath.Join(t.TempDir(), "folder.onnx")
	must.Succeed(t, os.Mkdir(folder, 0o777))
	refuse(t, exitError, "cannot be replaced", "", "export", "onnx", goldenPath("pre"), "--output", folder)
	for _, name := range []string{"model.pt", "model", "model.safetensors"} {
		other := filepath.Join(dir, name)
		refuse(t, exitUsage, "--output \""+other+"\": expected a file name that ends in .onnx (export pytorch "+
			"writes a "+
			"folder for PyTorch)", "", "export", "onnx", goldenPath("pre"), "--output", other)
		noFile(t, other)
	}
	succeed(t, "", "export", "onnx", goldenPath("tagging"), "--output", filepath.Join(folder, "new", "M.ONNX"))
	equal(t, readText(t, filepath.Join(folder, "new", "M.ONNX")), first)
	readText(t, filepath.Join(folder, "new", "M.tokenizer.json"))
	own := t.TempDir()
	must.Succeed(t, os.CopyFS(own, os.DirFS(goldenPath("pre"))))
	refuse(t, exitUsage, "this would overwrite a file of the model", "", "export", "onnx", own, "--output",
		filepath.Join(own, "model.safetensors"))
	equal(t, readText(t, path), first)
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("error %v, %d files are left, want the model and its tokenizer", err, len(left))
	}
}

// TestExportedTokenizer checks that exports of models with a word tokenizer or a tokenizer.json
// have a tokenizer.json with the same token ids. The example in docs/export.md reads the file.
// Exports of other models have no such file.
func TestExportedTokenizer(t *testing.T) {
	dir := t.TempDir()
	const text = "Ann Lee met Zoë in New York, at all."
	model := goldenPath("tagging")
	tokenizer := must.Get(tokenizers.Open(must.Get(config.Read(filepath.Join(model, "config.json")))(t).Tokenizer,
		model))(t)
	want := must.Get(tokenizer.Encode(text))(t)
	out := succeed(t, "", "export", "onnx", model, "--output", filepath.Join(dir, "reviews.onnx"))
	path := filepath.Join(dir, "reviews.tokenizer.json")
	contains(t, out, "\n"+path+": ")
	folder := filepath.Join(dir, "pytorch")
	for range 2 { // an export can be overwritten
		succeed(t, "", "export", "pytorch", model, "--output", folder)
	}
	equal(t, readText(t, filepath.Join(folder, "tokenizer.json")), readText(t, path))
	read := must.Get(hftokenizer.Parse([]byte(readText(t, path))))(t)
	if got := must.Get(read.Encode(text))(t); !slices.Equal(got, want) || !slices.Contains(want, 1) ||
		slices.Max(want) == 1 {
		t.Errorf("got token ids %d, want %d with known and unknown words", got, want)
	}
	// A model that already has a tokenizer.json.
	hf := filepath.Join(dir, "hf")
	must.Succeed(t, os.CopyFS(hf, os.DirFS(model)))
	must.Succeed(t, os.WriteFile(filepath.Join(hf, "tokenizer.json"), []byte(readText(t, path)), 0o666))
	_, spec, _, err := tokenizers.ReadFile(path)
	must.Succeed(t, err)
	config := map[string]any{}
	must.Succeed(t, json.Unmarshal([]byte(readText(t, filepath.Join(hf, "config.json"))), &config))
	config["tokenizer"] = spec
	writeText(t, filepath.Join(hf, "config.json"), string(must.Get(json.Marshal(config))(t)))
	succeed(t, "", "export", "pytorch", hf, "--output", filepath.Join(dir, "hf-pytorch"))
	succeed(t, "", "import", "pytorch", filepath.Join(dir, "hf-pytorch"), "--output", filepath.Join(dir, "back"))
	equal(t, readText(t, filepath.Join(dir, "back", "tokenizer.json")), readText(t, path))
	succeed(t, "", "export", "onnx", goldenPath("pre"), "--output", filepath.Join(dir, "pre.onnx"))
	if _, err := os.Stat(filepath.Join(dir, "pre.tokenizer.json")); err == nil {
		t.Error("a model without a word tokenizer has a tokenizer.json")
	}

	testenv.NeedPrograms(t, "node")
	testenv.NeedFile(t, "npm's @huggingface/tokenizers",
		filepath.Join(npmTests, "node_modules/@huggingface/tokenizers"))
	_, script, found := strings.Cut(readText(t, "../../docs/export.md"), "```js\n")
	script, _, ends := strings.Cut(script, "```")
	if !found || !ends {
		t.Fatal("docs/export.md has no example in JavaScript")
	}
	script = strings.NewReplacer("reviews.tokenizer.json", path, "Not bad at all.", text).Replace(script)
	c := exec.CommandContext(t.Context(), "node", "--input-type=module", "-e",
		script+"\nconsole.log(JSON.stringify(ids))")
	c.Dir = npmTests
	printed := must.Get(c.Output())(t)
	equal(t, strings.TrimSpace(string(printed)), string(must.Get(json.Marshal(want))(t)))
}

// TestExportedModel trains a model and checks that ONNX Runtime and predict agree for sequences of up
// to 3000 tokens. Where the scores of a few tokens are almost equal, rounding decides which tokens
// are sampled. Therefore 1 of 200 sequences may differ by more than 1e-4, but no label may change.
func TestExportedModel(t *testing.T) {
	testenv.Long(t, "trains a model")
	testenv.NeedPrograms(t, "node")
	testenv.NeedFile(t, "npm's onnxruntime-node", filepath.Join(examplesDir, "onnx/node_modules/onnxruntime-node"))
	dir := t.TempDir()
	data, run, path := tinyData(t), filepath.Join(dir, "run"), filepath.Join(dir, "model.onnx")
	done(t, "", "train", "listops", "--data", data, "--out", run, "--steps", "30", "--batch", "8", "--hidden", "32",
		"--stages", "none", "--k", "24")
	succeed(t, "", "export", "onnx", run, "--output", path)

	var lines strings.Builder
	draw := rand.New(rand.NewPCG(1, 5))
	const sequences = 200
	for i := range sequences {
		tokens := make([]int, int(math.Exp(draw.Float64()*math.Log(3000))))
		if i == 0 {
			tokens = make([]int, 3000)
		}
		for at := range tokens {
			tokens[at] = 1 + draw.IntN(16)
		}
		fmt.Fprintf(&lines, "{\"id\":%d,\"tokens\":%s}\n", i, must.Get(json.Marshal(tokens))(t))
	}
	predicted, _ := exits(t, exitOK, lines.String(), "predict", "--model", run) // warns of long inputs
	want := replyLines(t, predicted)
	got := replyLines(t, client(t, lines.String(), []string{"node", filepath.Join(examplesDir, "onnx/run.mjs")}, path))
	if len(got) != sequences || len(want) != sequences {
		t.Fatalf("got %d predictions from ONNX Runtime, %d from predict, want %d from each", len(got), len(want),
			sequences)
	}
	differing := 0
	for i, w := range want {
		difference := 0.0
		for n, v := range w.Logits {
			difference = max(difference, math.Abs(float64(v)-float64(got[i].Logits[n])))
		}
		if !(difference <= 1e-4) {
			differing++
			t.Logf("line %d of %d tokens: logits differ by %.1e", i, w.Length, difference)
		}
		equal(t, fmt.Sprint(w.Label), fmt.Sprint(slices.Index(got[i].Logits, slices.Max(got[i].Logits))), i, w.Length,
			w.Label)
	}
	if differing > sequences/200 {
		t.Errorf("%d of %d sequences differ by more than 1e-4", differing, sequences)
	}
}

// TestExportPyTorch checks that predictions are bitwise identical after an export for PyTorch, and after
// the import of this export. Files of a model are not overwritten.
func TestExportPyTorch(t *testing.T) {
	dir := t.TempDir()
	folder, back := filepath.Join(dir, "pytorch"), filepath.Join(dir, "model")
	out := succeed(t, "", "export", "pytorch", goldenPath("conv"), "--output", folder)
	equal(t, out, fmt.Sprintf("%s: %s of the task classification for PyTorch\n", folder, goldenPath("conv")))
	lines := readText(t, goldenPath("conv", "inputs.jsonl"))
	want := succeed(t, lines, "predict", "--model", goldenPath("conv"))
	succeed(t, "", "import", "pytorch", folder, "--output", back)
	for _, model := range []string{folder, back} {
		equal(t, succeed(t, lines, "predict", "--model", model), want, model)
	}
	if config := readText(t, filepath.Join(back, "config.json")); strings.Contains(config, "auto_map") {
		t.Error("the imported model's config.json still has auto_map")
	}
	refuse(t, exitError, "the folder already has a config.json", "", "import", "pytorch",
		folder, "--output", back)
	refuse(t, exitError, "expected a new or empty folder, or an earlier export, found config.json in it", "",
		"export", "pytorch", back, "--output", back)
	refuse(t, exitError, "expected a model directory", "", "import", "pytorch", dir, "--output",
		filepath.Join(dir, "new"))
	refuse(t, exitUsage, "--output is missing", "", "import", "pytorch", folder)
	refuse(t, exitUsage, "expected one DIR, a folder of export pytorch, found 0 arguments", "", "import",
		"pytorch", "--output", dir)
	refuse(t, exitUsage, "expected one MODEL, a model directory, found 2 arguments", "", "export", "pytorch",
		folder, back, "--output", dir)
}
