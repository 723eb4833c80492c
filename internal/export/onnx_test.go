package export

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/onnx/onnxtest"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
)

// operators lists the allowed operators: ONNX Runtime computes them on CPUs and in WebAssembly for
// the types in use.
var operators = strings.Fields(`Abs Add BitwiseAnd BitwiseXor Cast Concat Conv Div Equal Erf Exp Expand
	Gather Gemm Identity LayerNormalization Less Log MatMul Max Min Mul Neg NonZero Or Range ReduceMax
	ReduceMean ReduceSum Relu Reshape Scan ScatterElements Shape Sigmoid Sin Slice Softmax Softplus Split
	Squeeze Sub TopK Transpose Unsqueeze Where`)

// TestStructure checks the graphs of the golden folders and the variants: they are well-formed, use
// only the allowed operators, contain the model's weights unchanged, and have the same bytes each time.
func TestStructure(t *testing.T) {
	models := map[string]*sft.Model{}
	for name, change := range variants {
		models[name] = fresh(t, change)
	}
	folders, err := filepath.Glob(filepath.Join(goldens, "*/config.json"))
	if err != nil || len(folders) < 22 {
		t.Fatalf("%d golden folders, want at least 22; error %v", len(folders), err)
	}
	for _, config := range folders {
		m := must.Get(sft.Load(filepath.Dir(config)))(t)
		if m.Config.Chunks != nil {
			must.Fail(t, "export does not support chunked models")(ONNX(m))
			continue
		}
		models[filepath.Base(filepath.Dir(config))] = m
	}
	for name, m := range models {
		t.Run(name, func(t *testing.T) {
			file := must.Get(ONNX(m))(t)
			if again, err := ONNX(m); err != nil || !bytes.Equal(file, again) {
				t.Errorf("second export: error %v, or bytes that differ from the first export", err)
			}
			read := onnxtest.Read(t, file)
			for _, operator := range read.Operators() {
				if !slices.Contains(operators, operator) {
					t.Errorf("the operator %s is not allowed", operator)
				}
			}
			for _, p := range m.Parameters.List {
				x, ok := read.Initializers[p.Name]
				if !ok {
					if strings.Contains(p.Name, "attn.leak.") && m.Config.Probability != "leaky_relu" {
						continue // no node reads the parameter
					}
					t.Errorf("%s is missing", p.Name)
					continue
				}
				want := must.Get(binary.Append(nil, binary.LittleEndian, m.Parameters.Slice(m.Weights, p)))(t)
				if !bytes.Equal(x.Data, want) ||
					!slices.EqualFunc(x.Shape, p.Shape, func(a uint64, b int) bool { return a == uint64(b) }) {
					t.Errorf("%s has shape %v, want shape %v and the model's weights", p.Name, x.Shape, p.Shape)
				}
			}
			if table := m.NGrams; table != nil {
				want := must.Get(binary.Append(nil, binary.LittleEndian, table.Weights))(t)
				if !bytes.Equal(read.Initializers["ngrams.weight"].Data, want) {
					t.Error("the embeddings of n-grams differ")
				}
			}
			if read.Metadata["task"] != m.Config.Task || read.Metadata["tokenizer"] != string(m.Config.Tokenizer) {
				t.Errorf("metadata %v, want task %q and tokenizer %s", read.Metadata, m.Config.Task, m.Config.Tokenizer)
			}
		})
	}
}

// TestMetadata checks the metadata of a multi-label model of tokens and of a model of graphs.
func TestMetadata(t *testing.T) {
	m := fresh(t, func(c *sft.Config) {
		c.Task, c.LabelNames, c.Thresholds = config.MultiLabel, []string{"a", "b,\"", "ü"}, []float64{0.1, 0.5, 1}
		c.InputWindow, c.PadTokenID = &config.InputWindow{Length: 40, Policy: "head"}, new(int32(0))
	})
	file := must.Get(ONNX(m))(t)
	want := map[string]string{"task": "multi-label", "vocab_size": "5", "max_length": "40",
		"input_window": "40", "pad_token_id": "0",
		"label_names": `["a","b,\"","ü"]`, "thresholds": "[0.1,0.5,1]", "tokenizer": `{"type":"dna"}`}
	if got := onnxtest.Read(t, file).Metadata; !maps.Equal(got, want) {
		t.Errorf("metadata %v, want %v", got, want)
	}
	file = must.Get(ONNX(fresh(t, func(c *sft.Config) { nodes(c, "order") })))(t)
	want = map[string]string{"task": "classification", "feature_names": `["mass","charge","ring"]`,
		"edge_feature_names": `["order"]`,
		"max_length":         "1048576", "tokenizer": `{"type":"none"}`}
	if got := onnxtest.Read(t, file).Metadata; !maps.Equal(got, want) {
		t.Errorf("metadata %v, want %v", got, want)
	}
}

// TestUncovered checks that an error for an unsupported configuration names all unsupported keys.
func TestUncovered(t *testing.T) {
	m := fresh(t, func(c *sft.Config) { mask(c) })
	m.Config.Relative, m.Config.Pooling, m.Config.MaskTargets = "learned", "mean", &config.MaskTargets{}
	m.Config.InputWindow = &config.InputWindow{Length: 3, Policy: "tail"}
	want := `config.json has settings that an export does not support: mask_targets: unsupported key; ` +
		`pooling: "mean", expected softmax, max; relative: "learned", expected sinusoid_hadamard, distance, edges, none; ` +
		`input_window: "tail", expected error, head`
	if _, err := ONNX(m); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	dir := filepath.Join(t.TempDir(), "folder")
	if err := PyTorch(m, nil, dir); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	must.FailWith(t, fs.ErrNotExist, "the folder of a refused model")(os.Stat(dir))
	text := must.Get(json.Marshal(small()))(t)
	text = append(bytes.TrimSuffix(text, []byte("}")), []byte(`,"positions":"learned"}`)...)
	if got, err := refusedKeys(text); err != nil || !slices.Equal(got, []string{"positions: unsupported key"}) {
		t.Errorf("refused keys %q, error %v, want only the key positions", got, err)
	}
}

// TestTooManyNumbers checks that a table of n-grams too large for an ONNX file is an error.
func TestTooManyNumbers(t *testing.T) {
	m := fresh(t, variants["n-grams of tokens"])
	m.Config.NGrams.Slots = 1 << 29
	must.Fail(t, "numbers of 4 bytes, but an ONNX file holds at most 2147483647 bytes: sftseq export pytorch has no "+
		"such limit")(ONNX(m))
}
