package export

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/zeebo/xxh3"

	"github.com/sftseq/sftseq/internal/atomicfile"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
)

// TestPyTorch compares the module's logits, alone and in a padded batch, and its gradients with the
// golden folders. For these models a training step must lower the loss, and the trained weights must
// be read back unchanged. For other configurations it compares only the logits, with package sft.
func TestPyTorch(t *testing.T) {
	testenv.Long(t, "runs PyTorch")
	testenv.NeedTorch(t)
	dir := t.TempDir()
	args := []string{"testdata/compare.py"}
	var names, folders []string
	folder := func(name string, m *sft.Model, expected string) {
		to := filepath.Join(dir, strings.ReplaceAll(name, " ", "_"))
		must.Succeed(t, PyTorch(m, nil, to))
		names, folders, args = append(names, name), append(folders, to), append(args, to, expected)
	}
	for _, name := range []string{"pre", "post", "lily", "standardized", "odd", "ties", "retrieval", "vanilla", "conv",
		"conv_post", "regression", "multilabel", "tagging", "clouds", "max_pooling", "graphs",
		"ngrams", "ngrams_bytes", "averages"} {
		expected := filepath.Join(goldens, name)
		m := must.Get(sft.Load(expected))(t)
		folder(name, m, expected)
	}
	for name, change := range variants {
		m, expected := fresh(t, change), t.TempDir()
		lines := randomLines(m.Config, []int{1, 2, 11, 12, 22, 23, 60, 200})
		writeLines(t, filepath.Join(expected, "inputs.jsonl"), lines)
		writeLines(t, filepath.Join(expected, "expected.jsonl"), onCPU(t, m, lines))
		folder("variant "+name, m, expected)
	}
	var stderr bytes.Buffer
	command := exec.CommandContext(t.Context(), testenv.Python, args...)
	command.Stderr = &stderr
	command.Env = append(os.Environ(), "OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1", "PYTHONDONTWRITEBYTECODE=1")
	out, err := command.Output()
	if err != nil {
		t.Fatalf("running PyTorch: %v\n%s\n%s", err, out, &stderr)
	}
	results := decode[struct {
		Single, Padded, Gradient, Before, After float64
		Tensor                                  string
	}](t, bytes.NewReader(out))
	if len(results) != len(names) {
		t.Fatalf("%d results, want %d", len(results), len(names))
	}
	for i, r := range results {
		tuned := filepath.Join(folders[i], "tuned.safetensors")
		tolerance := 1e-5
		_, err := os.Stat(tuned)
		golden := err == nil
		if !golden {
			tolerance = 5e-5 // larger weights, and both computations are float32
		}
		if !(r.Single <= tolerance && r.Padded <= tolerance) {
			t.Errorf("%s: the error of logits is %.1e alone, %.1e in a batch, want at most %.0e", names[i], r.Single,
				r.Padded, tolerance)
		}
		if !golden {
			continue
		}
		if !(r.Gradient <= 1) {
			t.Errorf("%s: the error of the gradient of %s is %.2g times the tolerance", names[i], r.Tensor, r.Gradient)
		}
		if !(r.After < r.Before) {
			t.Errorf("%s: a step changes the loss from %v to %v, want a lower loss", names[i], r.Before, r.After)
		}
		checkTuned(t, folders[i], tuned)
	}
}

// checkTuned checks that weights that PyTorch has written are read bit for bit.
func checkTuned(t *testing.T, folder, tuned string) {
	t.Helper()
	must.Succeed(t, os.Rename(tuned, filepath.Join(folder, weightsFile)))
	m := must.Get(FromPyTorch(folder))(t)
	text := must.Get(os.ReadFile(filepath.Join(folder, weightsFile)))(t)
	back := filepath.Join(t.TempDir(), "model")
	must.Succeed(t, m.Save(back))
	again, err := sft.Load(back)
	if err != nil || again.Config.AutoMap != nil || again.Config.Extra != nil ||
		!slices.Equal(again.Weights, m.Weights) || !reflect.DeepEqual(again.NGrams, m.NGrams) {
		t.Errorf("%s: error %v, or the saved weights differ", folder, err)
	}
	if table := m.NGrams; table != nil {
		for _, numbers := range []any{table.Weights, table.Used, table.Kept} {
			if raw := must.Get(binary.Append(nil, binary.LittleEndian, numbers))(t); !bytes.Contains(text, raw) {
				t.Errorf("%s: PyTorch's file does not contain the bytes of the n-grams", folder)
			}
		}
	}
	// PyTorch's file has the bytes of every tensor as a contiguous run.
	for _, p := range m.Parameters.List {
		raw := must.Get(binary.Append(nil, binary.LittleEndian, m.Parameters.Slice(m.Weights, p)))(t)
		if !bytes.Contains(text, raw) {
			t.Errorf("%s: PyTorch's file does not contain the bytes of %s", folder, p.Name)
		}
	}
}

// TestWordHashes compares the Python and JavaScript implementations of XXH3 and of word hashes with Go's.
func TestWordHashes(t *testing.T) {
	testenv.NeedPrograms(t, "python3", "node")
	draw := rand.New(rand.NewPCG(5, 6))
	type given struct {
		Data [][]byte
		Ids  [][]int32
	}
	var in given
	for n := 1; n < 2300; n += 1 + n/260 {
		data := make([]byte, n)
		for i := range data {
			data[i] = byte(draw.Uint32())
		}
		in.Data = append(in.Data, data)
	}
	c := small()
	c.VocabSize = config.ByteVocabulary
	for _, l := range randomLines(c, slices.Repeat([]int{1, 30, 700}, 20)) {
		in.Ids = append(in.Ids, l.Tokens)
	}
	for _, text := range []string{
		"\ufeffÜber straße İI ΑΣ x\u0301 ١٢", "a\u2003b\u1680c\u0085d\u00a0e\u2028f\u2029g\u202fh\u205fi\u3000j",
		"\xff\xe2\x82€\xed\xa0\x80", "漢字 ½²",
	} {
		var ids []int32
		for _, b := range []byte(text) {
			ids = append(ids, int32(b)+1)
		}
		in.Ids = append(in.Ids, append(ids, 0))
	}
	dir := t.TempDir()
	must.Succeed(t, os.WriteFile(filepath.Join(dir, "word_hashes.py"), []byte(WordHashes), 0o666))
	module := must.Get(os.ReadFile("../../examples/web/words.mjs"))(t)
	must.Succeed(t, os.WriteFile(filepath.Join(dir, "words.mjs"), module, 0o666))
	for language, command := range map[string]*exec.Cmd{
		"Python": exec.CommandContext(t.Context(), "python3", "-c", `import base64, json, sys
from word_hashes import word_hashes, xxh3
given = json.load(sys.stdin)
print(json.dumps({"data": [str(xxh3(base64.b64decode(d))) for d in given["Data"]], "ids": [list(map(str, word_hashes(i))) for i in given["Ids"]]}))`),
		"JavaScript": exec.CommandContext(t.Context(), "node", "--input-type=module", "-e", `
import { readFileSync } from "node:fs";
const { wordHashes, xxh3 } = await import("`+filepath.Join(dir, "words.mjs")+`");
const { Data, Ids } = JSON.parse(readFileSync(0, "utf8"));
const data = Data.map((d) => String(xxh3(Buffer.from(d, "base64"))));
console.log(JSON.stringify({ data, ids: Ids.map((i) => Array.from(wordHashes(i), String)) }));`),
	} {
		command.Dir, command.Stdin = dir, bytes.NewReader(must.Get(json.Marshal(in))(t))
		out, err := command.CombinedOutput()
		var got struct{ Data, Ids json.RawMessage }
		var data []string
		var words [][]string
		if err := errors.Join(err, json.Unmarshal(out, &got), json.Unmarshal(got.Data, &data),
			json.Unmarshal(got.Ids, &words)); err != nil || len(data) != len(in.Data) || len(words) != len(in.Ids) {
			t.Fatalf("%s: got hashes of %d byte strings and %d lists of ids, error %v; want %d and %d\n%.2000s", language,
				len(data), len(words), err, len(in.Data), len(in.Ids), out)
		}
		for i, text := range in.Data {
			if want := strconv.FormatUint(xxh3.Hash(text), 10); data[i] != want {
				t.Fatalf("%s: the hash of %d bytes is %s, want %s", language, len(text), data[i], want)
			}
		}
		for i, ids := range in.Ids {
			if want := wordHashes(&sft.Model{Config: c}, ids); !slices.Equal(words[i], want) {
				t.Errorf("%s: the hashes of words of the ids %v are %s, want %s", language, ids, words[i], want)
			}
		}
	}
}

// TestPyTorchNGramDropout checks that training drops the configured fraction of n-grams, and that
// evaluation drops none.
func TestPyTorchNGramDropout(t *testing.T) {
	testenv.Long(t, "runs PyTorch")
	testenv.NeedTorch(t)
	m := fresh(t, func(c *sft.Config) { variants["n-grams of tokens"](c); c.NGrams.Dropout = 0.3 })
	dir := filepath.Join(t.TempDir(), "ngrams")
	must.Succeed(t, PyTorch(m, nil, dir))
	command := exec.CommandContext(t.Context(), testenv.Python, "-c", `import torch
from modeling_sft import SFTModel
model = SFTModel.from_folder(".")
torch.manual_seed(1)
ids = torch.randint(0, 5, (4, 2000))
rows = model.ngrams.rows(ids, ids >= 0)
def found(model):  # the scale is 1/sqrt(1 + number of rows)
    return (1 / model.ngrams(torch.ones(4, 2000, model.config.hidden_size), torch.where(rows < 0, rows, 0 * rows))[..., 0] ** 2 - 1).sum()
model.ngrams.weight.data.zero_()
print((rows >= 0).sum().item(), round(found(model).item()), round(found(model.train()).item()))`)
	command.Dir = dir
	out, err := command.CombinedOutput()
	var all, evaluated, trained int
	if _, err := fmt.Sscan(string(out), &all, &evaluated, &trained); err != nil {
		t.Fatalf("reading the output: %v\n%s", err, out)
	}
	if left := 1 - float64(trained)/float64(all); err != nil || all < 2000 || evaluated != all ||
		math.Abs(left-0.3) > 0.05 {
		t.Errorf("got %d n-grams, %d used in evaluation, %d in training, error %v; want at least 2000, all, 65 to 75%%",
			all, evaluated, trained, err)
	}
}

// TestPyTorchRefuses checks that the module's errors name the missing or invalid inputs of a model of
// graphs.
func TestPyTorchRefuses(t *testing.T) {
	testenv.Long(t, "runs PyTorch")
	testenv.NeedTorch(t)
	m := must.Get(sft.Load(filepath.Join(goldens, "graphs")))(t)
	dir := filepath.Join(t.TempDir(), "graphs")
	must.Succeed(t, PyTorch(m, nil, dir))
	out, err := exec.CommandContext(t.Context(), testenv.Python, "testdata/refuse.py", dir).CombinedOutput()
	want := `features is missing: the model reads features, edges, edge_features
input_ids was given: the model reads features, edges, edge_features
features: shape [2, 3, 3], expected [batch, length, 2], for mass, charge
features: every number must be finite
attention_mask: expected at least one token at the start of each row, and padding only at its end
attention_mask: shape [2, 2], expected [2, 3]
edges is missing: the model reads features, edges, edge_features
edges: shape [1, 1, 2], expected [2, edges, 2]
edges: expected token positions within the row, or the padding -1, -1
edges: expected token positions within the row, or the padding -1, -1
edge_features: shape [2, 2, 2], expected [2, 1, 2], for order, length
edge_features: every number must be finite
`
	if err != nil || string(out) != want {
		t.Errorf("error %v, the module printed\n%s\nexpected\n%s", err, out, want)
	}
}

// TestPyTorchFolder checks that an export replaces an earlier or killed export, and refuses a folder with
// other files or with weights that PyTorch has written. FromPyTorch and sft.Load must read the folder.
func TestPyTorchFolder(t *testing.T) {
	m := fresh(t, func(c *sft.Config) { c.Extra = json.RawMessage(`{"command":"x"}`) })
	dir := filepath.Join(t.TempDir(), "a", "b")
	for range 2 {
		must.Succeed(t, PyTorch(m, nil, dir))
	}
	back, err := FromPyTorch(dir)
	if err != nil || !slices.Equal(back.Weights, m.Weights) || back.Config.Extra != nil || back.Config.AutoMap != nil {
		t.Errorf("error %v, or the model that is read back differs", err)
	}
	// Weights that PyTorch has written have no checksum, and an export must not replace them.
	weights := filepath.Join(dir, "model.safetensors")
	ours := must.Get(os.ReadFile(weights))(t)
	tuned := bytes.Replace(ours, []byte(`"sftseq.checksum"`), []byte(`"sftseq.checksun"`), 1)
	must.Succeed(t, os.WriteFile(weights, tuned, 0o666))
	must.Fail(t, "model.safetensors: expected the weights of an earlier export, "+
		"found weights written by PyTorch")(PyTorch(m, nil, dir))
	if kept, err := os.ReadFile(weights); err != nil || !bytes.Equal(kept, tuned) {
		t.Errorf("the export replaced weights that PyTorch has written, error %v", err)
	}
	must.Succeed(t, os.WriteFile(weights, ours, 0o666))
	read, err := sft.Load(dir)
	if err != nil || string(bytes.Join(bytes.Fields(read.Config.AutoMap), nil)) != autoMap {
		t.Errorf("error %v, auto_map is %s", err, read.Config.AutoMap)
	}
	other := t.TempDir()
	must.Succeed(t, m.Save(other))
	killed := filepath.Join(t.TempDir(), "killed")
	must.Succeed(t, os.Mkdir(killed, 0o777))
	must.Succeed(t, os.WriteFile(filepath.Join(killed, "."+modelingFile+".0.tmp"), nil, 0o666))
	must.Succeed(t, PyTorch(m, nil, killed))
	must.Fail(t, "expected a new or empty folder, or an earlier export, found config.json in it")(PyTorch(m, nil,
		other))
	must.Succeed(t, os.WriteFile(filepath.Join(dir, "notes.txt"), nil, 0o666))
	must.Fail(t, "found notes.txt in it")(PyTorch(m, nil, dir))
}

// TestPyTorchFullDisk checks that an export that fails in any of its files leaves no folder behind, or
// leaves an earlier export unchanged. The error names the final file. A later export removes the
// temporary folder of a killed program.
func TestPyTorchFullDisk(t *testing.T) {
	m := fresh(t, func(*sft.Config) {})
	old := filepath.Join(t.TempDir(), "old")
	must.Succeed(t, PyTorch(m, []byte("{}"), old))
	before := must.Get(os.ReadFile(filepath.Join(old, weightsFile)))(t)
	m.Weights[0]++
	for _, name := range []string{modelingFile, tokenizerFile, weightsFile, configFile} {
		restore := atomicfile.Intercept(func(call, path string) error {
			if call == "rename" && filepath.Base(path) == name {
				return syscall.ENOSPC
			}
			return nil
		})
		created := filepath.Join(t.TempDir(), "new")
		for _, dir := range []string{created, old} {
			err := PyTorch(m, []byte("{}"), dir)
			if !errors.Is(err, syscall.ENOSPC) || !strings.HasPrefix(err.Error(), filepath.Join(dir, name)+": ") {
				t.Errorf("%s: got error %v, want a full disk at %s", name, err, filepath.Join(dir, name))
			}
		}
		restore()
		if _, err := os.Stat(created); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: the folder is left behind, error %v", name, err)
		}
		if entries := must.Get(os.ReadDir(old))(t); len(entries) != 4 {
			t.Errorf("%s: found %v in the earlier export, want its four files", name, entries)
		}
		if now := must.Get(os.ReadFile(filepath.Join(old, weightsFile)))(t); !bytes.Equal(now, before) {
			t.Errorf("%s: the weights of the earlier export were replaced", name)
		}
	}
	must.Succeed(t, os.Mkdir(filepath.Join(old, "."+modelingFile+".1.tmp"), 0o777))
	must.Succeed(t, PyTorch(m, nil, old))
	if entries := must.Get(os.ReadDir(old))(t); len(entries) != 3 {
		t.Errorf("found %v, expected three files", entries)
	}
}

func writeLines[T any](t *testing.T, path string, lines []T) {
	t.Helper()
	var text bytes.Buffer
	for _, l := range lines {
		must.Succeed(t, json.NewEncoder(&text).Encode(l))
	}
	must.Succeed(t, os.WriteFile(path, text.Bytes(), 0o666))
}
