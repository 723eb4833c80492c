package sft_test

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/safetensors"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
	"github.com/sftseq/sftseq/sft/internal/model"
	"github.com/sftseq/sftseq/sft/internal/modeltest"
)

func TestSaveAndLoad(t *testing.T) {
	for _, task := range config.Tasks() {
		for _, norm := range []string{"pre", "post"} {
			c := configtest.FullConfig()
			if c.Task != task { // FullConfig has the task fill-mask
				configtest.WithTask(c, task)
			}
			c.Task, c.NormPosition, c.TieEmbeddings = task, norm, task == config.FillMask && norm == "pre"
			if task != config.FillMask {
				c.MaskRate = 0
			}
			m, dir := modeltest.RandomModel(c, 9), filepath.Join(t.TempDir(), "a", "model")
			must.Succeed(t, m.Save(dir))
			got := must.Get(sft.Load(dir))(t)
			for _, p := range m.Parameters.List {
				if !slices.Equal(m.Parameters.Slice(m.Weights, p), got.Parameters.Slice(got.Weights, p)) {
					t.Errorf("%s, %s: %s differs", task, norm, p.Name)
				}
			}
			files := []string{filepath.Join(dir, model.WeightsFile), filepath.Join(dir, model.ConfigFile)}
			before := modeltest.ReadFiles(t, files...)
			must.Succeed(t, got.Save(dir))
			if modeltest.ReadFiles(t, files...) != before {
				t.Errorf("%s, %s: the files differ after saving again", task, norm)
			}
		}
	}
}

func TestLoadErrors(t *testing.T) {
	c := configtest.TinyConfig()
	c.NumLayers = 1
	m := modeltest.RandomModel(c, 1)
	tensors := model.TensorsOf(m.Parameters, m.Weights, "")
	find := func(ts []safetensors.Tensor, name string) *safetensors.Tensor {
		for i := range ts {
			if ts[i].Name == name {
				return &ts[i]
			}
		}
		t.Fatalf("no tensor %s", name)
		return nil
	}
	for name, s := range map[string]struct {
		change func(ts []safetensors.Tensor) []safetensors.Tensor
		parts  []string
	}{
		"missing": {func(ts []safetensors.Tensor) []safetensors.Tensor { return ts[1:] },
			[]string{"embed.weight", "missing", "[9 6]"}},
		"extra": {func(ts []safetensors.Tensor) []safetensors.Tensor {
			return append(ts, safetensors.Tensor{Name: "layers.1.sampler.bias", Shape: []int{1}, Data: []float32{0}})
		}, []string{"layers.1.sampler.bias", "not part"}},
		"renamed": {func(ts []safetensors.Tensor) []safetensors.Tensor {
			find(ts, "head.out.bias").Name = "head.out.offset"
			return ts
		}, []string{"head.out.bias", "missing"}},
		"transposed": {func(ts []safetensors.Tensor) []safetensors.Tensor {
			find(ts, "layers.0.mlp.fc1.weight").Shape = []int{6, 7}
			return ts
		}, []string{"layers.0.mlp.fc1.weight", "[6 7]", "[7 6]"}},
		"flat": {func(ts []safetensors.Tensor) []safetensors.Tensor {
			find(ts, "layers.0.attn.q.weight").Shape = []int{36}
			return ts
		}, []string{"layers.0.attn.q.weight", "[36]", "[6 6]"}},
		"NaN": {poison("layers.0.norm2.bias", math.NaN(), find),
			[]string{"layers.0.norm2.bias", "NaN", "index 2"}},
		"infinite": {poison("embed.weight", math.Inf(-1), find), []string{"embed.weight", "Inf", "index 2"}},
	} {
		dir := t.TempDir()
		must.Succeed(t, c.Write(filepath.Join(dir, model.ConfigFile)))
		path := filepath.Join(dir, model.WeightsFile)
		var copied []safetensors.Tensor
		for _, x := range tensors {
			x.Data = slices.Clone(x.Data)
			copied = append(copied, x)
		}
		must.Succeed(t, safetensors.Write(path, s.change(copied), nil))
		_, err := sft.Load(dir)
		for _, part := range append(s.parts, path) {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%s: error %v, expected %q", name, err, part)
			}
		}
	}
}

// poison returns a change that sets the third value of the named tensor to v.
func poison(name string, v float64,
	find func([]safetensors.Tensor, string) *safetensors.Tensor) func([]safetensors.Tensor) []safetensors.Tensor {
	return func(ts []safetensors.Tensor) []safetensors.Tensor {
		find(ts, name).Data[2] = float32(v)
		return ts
	}
}

// TestLoadHostileSizes checks that sizes that exceed the weights file are refused before memory is
// allocated.
func TestLoadHostileSizes(t *testing.T) {
	const huge = 1 << 24
	for name, change := range map[string]func(c *config.Config){
		"vocabulary": func(c *config.Config) { c.VocabSize = huge },
		"labels":     func(c *config.Config) { c.NumLabels = huge },
		"width":      func(c *config.Config) { c.HiddenSize = huge },
		"layers":     func(c *config.Config) { c.NumLayers = huge },
		"mlp":        func(c *config.Config) { c.IntermediateSize = huge },
		"sinusoid":   func(c *config.Config) { c.SinusoidDim = huge },
		"convolutions": func(c *config.Config) {
			c.NumLayers, c.Convolutions = 4096,
				slices.Repeat([]config.Convolution{{KernelSize: 63, Dilation: 1}}, 1<<10)
		},
		"everything": func(c *config.Config) {
			c.VocabSize, c.NumLabels, c.HiddenSize, c.NumHeads, c.NumLayers, c.IntermediateSize, c.SinusoidDim = huge,
				huge, huge, huge, huge, huge, huge
		},
	} {
		dir, m := t.TempDir(), modeltest.RandomModel(configtest.TinyConfig(), 1)
		must.Succeed(t, m.Save(dir))
		change(m.Config)
		must.Succeed(t, m.Config.Write(filepath.Join(dir, model.ConfigFile)))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := sft.Load(dir)
		runtime.ReadMemStats(&after)
		must.Fail(t, dir, name)(err)
		if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 8<<20 {
			t.Errorf("%s: Load allocated %d bytes, want at most 8 MiB", name, allocated)
		}
	}
}

// TestModelConfigOfAnotherModel checks that ReadModelConfig compares the sizes of config.json with
// the header of the weights file, even if the file is large enough.
func TestModelConfigOfAnotherModel(t *testing.T) {
	dir, m := t.TempDir(), modeltest.RandomModel(configtest.TinyConfig(), 1)
	must.Succeed(t, m.Save(dir))
	must.Get(sft.ReadModelConfig(dir))(t)
	m.Config.IntermediateSize--
	must.Succeed(t, m.Config.Write(filepath.Join(dir, model.ConfigFile)))
	must.Fail(t, model.WeightsFile+`: tensor "`)(sft.ReadModelConfig(dir))
	must.Succeed(t, os.Remove(filepath.Join(dir, model.WeightsFile)))
	must.FailWith(t, os.ErrNotExist)(sft.ReadModelConfig(dir))
}

// TestFourierEmbeddings checks that level v of L levels, with t = v/(L − 1), has √2·sin(t) and √2·cos(t)
// in the first two channels and √2·sin(64t) and √2·cos(64t) in the last two. Each row has mean square
// 1. Other weights do not change.
func TestFourierEmbeddings(t *testing.T) {
	for _, levels := range []int{1, 9, 256} {
		c := configtest.TinyConfig()
		c.VocabSize = levels
		fresh, m := sft.NewModel(c, 5), sft.NewModel(c, 5)
		m.FourierEmbeddings()
		for _, p := range m.Parameters.List {
			if same := slices.Equal(m.Parameters.Slice(m.Weights, p),
				m.Parameters.Slice(fresh.Weights, p)); same != (p.Name != "embed.weight") {
				t.Errorf("%d levels: %s is unchanged: %t, want %t", levels, p.Name, same, !same)
			}
		}
		p, _ := m.Parameters.Lookup("embed.weight")
		x, d := m.Parameters.Slice(m.Weights, p), c.HiddenSize
		for v := range levels {
			row, level, squares := x[v*d:(v+1)*d], float64(v)/float64(max(1, levels-1)), 0.0
			for _, e := range row {
				squares += float64(e) * float64(e)
			}
			if math.Abs(squares/float64(d)-1) > 1e-6 {
				t.Errorf("%d levels: the mean square of level %d is %v, want 1", levels, v, squares/float64(d))
			}
			for channel, angle := range map[int]float64{0: level, d - 2: 64 * level} {
				if sin, cos := math.Sincos(angle); math.Abs(float64(row[channel])-math.Sqrt2*sin) > 1e-6 ||
					math.Abs(float64(row[channel+1])-math.Sqrt2*cos) > 1e-6 {
					t.Errorf("%d levels: level %d has %v in channels %d and %d, expected √2 times the sine and the "+
						"cosine of %v", levels, v, row[channel:channel+2], channel, channel+1, angle)
				}
			}
		}
	}
}

// TestCodebookEmbeddings checks that mean squared differences of embeddings approximate those of the
// standardised vectors, whatever the units of the columns, and that other weights do not change. It also
// checks the error for a wrong number of values, and that equal vectors have zero embeddings.
func TestCodebookEmbeddings(t *testing.T) {
	const tokens, n = 6, 4
	c := configtest.TinyConfig()
	c.VocabSize, c.HiddenSize, c.NumLayers, c.SinusoidDim, c.IntermediateSize = tokens, 2048, 1, 8, 8
	var vectors, scaled []float32
	for v := range tokens {
		for j := range n {
			x := float32(math.Sin(float64(5*v*v + 3*j + v*j)))
			if v == 3 { // equals token 2
				x = vectors[2*n+j]
			}
			vectors, scaled = append(vectors, x), append(scaled, x*float32(math.Pow(10, float64(j)))-7)
		}
	}
	fresh, m, other := sft.NewModel(c, 5), sft.NewModel(c, 5), sft.NewModel(c, 5)
	must.Succeed(t, errors.Join(m.CodebookEmbeddings(vectors, 5), other.CodebookEmbeddings(scaled, 5)))
	for _, p := range m.Parameters.List {
		if same := slices.Equal(m.Parameters.Slice(m.Weights, p),
			m.Parameters.Slice(fresh.Weights, p)); same != (p.Name != "embed.weight") {
			t.Errorf("%s is unchanged: %t, want %t", p.Name, same, !same)
		}
	}
	p, _ := m.Parameters.Lookup("embed.weight")
	x, y := m.Parameters.Slice(m.Weights, p), other.Parameters.Slice(other.Weights, p)
	squares := 0.0
	for e := range x {
		squares += float64(x[e]) * float64(x[e]) / float64(len(x))
		if math.Abs(float64(x[e]-y[e])) > 1e-2 {
			t.Fatalf("number %d is %v, but %v for the same vectors in other units", e, x[e], y[e])
		}
	}
	if math.Abs(squares-1) > 0.1 {
		t.Errorf("mean square %v, expected about 1", squares)
	}
	for a := range tokens {
		for b := range a {
			var distance, want float64
			for e := range c.HiddenSize {
				d := float64(x[a*c.HiddenSize+e] - x[b*c.HiddenSize+e])
				distance += d * d / float64(c.HiddenSize)
			}
			for j := range n {
				var mean, variance float64
				for v := range tokens {
					mean += float64(vectors[v*n+j]) / tokens
				}
				for v := range tokens {
					variance += math.Pow(float64(vectors[v*n+j])-mean, 2) / tokens
				}
				want += math.Pow(float64(vectors[a*n+j]-vectors[b*n+j]), 2) / variance / n
			}
			if math.Abs(distance-want) > 0.15*want {
				t.Errorf("the mean squared difference of tokens %d and %d is %v, want about %v", a, b, distance, want)
			}
		}
	}
	for _, bad := range [][]float32{nil, vectors[1:]} {
		must.Fail(t, "expected a vector for each of 6 tokens", len(bad), "numbers")(m.CodebookEmbeddings(bad, 5))
	}
	if err := m.CodebookEmbeddings(slices.Repeat([]float32{0.1}, tokens), 5); err != nil ||
		slices.ContainsFunc(x, func(v float32) bool { return v != 0 }) {
		t.Errorf("equal vectors: error %v, or an embedding is not 0", err)
	}
}

// TestCopyFrom checks that a model copies another model's encoder, and its head only if both have
// the same outputs. A copy predicts the same numbers even if it standardises them differently. Encoders
// with another width or other convolutions are refused.
func TestCopyFrom(t *testing.T) {
	source := modeltest.RandomModel(configtest.TinyConfig(), 1)
	c := configtest.TinyConfig()
	c.NumLabels = 5
	m := sft.NewModel(c, 2)
	initial := slices.Clone(m.Weights)
	fresh := must.Get(m.CopyFrom(source))(t)
	if len(fresh) != 4 || fresh[0].Name != "head.pool.weight" || fresh[3].Name != "head.out.bias" {
		t.Errorf("fresh parameters %v, want the 4 of the head", fresh)
	}
	for _, p := range m.Parameters.List {
		want := m.Parameters.Slice(initial, p)
		if p.Part != config.PartHead {
			q, _ := source.Parameters.Lookup(p.Name)
			want = source.Parameters.Slice(source.Weights, q)
		}
		if !slices.Equal(m.Parameters.Slice(m.Weights, p), want) {
			t.Errorf("%s has wrong values", p.Name)
		}
	}
	for task, copiesAll := range map[string]bool{config.Classification: true, config.MultiLabel: false,
		config.Tagging:    false,
		config.Regression: false} {
		c := configtest.WithTask(configtest.TinyConfig(), task)
		if fresh, err := sft.NewModel(c, 2).CopyFrom(source); err != nil || (len(fresh) == 0) != copiesAll {
			t.Errorf("%s from %s: fresh parameters %v, want none: %t; error %v", task, source.Config.Task, fresh,
				copiesAll, err)
		}
	}
	named, others := *configtest.TinyConfig(), *configtest.TinyConfig()
	for i := range named.NumLabels {
		named.LabelNames = append(named.LabelNames, string(rune('a'+i)))
		others.LabelNames = append(others.LabelNames, string(rune('b'+i)))
	}
	for _, x := range []struct {
		config *config.Config
		fresh  int
	}{{&named, 0}, {configtest.TinyConfig(), 0}, {&others, 4}} {
		if fresh, err := sft.NewModel(x.config, 2).CopyFrom(sft.NewModel(&named, 1)); err != nil ||
			len(fresh) != x.fresh {
			t.Errorf("labels %q: fresh parameters %v, want %d; error %v", x.config.LabelNames, fresh, x.fresh, err)
		}
	}
	from, to := configtest.WithTask(configtest.TinyConfig(), config.Regression),
		configtest.WithTask(configtest.TinyConfig(), config.Regression)
	for i := range from.Numbers {
		from.Numbers[i].Mean, from.Numbers[i].Deviation = 3, 2
		to.Numbers[i].Mean, to.Numbers[i].Deviation = -4, 0.5
	}
	before, after := modeltest.RandomModel(from, 1), sft.NewModel(to, 2)
	if fresh, err := after.CopyFrom(before); err != nil || len(fresh) != 0 {
		t.Errorf("numbers with another scale: fresh parameters %v, want none; error %v", fresh, err)
	}
	predictions := func(m *sft.Model) []float32 {
		s := must.Get(sft.NewScorer(m, cpu.New(1)))(t)
		out := must.Get(s.Examples(t.Context(), []seq.Example{{A: []int32{1, 2, 3}}}))(t)
		return m.Config.Predictions(out[0].Logits)
	}
	want, got := predictions(before), predictions(after)
	for i := range want {
		if d := math.Abs(float64(want[i] - got[i])); !(d < 1e-5*(1+math.Abs(float64(want[i])))) {
			t.Errorf("number %d: the copy predicts %v, expected %v", i, got[i], want[i])
		}
	}
	c.HiddenSize = 8
	must.Fail(t, "hidden_size 6, expected 8", "another width")(sft.NewModel(c, 2).CopyFrom(source))
	convolutional := configtest.TinyConfig()
	convolutional.Convolutions = []config.Convolution{{KernelSize: 5, Dilation: 1}}
	for _, c := range [][2]*config.Config{{convolutional, configtest.TinyConfig()}, {configtest.TinyConfig(),
		convolutional}} {
		if _, err := sft.NewModel(c[0], 2).CopyFrom(sft.NewModel(c[1], 1)); err == nil ||
			!strings.Contains(err.Error(), "layers.0.conv.0.weight") {
			t.Errorf("convolutions %v from %v: error %v, want one that names layers.0.conv.0.weight",
				c[0].Convolutions, c[1].Convolutions, err)
		}
	}
}
