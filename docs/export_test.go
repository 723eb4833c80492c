package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/export"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
	"github.com/sftseq/sftseq/sft"
)

// TestExportPage runs the PyTorch program of export.md, which changes the weights of a model.
func TestExportPage(t *testing.T) {
	testenv.Long(t, "runs PyTorch")
	testenv.NeedTorch(t)
	m := must.Get(sft.Load(filepath.Join(root, "sft/testdata/golden/pre")))(t)
	dir := t.TempDir()
	folder := filepath.Join(dir, "listops-pytorch")
	must.Succeed(t, export.PyTorch(m, nil, folder))
	command := exec.CommandContext(t.Context(), testenv.Python, "-c", codeBlock(t, "export.md", "python"))
	command.Dir, command.Env = dir, append(os.Environ(), "OMP_NUM_THREADS=1")
	if out, err := command.CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("the program of export.md: got error %v, output %q; want <nil>, \"\"", err, out)
	}
	tuned := must.Get(export.FromPyTorch(folder))(t)
	if slices.Equal(tuned.Weights, m.Weights) {
		t.Error("the training step did not change a weight")
	}
}

// TestIgnoredFiles checks that git ignores the token, and exported models with their tokenizers, which
// commands of these pages write in a clone. The version therefore does not end in +dirty, and nobody
// commits the token.
func TestIgnoredFiles(t *testing.T) {
	testenv.NeedPrograms(t, "git")
	testenv.NeedFile(t, "a clone", filepath.Join(root, ".git"))
	for _, name := range []string{"token", "listops.onnx", "listops.tokenizer.json", "examples/web/model.onnx",
		"examples/web/model.tokenizer.json"} {
		c := exec.CommandContext(t.Context(), "git", "check-ignore", name)
		c.Dir = root
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("%s: git does not ignore the file: %v %s", name, err, out)
		}
	}
}
