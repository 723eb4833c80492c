package train

import (
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/safetensors"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
	"github.com/sftseq/sftseq/sft/internal/model"
	"github.com/sftseq/sftseq/sft/internal/modeltest"
)

var update = flag.Bool("update", false,
	"rewrite the golden folders whose results the float64 reference computes")

// fillMaskFolders lists the golden folders of models that predict masked tokens, except chunked models:
// gradients in "fill_mask", training steps in "train_fill_mask".
var fillMaskFolders = map[string]func(c *config.Config){
	"fill_mask":       func(c *config.Config) { c.NumLayers, c.TieEmbeddings = 2, true },
	"train_fill_mask": func(c *config.Config) { c.NormPosition, c.MaskSpan = "post", 1 },
}

// goldenTraining is the content of expected.json.
type goldenTraining struct {
	Settings struct {
		Seed         uint64  `json:"seed"`
		LearningRate float64 `json:"learning_rate"`
		WeightDecay  float64 `json:"weight_decay"`
		MaxGradNorm  float64 `json:"max_grad_norm"`
	} `json:"settings"`
	Steps []goldenStep `json:"steps"`
}

type goldenStep struct {
	Loss     float64 `json:"loss"`
	GradNorm float64 `json:"grad_norm"`
}

// TestGoldenLosses compares the mean loss and its number of terms with expected_loss.json of golden
// folders. With -update it first rewrites the folders.
func TestGoldenLosses(t *testing.T) {
	if *update {
		for name, change := range fillMaskFolders {
			writeFillMask(t, filepath.Join(modeltest.GoldenDir, name), change)
		}
		for name, change := range taggingFolders {
			writeTagging(t, filepath.Join(modeltest.GoldenDir, name), change)
		}
		for name, change := range regressionFolders {
			writeRegression(t, filepath.Join(modeltest.GoldenDir, name), change)
		}
		for name, change := range cloudFolders {
			writeClouds(t, filepath.Join(modeltest.GoldenDir, name), change)
		}
		for name, change := range graphFolders {
			writeGraphs(t, filepath.Join(modeltest.GoldenDir, name), change)
		}
		for name, change := range multiLabelFolders {
			writeMultiLabel(t, filepath.Join(modeltest.GoldenDir, name), change)
		}
		for name, change := range chunkFolders {
			writeChunks(t, filepath.Join(modeltest.GoldenDir, name), change)
		}
		for name, change := range averageFolders {
			writeAverages(t, filepath.Join(modeltest.GoldenDir, name), change)
		}
	}
	configtest.OnEveryDevice(t, []string{"fill_mask", "regression", "multilabel", "tagging", "clouds",
		"max_pooling", "graphs", "ngrams", "ngrams_bytes", "chunks", "chunks_tagging", "averages"},
		func(t *testing.T, name string, device tensor.Device) {
			m, examples := modeltest.LoadGolden(t, name)
			var want struct {
				Loss  float64 `json:"loss"`
				Terms int     `json:"terms"`
			}
			text, err := os.ReadFile(filepath.Join(modeltest.GoldenDir, name, "expected_loss.json"))
			if err == nil {
				err = json.Unmarshal(text, &want)
			}
			must.Succeed(t, err)
			if got := meanLossOn(t, m, device, examples); !(math.Abs(got-want.Loss) <= 1e-5) {
				t.Errorf("loss %v, expected %v", got, want.Loss)
			}
			if n := model.LossDivisor(m.Config, examples,
				model.Drawing{Mode: model.LossMode, Seed: m.Config.SamplerSeed}); n != want.Terms {
				t.Errorf("a mean of %d terms, expected %d", n, want.Terms)
			}
		})
}

// writeFillMask writes a golden folder with results of the float64 reference.
func writeFillMask(t *testing.T, dir string, change func(c *config.Config)) {
	c := configtest.GoldenConfig(config.FillMask)
	c.NumLabels, c.MaskTokenID = 17, new(int32(17))
	change(c)
	writeGolden(t, dir, c, goldenSequences(), modeltest.Reference.FillMaskLoss)
}

// writeGolden writes a golden folder with results of the float64 reference. Its gradients are
// central differences of lossOf, which returns a mean and its number of terms. A folder whose name
// begins with train_ gets three training steps.
func writeGolden(t *testing.T, dir string, c *config.Config, examples []seq.Example,
	lossOf func(modeltest.Reference, []seq.Example) (float64, int)) {
	m := modeltest.RandomModel(c, 5)
	var inputs, expected bytes.Buffer
	writeLine := func(to *bytes.Buffer, v any) {
		text := must.Get(json.Marshal(v))(t)
		to.Write(append(text, '\n'))
	}
	for i, e := range examples {
		input := map[string]any{"id": i, "tokens": e.A, "label": e.Label}
		if e.Features != nil {
			delete(input, "tokens")
			input["features"] = e.Features
		}
		if e.Edges != nil {
			input["edges"] = e.Edges
		}
		if e.Numbers != nil {
			delete(input, "label")
			input["numbers"] = e.Numbers
		}
		if e.Labels != nil {
			delete(input, "label")
			input["labels"] = e.Labels
		}
		writeLine(&inputs, input)
	}
	must.Succeed(t, m.Save(dir))
	writeFile := func(name string, text []byte) {
		must.Succeed(t, os.WriteFile(filepath.Join(dir, name), text, 0o666))
	}
	writeFile("inputs.jsonl", inputs.Bytes())
	writeDocument := func(name string, v any) {
		text := must.Get(json.MarshalIndent(v, "", " "))(t)
		writeFile(name, append(text, '\n'))
	}
	r := modeltest.NewReference(m)
	differences := func() map[string][]float64 {
		return r.Differences(func() float64 { loss, _ := lossOf(r, examples); return loss })
	}
	if !strings.HasPrefix(filepath.Base(dir), "train_") {
		loss, terms := lossOf(r, examples)
		writeDocument("expected_loss.json", map[string]any{"loss": loss, "terms": terms})
		if model.RowLogits(c) > 0 || c.Task == config.Tagging {
			for i, e := range examples {
				var logits []float64
				if c.Task == config.Tagging {
					logits = r.TokenLogits(e)
				} else {
					logits, _ = r.Example(e)
				}
				writeLine(&expected, map[string]any{"id": i, "logits": logits})
			}
			writeFile("expected.jsonl", expected.Bytes())
		}
		saveTensors(r, t, filepath.Join(dir, "grads.safetensors"), m, differences())
		return
	}
	var x goldenTraining
	x.Settings.Seed, x.Settings.LearningRate, x.Settings.WeightDecay,
		x.Settings.MaxGradNorm = 6840124660045547947, 0.003, 0.5, 1
	m1, m2 := map[string][]float64{}, map[string][]float64{}
	for step := range 3 {
		r.Training = &model.Drawing{Mode: model.TrainMode, Seed: x.Settings.Seed, Step: uint32(step)}
		loss, _ := lossOf(r, examples)
		g := differences()
		if step == 0 {
			saveTensors(r, t, filepath.Join(dir, "grads_step0.safetensors"), m, g)
		}
		norm := referenceAdamW(r, m, g, m1, m2, step+1, &x)
		x.Steps = append(x.Steps, goldenStep{loss, norm})
	}
	saveTensors(r, t, filepath.Join(dir, "model_after.safetensors"), m, r.Weights)
	writeDocument("expected.json", x)
}

// referenceAdamW performs one AdamW update in float64 and returns the gradient's norm before
// clipping.
func referenceAdamW(r modeltest.Reference, m *sft.Model, g, m1, m2 map[string][]float64, t int,
	x *goldenTraining) (norm float64) {
	for _, p := range m.Parameters.List {
		for _, e := range g[p.Name] {
			norm += e * e
		}
	}
	norm = math.Sqrt(norm)
	clip, rate := min(1, x.Settings.MaxGradNorm/(norm+1e-6)), x.Settings.LearningRate
	for _, p := range m.Parameters.List {
		w := r.Weights[p.Name]
		if m1[p.Name] == nil {
			m1[p.Name], m2[p.Name] = make([]float64, len(w)), make([]float64, len(w))
		}
		a, b := m1[p.Name], m2[p.Name]
		for i, e := range g[p.Name] {
			e *= clip
			a[i], b[i] = beta1*a[i]+(1-beta1)*e, beta2*b[i]+(1-beta2)*e*e
			if p.Decay {
				w[i] *= 1 - rate*x.Settings.WeightDecay
			}
			w[i] -= rate * a[i] / (1 - math.Pow(beta1,
				float64(t))) / (math.Sqrt(b[i]/(1-math.Pow(beta2, float64(t)))) + adamEps)
		}
	}
	return norm
}

// saveTensors writes the values of all parameters to a safetensors file, rounded to float32.
func saveTensors(r modeltest.Reference, t *testing.T, path string, m *sft.Model, words map[string][]float64) {
	var out []safetensors.Tensor
	for _, p := range m.Parameters.List {
		x := safetensors.Tensor{Name: p.Name, Shape: p.Shape}
		for _, v := range words[p.Name] {
			x.Data = append(x.Data, float32(v))
		}
		if len(x.Data) != p.Size() {
			t.Fatalf("%s: %d numbers, want %d", p.Name, len(x.Data), p.Size())
		}
		out = append(out, x)
	}
	must.Succeed(t, safetensors.Write(path, out, nil))
}

// goldenSequences returns five sequences of 1 to 40 tokens with the label 0.
func goldenSequences() (out []seq.Example) {
	random := rand.New(rand.NewPCG(6, 1))
	for i, n := range []int{1, 5, 16, 40, 27} {
		e := seq.Example{Index: uint32(i)}
		for range n {
			e.A = append(e.A, 1+random.Int32N(16))
		}
		out = append(out, e)
	}
	return out
}
