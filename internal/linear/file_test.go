package linear

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/ngram"
	"github.com/sftseq/sftseq/internal/safetensors"
	"github.com/sftseq/sftseq/internal/testenv"
	"github.com/sftseq/sftseq/seq"
)

// tiny are options with the minimum number of slots, so that the model file is small.
var tiny = ngram.Options{Units: ngram.Words, MinN: 1, MaxN: 2, Slots: ngram.MinSlots, MinCount: 1}

// TestFile checks that a saved model is loaded unchanged and saved with the same bytes again. It also
// checks that the mean and the deviation of a number are saved.
func TestFile(t *testing.T) {
	for _, o := range []ngram.Options{wordOptions, tiny} {
		m, _ := fitted(t, classSpec(3), o, moods(1, 300, 3), nil, Options{})
		dir, again := t.TempDir(), t.TempDir()
		must.Succeed(t, m.Save(dir))
		loaded := must.Get(Load(dir))(t)
		var config bytes.Buffer // Save indents the JSON text of the tokenizer
		must.Succeed(t, json.Compact(&config, loaded.Config.Tokenizer))
		loaded.Config.Tokenizer = config.Bytes()
		if !reflect.DeepEqual(loaded, m) {
			t.Errorf("min_count %d: the loaded model differs", o.MinCount)
		}
		must.Succeed(t, loaded.Save(again))
		for _, name := range []string{configFile, weightsFile} {
			if !bytes.Equal(must.Get(os.ReadFile(filepath.Join(dir, name)))(t),
				must.Get(os.ReadFile(filepath.Join(again, name)))(t)) {
				t.Errorf("%s differs after the second save", name)
			}
		}
	}
	numbers := &seq.Spec{Task: seq.Regression, VocabSize: 257, Tokenizer: []byte(`{"type":"byte"}`),
		NumberNames: []string{"y"}}
	m, _ := fitted(t, numbers, tiny, made{{A: ids("a b"), Numbers: []float32{1}}, {A: ids("c"), Numbers: []float32{2}}},
		nil, Options{})
	dir := t.TempDir()
	must.Succeed(t, m.Save(dir))
	if got := must.Get(Load(dir))(t); !reflect.DeepEqual(got.Config.Numbers, []Number{{"y", 1.5, 0.5}}) {
		t.Errorf("got numbers %v, want the mean 1.5 and the deviation 0.5", got.Config.Numbers)
	}
}

// TestHostileConfig checks that Load rejects malformed values in config.json and values that
// contradict model.safetensors, and allocates little memory for them.
func TestHostileConfig(t *testing.T) {
	m, _ := fitted(t, classSpec(3), tiny, moods(1, 100, 3), nil, Options{})
	dir := t.TempDir()
	must.Succeed(t, m.Save(dir))
	path := filepath.Join(dir, configFile)
	text := string(must.Get(os.ReadFile(path))(t))
	defer testenv.FuzzLimits(t, 32<<20)()
	for _, c := range []struct{ from, to, says string }{
		{`"slots": 1024`, `"slots": 1099511627776`,
			"ngrams: slots: expected a power of two from 1024 to 16777216, found 1099511627776"},
		{`"slots": 1024`, `"slots": 2048`,
			`tensor "used_slots": expected the shape [64] according to config.json and the other tensors, found [32]`},
		{`"slots": 1024`, `"slots": 1000`, "ngrams: slots: expected a power of two"},
		{`"max_n": 2`, `"max_n": 9`, "ngrams: max_n: expected 1 (min_n) to 8, found 9"},
		{`"min_count": 1`, `"min_count": 2`, `tensor "kept_cells" is missing`},
		{`"units": "words"`, `"units": "letters"`, "ngrams: units: expected words, bytes or tokens"},
		{`"model_type": "linear"`, `"model_type": "sft"`, `model_type: expected linear, found "sft"`},
		{`"task": "classification"`, `"task": "tagging"`,
			`task: expected classification, retrieval, multi-label or regression, found "tagging"`},
		{`"task": "classification"`, `"task": "regression"`, "numbers: expected 1 to 256, found 0"},
		{`    "c2"`, `    "c2", "c3"`, `tensor "weights": expected the shape`},
		{`    "c1",` + "\n" + `    "c2"`, `    "c1"`, `tensor "weights": expected the shape`},
		{`"vocab_size": 257`, `"vocab_size": 0`, "vocab_size: expected at least 1"},
		{`"vocab_size": 257`, `"vocab_size": 257, "hidden_size": 8`, `unknown field "hidden_size"`},
		{`"vocab_size": 257`, `"vocab_size": "x"`, "expected the JSON object of a linear model"},
		{text, text + "{}", "found more after it"},
		{text, text + "}", "found more after it"},
		{text, "", "expected the JSON object"},
	} {
		if !strings.Contains(text, c.from) {
			t.Fatalf("config.json has no %s", c.from)
		}
		must.Succeed(t, os.WriteFile(path, []byte(strings.Replace(text, c.from, c.to, 1)), 0o666))
		_, err := Load(dir)
		if err == nil || !strings.Contains(err.Error(), c.says) || !strings.HasPrefix(err.Error(), dir) {
			t.Errorf("%s: error %v, expected %q", c.to, err, c.says)
		}
	}
}

// TestHostileTensors checks that an error for inconsistent tensors names a tensor, and that an error
// for a malformed or missing file names the file.
func TestHostileTensors(t *testing.T) {
	m, _ := fitted(t, classSpec(2), tiny, moods(1, 100, 2), nil, Options{})
	dir := t.TempDir()
	must.Succeed(t, m.Save(dir))
	path := filepath.Join(dir, weightsFile)
	whole, _ := must.Get2(safetensors.ReadMixed(path))(t)
	rows := m.Features()
	for says, change := range map[string]func(ts []safetensors.Tensor) []safetensors.Tensor{
		`tensor "bias" is missing`: func(ts []safetensors.Tensor) []safetensors.Tensor { return ts[:3] },
		`tensor "other" is not part of a linear model`: func(ts []safetensors.Tensor) []safetensors.Tensor {
			return append(ts, safetensors.Tensor{Name: "other", Shape: []int{0}})
		},
		`tensor "bias": expected finite numbers, found NaN`: func(ts []safetensors.Tensor) []safetensors.Tensor {
			ts[3].Data = []float32{float32(math.NaN())}
			return ts
		},
		`tensor "ratios": expected numbers from -32768 to 32768`: func(ts []safetensors.Tensor) []safetensors.Tensor { ts[2].Ints[rows/2] = 1 << 20; return ts },
		`tensor "weights": expected a row for each of the`:       func(ts []safetensors.Tensor) []safetensors.Tensor { ts[0].Ints[0] ^= 1; return ts },
		`tensor "ratios": expected the shape [`: func(ts []safetensors.Tensor) []safetensors.Tensor {
			ts[2].Shape[0]--
			ts[2].Ints = ts[2].Ints[1:]
			return ts
		},
		`tensor "weights": expected I32, found F32`: func(ts []safetensors.Tensor) []safetensors.Tensor {
			ts[1].Type, ts[1].Data, ts[1].Ints = "", make([]float32, rows), nil
			return ts
		},
		`tensor "bias": expected F32, found I32`: func(ts []safetensors.Tensor) []safetensors.Tensor {
			ts[3].Type, ts[3].Data, ts[3].Ints = safetensors.I32, nil, []int32{1}
			return ts
		},
		`tensor "kept_cells" is not part of a linear model`: func(ts []safetensors.Tensor) []safetensors.Tensor {
			return append(ts, safetensors.Tensor{Name: keptTensor, Type: safetensors.I32,
				Shape: []int{1}, Ints: []int32{1}})
		},
	} {
		var changed []safetensors.Tensor
		for _, t := range whole {
			t.Shape, t.Ints, t.Data = slices.Clone(t.Shape), slices.Clone(t.Ints), slices.Clone(t.Data)
			changed = append(changed, t)
		}
		must.Succeed(t, safetensors.Write(path, change(changed), nil))
		_, err := Load(dir)
		if err == nil || !strings.Contains(err.Error(), says) || !strings.HasPrefix(err.Error(), path) {
			t.Errorf("error %v, expected %s", err, says)
		}
	}
	must.Succeed(t, os.WriteFile(path, []byte("{}"), 0o666))
	must.Fail(t, weightsFile)(Load(dir))
	must.Succeed(t, os.Remove(filepath.Join(dir, configFile)))
	must.Fail(t, configFile)(Load(dir))
}

// FuzzLoad checks that no config.json and no model.safetensors make Load panic, and that a loaded
// model can predict and can be saved and loaded again.
func FuzzLoad(f *testing.F) {
	for _, classes := range []int{2, 3} {
		m, _ := fitted(f, classSpec(classes), tiny, moods(1, 20, classes), nil, Options{})
		dir := f.TempDir()
		must.Succeed(f, m.Save(dir))
		config := must.Get(os.ReadFile(filepath.Join(dir, configFile)))(f)
		weights := must.Get(os.ReadFile(filepath.Join(dir, weightsFile)))(f)
		f.Add(config, weights)
		f.Add(bytes.Replace(config, []byte("1024"), []byte("1099511627776"), 1), weights)
		f.Add(config, weights[:len(weights)-8])
	}
	f.Fuzz(func(t *testing.T, config, weights []byte) {
		dir := t.TempDir()
		must.Succeed(t, os.WriteFile(filepath.Join(dir, configFile), config, 0o666))
		must.Succeed(t, os.WriteFile(filepath.Join(dir, weightsFile), weights, 0o666))
		defer testenv.FuzzLimits(t, 16<<20+500*(len(config)+len(weights)))()
		m, err := Load(dir)
		if err != nil {
			return
		}
		m.NewPredictor().Logits(&seq.Example{A: ids("is0 is1 w01 w02")})
		must.Succeed(t, m.Save(dir))
		must.Get(Load(dir))(t)
	})
}
