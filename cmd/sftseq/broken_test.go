package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
)

// editHeader changes the JSON of a safetensors header, but not the data.
func editHeader(t *testing.T, weights []byte, edit func(map[string]any)) []byte {
	t.Helper()
	n := binary.LittleEndian.Uint64(weights)
	var header map[string]any
	must.Succeed(t, json.Unmarshal(weights[8:8+n], &header))
	edit(header)
	text := must.Get(json.Marshal(header))(t)
	text = append(text, bytes.Repeat([]byte(" "), -len(text)&7)...)
	out := binary.LittleEndian.AppendUint64(nil, uint64(len(text)))
	return append(append(out, text...), weights[8+n:]...)
}

// TestBrokenModels checks that the error about a damaged model names the file, and the damaged key or
// tensor if it can be identified.
func TestBrokenModels(t *testing.T) {
	shape := func(name string, dims ...int) func(map[string]any) {
		return func(h map[string]any) { h[name].(map[string]any)["shape"] = dims }
	}
	for _, c := range []struct {
		name string
		edit func(config, weights []byte) ([]byte, []byte)
		want []string
	}{
		{"empty weights", func(c, w []byte) ([]byte, []byte) { return c, nil }, []string{"model.safetensors"}},
		{"truncated weights", func(c, w []byte) ([]byte, []byte) { return c, w[:len(w)-100] },
			[]string{"model.safetensors"}},
		{"header cut", func(c, w []byte) ([]byte, []byte) { return c, w[:20] }, []string{"model.safetensors"}},
		{"header of 2^63 bytes", func(c, w []byte) ([]byte, []byte) {
			return c, append(binary.LittleEndian.AppendUint64(nil, 1<<63), w[8:]...)
		}, []string{"model.safetensors", "9223372036854775808"}},
		{"bit of the header flipped", func(c, w []byte) ([]byte, []byte) {
			at := bytes.Index(w, []byte("head.out.weight"))
			w[at] ^= 4
			return c, w
		}, []string{"model.safetensors", "head.out.weight"}},
		{"NaN", func(c, w []byte) ([]byte, []byte) {
			binary.LittleEndian.PutUint32(w[len(w)-4:], math.Float32bits(float32(math.NaN())))
			return c, w
		}, []string{"model.safetensors", "NaN at index"}},
		{"tensor missing", func(c, w []byte) ([]byte, []byte) {
			return c, editHeader(t, w, func(h map[string]any) {
				h["other"] = h["layers.1.attn.leak.bias"]
				delete(h, "layers.1.attn.leak.bias")
			})
		}, []string{"model.safetensors", "layers.1.attn.leak.bias", "missing"}},
		{"shape", func(c, w []byte) ([]byte, []byte) {
			return c, editHeader(t, w, shape("embed.weight", 32, 17))
		}, []string{"model.safetensors", "embed.weight", "[32 17]", "[17 32]"}},
		{"empty config", func(c, w []byte) ([]byte, []byte) { return nil, w }, []string{"config.json", "empty"}},
		{"unknown key", func(c, w []byte) ([]byte, []byte) {
			return bytes.Replace(c, []byte("{"), []byte(`{"hidden":3,`), 1), w
		}, []string{"config.json", `unknown key "hidden"`}},
		{"truncated config", func(c, w []byte) ([]byte, []byte) { return c[:len(c)/2], w }, []string{"config.json"}},
		{"huge config", func(c, w []byte) ([]byte, []byte) {
			return bytes.Replace(c, []byte(`"hidden_size": 32`), []byte(`"hidden_size": 16000000`), 1), w
		}, []string{"model.safetensors", "requires at least", "but config.json"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			model := editedModel(t, "pre", c.edit)
			for _, want := range c.want {
				refuse(t, 1, want, `{"tokens":[1]}`, "predict", "--model", model)
			}
			refuse(t, 1, c.want[0], "", "info", "--model", model)
		})
	}
	refuse(t, 1, "absent: expected a model directory with config.json and model.safetensors", "",
		"predict", "--model", "absent")
	data := proseData(t, 60)
	refuse(t, 1, data+": expected a model directory with config.json and model.safetensors, found a data set", "",
		"predict", "--model", data)
	refuse(t, 1, "model.safetensors, found a directory without config.json: name the directory of a finished run", "",
		"info", t.TempDir())
	weights := goldenPath("pre", "model.safetensors")
	refuse(t, 1, weights+": expected a model directory with config.json and model.safetensors, found a file", "",
		"predict", "--model", weights)
	refuse(t, 1, goldenPath("pre")+": expected a data set, found a model", "", "train", "custom", "--data",
		goldenPath("pre"), "--out", filepath.Join(t.TempDir(), "run"))
}

// TestFlippedBits checks that a flipped bit in the header of the weights causes a prediction or an
// error that names the file, and never a crash.
func TestFlippedBits(t *testing.T) {
	testenv.NoRace(t, "reads damaged files on one thread")
	weights := []byte(readText(t, goldenPath("pre", "model.safetensors")))
	header := 8 + int(binary.LittleEndian.Uint64(weights))
	for i := 0; i < 8*header; i += 8*header/150 + 1 {
		model := editedModel(t, "pre", func(c, w []byte) ([]byte, []byte) {
			w[i/8] ^= 1 << (i % 8)
			return c, w
		})
		status, _, errs := program(strings.NewReader(`{"tokens":[1,2,3]}`), "predict", "--model", model)
		if status != 0 && !strings.Contains(errs, "model.safetensors") {
			t.Errorf("bit %d: got status %d, standard error %q; want status 0 or an error that names "+
				"model.safetensors", i, status, errs)
		}
	}
}

func TestGradsRefuses(t *testing.T) {
	dir := t.TempDir()
	output := filepath.Join(dir, "grads.safetensors")
	for _, c := range []struct{ lines, want string }{
		{"", "no lines"},
		{`{"tokens":[1],"label":1}` + "\n{", ":2: malformed JSON at byte 1"},
		{`{"tokens":[1]}`, ":1: label is missing"},
		{`{"tokens":[1],"label":10}`, ":1: label: expected 0 to 9, found 10"},
		{`{"tokens":[1],"label":1.5}`, "found 1.5"},
		{`{"tokens":[1],"label":"x"}`, `label "x": expected an index from 0 to 9`},
		{`{"tokens":[0],"label":1}`, ":1: tokens: token 0 at index 0"},
	} {
		input := writeText(t, filepath.Join(dir, "in.jsonl"), c.lines)
		refuse(t, 1, input, "", "grads", "--model", goldenPath("pre"), "--input", input, "--output", output)
		refuse(t, 1, c.want, "", "grads", "--model", goldenPath("pre"), "--input", input, "--output", output)
	}
	below := filepath.Join(writeText(t, filepath.Join(dir, "file"), ""), "grads.safetensors")
	refuse(t, 1, below+": "+filepath.Dir(below)+": expected a folder, found a regular file", `{"tokens":[1],"label":1}`,
		"grads", "--model", goldenPath("pre"), "--input", "-", "--output", below)
	table := writeText(t, filepath.Join(dir, "rows.csv"), "tokens,label\n1,1\n")
	refuse(t, exitUsage, "--input "+table+
		`: expected JSON lines such as {"text": "…", "label": "…"}, found csv by its name`,
		"", "grads", "--model", goldenPath("pre"), "--input", table, "--output", output)
	remaining, err := filepath.Glob(filepath.Join(dir, "*grads*"))
	if err != nil || len(remaining) > 0 {
		t.Errorf("got output files %v, error %v; want no file after errors", remaining, err)
	}
	noFile(t, output)
	absent := filepath.Join(dir, "absent", "grads.safetensors")
	contains(t, succeed(t, `{"tokens":[1],"label":1}`, "grads", "--model", goldenPath("pre"), "--input", "-",
		"--output", absent), " over 1 line, gradient in "+absent)
	readText(t, absent)
}
