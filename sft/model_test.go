package sft

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
)

func TestSaveAndLoad(t *testing.T) {
	for _, task := range Tasks() {
		for _, norm := range []string{"pre", "post"} {
			c := fullConfig()
			if task == Regression || task == Tagging {
				ofTask(c, task)
			}
			c.Task, c.NormPosition, c.TieEmbeddings = task, norm, task == FillMask && norm == "pre"
			if task != FillMask {
				c.MaskRate = 0
			}
			m, dir := randomModel(c, 9), filepath.Join(t.TempDir(), "a", "model")
			must.Succeed(t, m.Save(dir))
			got := must.Get(Load(dir))(t)
			for _, p := range m.Parameters.List {
				if !slices.Equal(m.Parameters.Slice(m.Weights, p), got.Parameters.Slice(got.Weights, p)) {
					t.Errorf("%s, %s: %s differs", task, norm, p.Name)
				}
			}
			files := []string{filepath.Join(dir, weightsFile), filepath.Join(dir, configFile)}
			before := read(t, files...)
			must.Succeed(t, got.Save(dir))
			if read(t, files...) != before {
				t.Errorf("%s, %s: saved again, the files differ", task, norm)
			}
		}
	}
}

func read(t *testing.T, paths ...string) string {
	t.Helper()
	var all strings.Builder
	for _, path := range paths {
		text := must.Get(os.ReadFile(path))(t)
		all.Write(text)
	}
	return all.String()
}

// TestTensorsOfTheSpecification lists names and shapes as model.md has them.
func TestTensorsOfTheSpecification(t *testing.T) {
	c := tinyConfig()
	c.NumLayers, c.Task, c.ResidualScale = 1, Retrieval, true
	c.Convolutions = []Convolution{{5, 1}, {3, 32}}
	want := map[string][]int{"embed.weight": {9, 6}, "final_norm.weight": {6}, "final_norm.bias": {6},
		"head.pool.weight": {6}, "head.pool.bias": {1},
		"head.hidden.weight": {6, 24}, "head.hidden.bias": {6}, "head.out.weight": {3, 6}, "head.out.bias": {3}}
	for name, shape := range map[string][]int{"sampler.weight": {6}, "sampler.bias": {1}, "attn.q.weight": {6, 6},
		"attn.q.bias": {6}, "attn.k.weight": {6, 6},
		"attn.k.bias": {6}, "attn.v.weight": {6, 6}, "attn.v.bias": {6}, "attn.o.weight": {6, 6}, "attn.o.bias": {6},
		"attn.leak.weight": {2, 6}, "attn.leak.bias": {2},
		"attn.rel_mul.weight": {2, 4}, "attn.rel_mul.bias": {2}, "attn.rel_add.weight": {2, 4},
		"attn.rel_add.bias": {2}, "mlp.fc1.weight": {7, 6}, "mlp.fc1.bias": {7},
		"mlp.fc2.weight": {6, 7}, "mlp.fc2.bias": {6}, "norm1.weight": {6}, "norm1.bias": {6}, "norm2.weight": {6},
		"norm2.bias": {6}, "residual_scale": {1},
		"conv.0.weight": {5, 6}, "conv.0.bias": {6}, "conv.0.norm.weight": {6}, "conv.0.norm.bias": {6},
		"conv.1.weight": {3, 6}, "conv.1.bias": {6}, "conv.1.norm.weight": {6}, "conv.1.norm.bias": {6}} {
		want["layers.0."+name] = shape
	}
	compare := func(c *Config) {
		t.Helper()
		p := NewParameters(c)
		if len(p.List) != len(want) {
			t.Errorf("%d tensors, expected %d", len(p.List), len(want))
		}
		for name, shape := range want {
			q, ok := p.Lookup(name)
			decay := strings.HasSuffix(name, ".weight") && !strings.Contains(name, "norm")
			if !ok || !slices.Equal(q.Shape, shape) || q.Decay != decay {
				t.Errorf("%s: found %v, %+v, expected shape %v, decay %v", name, ok, q, shape, decay)
			}
		}
	}
	compare(c)
	c.Relative, c.ResidualScale, c.NormPosition, c.Task, c.Convolutions = "none", false, "post", Classification, nil
	for name := range want {
		for _, gone := range []string{"rel_", "residual_scale", "final_norm", "head.hidden", "conv."} {
			if strings.Contains(name, gone) {
				delete(want, name)
			}
		}
	}
	compare(c)
}

func TestLoadErrors(t *testing.T) {
	c := tinyConfig()
	c.NumLayers = 1
	m := randomModel(c, 1)
	whole := m.Parameters.tensors(m.Weights, "")
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
		must.Succeed(t, c.Write(filepath.Join(dir, configFile)))
		path := filepath.Join(dir, weightsFile)
		var copied []safetensors.Tensor
		for _, x := range whole {
			x.Data = slices.Clone(x.Data)
			copied = append(copied, x)
		}
		must.Succeed(t, safetensors.Write(path, s.change(copied), nil))
		_, err := Load(dir)
		for _, part := range append(s.parts, path) {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%s: error %v, expected it to say %q", name, err, part)
			}
		}
	}
}

func poison(name string, v float64,
	find func([]safetensors.Tensor, string) *safetensors.Tensor) func([]safetensors.Tensor) []safetensors.Tensor {
	return func(ts []safetensors.Tensor) []safetensors.Tensor {
		find(ts, name).Data[2] = float32(v)
		return ts
	}
}

// TestLoadHostileSizes: sizes that the weights' file cannot hold are refused
// before memory is taken for them.
func TestLoadHostileSizes(t *testing.T) {
	const most = 1 << 24
	for name, change := range map[string]func(c *Config){
		"vocabulary": func(c *Config) { c.VocabSize = most },
		"labels":     func(c *Config) { c.NumLabels = most },
		"width":      func(c *Config) { c.HiddenSize = most },
		"layers":     func(c *Config) { c.NumLayers = most },
		"mlp":        func(c *Config) { c.IntermediateSize = most },
		"sinusoid":   func(c *Config) { c.SinusoidDim = most },
		"convolutions": func(c *Config) {
			c.NumLayers, c.Convolutions = 4096,
				slices.Repeat([]Convolution{{63, 1}}, 1<<10)
		},
		"everything": func(c *Config) {
			c.VocabSize, c.NumLabels, c.HiddenSize, c.NumHeads, c.NumLayers, c.IntermediateSize, c.SinusoidDim = most,
				most, most, most, most, most, most
		},
	} {
		dir, m := t.TempDir(), randomModel(tinyConfig(), 1)
		must.Succeed(t, m.Save(dir))
		change(m.Config)
		must.Succeed(t, m.Config.Write(filepath.Join(dir, configFile)))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Load(dir)
		runtime.ReadMemStats(&after)
		must.Fail(t, dir, name)(err)
		if took := after.TotalAlloc - before.TotalAlloc; took > 8<<20 {
			t.Errorf("%s: %d bytes allocated", name, took)
		}
	}
}

// TestModelConfigOfAnotherModel: the sizes of a config.json are compared with the header of the weights
// file, also where that file is large enough.
func TestModelConfigOfAnotherModel(t *testing.T) {
	dir, m := t.TempDir(), randomModel(tinyConfig(), 1)
	must.Succeed(t, m.Save(dir))
	must.Get(ReadModelConfig(dir))(t)
	m.Config.IntermediateSize--
	must.Succeed(t, m.Config.Write(filepath.Join(dir, configFile)))
	must.Fail(t, weightsFile+`: tensor "`)(ReadModelConfig(dir))
	must.Succeed(t, os.Remove(filepath.Join(dir, weightsFile)))
	must.FailWith(t, os.ErrNotExist)(ReadModelConfig(dir))
}

func TestInitialize(t *testing.T) {
	c := tinyConfig()
	c.ResidualScale = true
	c.Convolutions = []Convolution{{5, 1}, {3, 32}}
	first := Initialize(c, 5)
	if !slices.Equal(first, Initialize(c, 5)) {
		t.Error("one seed, two models")
	}
	p, second := NewParameters(c), Initialize(c, 6)
	for _, q := range p.List {
		x := p.Slice(first, q)
		constant := strings.Contains(q.Name, "norm") || strings.HasSuffix(q.Name, "residual_scale") ||
			strings.Contains(q.Name, ".bias") &&
				(strings.Contains(q.Name, "rel_") || strings.Contains(q.Name, "sampler") ||
					strings.Contains(q.Name, "head.pool") || strings.Contains(q.Name, ".conv."))
		if slices.Equal(x, p.Slice(second, q)) != constant {
			t.Errorf("%s: the same for two seeds: %v", q.Name, !constant)
		}
		for i, v := range x {
			if strings.Contains(q.Name, "rel_mul.bias") && math.Abs(math.Log1p(math.Exp(float64(v)))-1) > 1e-6 {
				t.Errorf("%s: softplus(%v) is not 1", q.Name, v)
			}
			if taps := float64(q.Shape[0]); strings.Contains(q.Name, ".conv.") &&
				strings.HasSuffix(q.Name, ".weight") && !constant && !(math.Abs(float64(v)) <= 1/math.Sqrt(taps)) {
				t.Errorf("%s: %v at %d is outside of ±1/√%v", q.Name, v, i, taps)
			}
			if strings.Contains(q.Name, ".conv.") && strings.HasSuffix(q.Name, ".bias") && v != 0 {
				t.Errorf("%s: %v at %d", q.Name, v, i)
			}
			if strings.Contains(q.Name, "attn.q") && math.Abs(float64(v)) > 1/math.Sqrt(6) {
				t.Errorf("%s: %v at %d is outside of ±1/√6", q.Name, v, i)
			}
			if strings.Contains(q.Name, "norm") &&
				v != map[bool]float32{true: 0, false: 1}[strings.HasSuffix(q.Name, ".bias")] {
				t.Errorf("%s: %v at %d", q.Name, v, i)
			}
		}
	}
}

// TestFreshSpread: fresh values have the spread that Initialize states: uniform ones reach
// nearly to their bound, normal ones have their mean square.
func TestFreshSpread(t *testing.T) {
	c := tinyConfig()
	c.VocabSize, c.HiddenSize, c.NumHeads, c.IntermediateSize, c.SinusoidDim = 90, 64, 4, 32, 48
	c.Convolutions = []Convolution{{KernelSize: 5, Dilation: 1}}
	p, words := NewParameters(c), Initialize(c, 1)
	of := func(name string) []float32 {
		q, ok := p.Lookup(name)
		if !ok {
			t.Fatalf("no parameter %s", name)
		}
		return p.Slice(words, q)
	}
	for name, in := range map[string]float64{"layers.0.conv.0.weight": 5, "layers.0.attn.q.weight": 64,
		"layers.0.attn.q.bias":    64,
		"layers.0.mlp.fc2.weight": 32, "layers.0.mlp.fc2.bias": 32, "head.out.weight": 64} {
		largest := 0.0
		for _, v := range of(name) {
			largest = max(largest, math.Abs(float64(v)))
		}
		if bound := 1 / math.Sqrt(in); largest > bound || largest < 0.9*bound {
			t.Errorf("%s: values up to %v, expected up to %v", name, largest, bound)
		}
	}
	for name, want := range map[string]float64{"embed.weight": 1, "layers.0.sampler.weight": 1.0 / 64,
		"head.pool.weight":             1.0 / 64,
		"layers.0.attn.rel_mul.weight": 0.02 * 0.02, "layers.0.attn.rel_add.weight": 0.02 * 0.02} {
		mean, square := 0.0, 0.0
		x := of(name)
		for _, v := range x {
			mean += float64(v) / float64(len(x))
			square += float64(v) * float64(v) / float64(len(x))
		}
		if sigma := math.Sqrt(2 / float64(len(x))); math.Abs(square/want-1) > 4*sigma ||
			mean*mean > 16*want/float64(len(x)) {
			t.Errorf("%s: mean %v, mean square %v, expected 0 and %v", name, mean, square, want)
		}
	}
	for _, q := range p.List {
		if q.Decay != (q.Offset < p.Decayed) {
			t.Errorf("%s decays: %v, but lies at %d, where what decays ends at %d", q.Name,
				q.Decay, q.Offset, p.Decayed)
		}
	}
}

// TestFourierEmbeddings: level t has sin and cos of t in the first two channels and of 64·t
// in the last two, each row has mean square 1, and nothing else changes.
func TestFourierEmbeddings(t *testing.T) {
	for _, levels := range []int{1, 9, 256} {
		c := tinyConfig()
		c.VocabSize = levels
		fresh, m := NewModel(c, 5), NewModel(c, 5)
		m.FourierEmbeddings()
		for _, p := range m.Parameters.List {
			if same := slices.Equal(m.Parameters.Slice(m.Weights, p),
				m.Parameters.Slice(fresh.Weights, p)); same != (p.Name != "embed.weight") {
				t.Errorf("%d levels: %s is as before: %v", levels, p.Name, same)
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
				t.Errorf("%d levels: the mean square of level %d is %v", levels, v, squares/float64(d))
			}
			for channel, angle := range map[int]float64{0: level, d - 2: 64 * level} {
				if sin, cos := math.Sincos(angle); math.Abs(float64(row[channel])-math.Sqrt2*sin) > 1e-6 ||
					math.Abs(float64(row[channel+1])-math.Sqrt2*cos) > 1e-6 {
					t.Errorf("%d levels: level %d has %v in channels %d and %d, expected √2 times the sine and the cosine of %v", levels, v, row[channel:channel+2], channel, channel+1, angle)
				}
			}
		}
	}
}

// TestCodebookEmbeddings: distances between embeddings are nearly those between the vectors
// that tokens stand for, whatever the unit of each column, and nothing else changes.
func TestCodebookEmbeddings(t *testing.T) {
	const tokens, n = 6, 4
	c := tinyConfig()
	c.VocabSize, c.HiddenSize, c.NumLayers, c.SinusoidDim, c.IntermediateSize = tokens, 2048, 1, 8, 8
	var vectors, scaled []float32
	for v := range tokens {
		for j := range n {
			x := float32(math.Sin(float64(5*v*v + 3*j + v*j)))
			if v == 3 { // as token 2
				x = vectors[2*n+j]
			}
			vectors, scaled = append(vectors, x), append(scaled, x*float32(math.Pow(10, float64(j)))-7)
		}
	}
	fresh, m, other := NewModel(c, 5), NewModel(c, 5), NewModel(c, 5)
	must.Succeed(t, errors.Join(m.CodebookEmbeddings(vectors, 5), other.CodebookEmbeddings(scaled, 5)))
	for _, p := range m.Parameters.List {
		if same := slices.Equal(m.Parameters.Slice(m.Weights, p),
			m.Parameters.Slice(fresh.Weights, p)); same != (p.Name != "embed.weight") {
			t.Errorf("%s is as before: %v", p.Name, same)
		}
	}
	p, _ := m.Parameters.Lookup("embed.weight")
	x, y := m.Parameters.Slice(m.Weights, p), other.Parameters.Slice(other.Weights, p)
	squares := 0.0
	for e := range x {
		squares += float64(x[e]) * float64(x[e]) / float64(len(x))
		if math.Abs(float64(x[e]-y[e])) > 1e-2 {
			t.Fatalf("number %d is %v, and %v of the same vectors in other units", e, x[e], y[e])
		}
	}
	if math.Abs(squares-1) > 0.1 {
		t.Errorf("mean square %v, expected about 1", squares)
	}
	for a := range tokens {
		for b := range a {
			var between, want float64
			for e := range c.HiddenSize {
				d := float64(x[a*c.HiddenSize+e] - x[b*c.HiddenSize+e])
				between += d * d / float64(c.HiddenSize)
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
			if math.Abs(between-want) > 0.15*want {
				t.Errorf("tokens %d and %d are %v apart, expected about %v", a, b, between, want)
			}
		}
	}
	for _, bad := range [][]float32{nil, vectors[1:]} {
		must.Fail(t, "expected a vector for each of 6 tokens", len(bad), "numbers")(m.CodebookEmbeddings(bad, 5))
	}
	if err := m.CodebookEmbeddings(slices.Repeat([]float32{0.1}, tokens), 5); err != nil ||
		slices.ContainsFunc(x, func(v float32) bool { return v != 0 }) {
		t.Errorf("equal vectors: %v, or embeddings that are not 0", err)
	}
}

// TestCopyFrom: a model starts from another's encoder, and from its head where
// that says the same.
func TestCopyFrom(t *testing.T) {
	source := randomModel(tinyConfig(), 1)
	c := tinyConfig()
	c.NumLabels = 5
	m := NewModel(c, 2)
	fresh := slices.Clone(m.Weights)
	kept := must.Get(m.CopyFrom(source))(t)
	if len(kept) != 4 || kept[0].Name != "head.pool.weight" || kept[3].Name != "head.out.bias" {
		t.Errorf("fresh are %v", kept)
	}
	for _, p := range m.Parameters.List {
		want := m.Parameters.Slice(fresh, p)
		if p.Part != PartHead {
			q, _ := source.Parameters.Lookup(p.Name)
			want = source.Parameters.Slice(source.Weights, q)
		}
		if !slices.Equal(m.Parameters.Slice(m.Weights, p), want) {
			t.Errorf("%s: not as expected", p.Name)
		}
	}
	for task, all := range map[string]bool{Classification: true, MultiLabel: false, Tagging: false, Regression: false} {
		c := ofTask(tinyConfig(), task)
		if kept, err := NewModel(c, 2).CopyFrom(source); err != nil || (len(kept) == 0) != all {
			t.Errorf("%s from %s: fresh are %v, %v", task, source.Config.Task, kept, err)
		}
	}
	named, others := *tinyConfig(), *tinyConfig()
	for i := range named.NumLabels {
		named.LabelNames = append(named.LabelNames, string(rune('a'+i)))
		others.LabelNames = append(others.LabelNames, string(rune('b'+i)))
	}
	for _, x := range []struct {
		config *Config
		fresh  int
	}{{&named, 0}, {tinyConfig(), 0}, {&others, 4}} {
		if kept, err := NewModel(x.config, 2).CopyFrom(NewModel(&named, 1)); err != nil || len(kept) != x.fresh {
			t.Errorf("labels %q: fresh are %v, %v", x.config.LabelNames, kept, err)
		}
	}
	from, to := ofTask(tinyConfig(), Regression), ofTask(tinyConfig(), Regression)
	for i := range from.Numbers {
		from.Numbers[i].Mean, from.Numbers[i].Deviation = 3, 2
		to.Numbers[i].Mean, to.Numbers[i].Deviation = -4, 0.5
	}
	before, after := randomModel(from, 1), NewModel(to, 2)
	if kept, err := after.CopyFrom(before); err != nil || len(kept) != 0 {
		t.Errorf("numbers of another scale: fresh are %v, %v", kept, err)
	}
	predictions := func(m *Model) []float32 {
		s := must.Get(NewScorer(m, cpu.New(1)))(t)
		out := must.Get(s.Examples(t.Context(), []seq.Example{{A: []int32{1, 2, 3}}}))(t)
		return m.Config.Predictions(out[0].Logits)
	}
	want, got := predictions(before), predictions(after)
	for i := range want {
		if d := math.Abs(float64(want[i] - got[i])); !(d < 1e-5*(1+math.Abs(float64(want[i])))) {
			t.Errorf("number %d: predicted as %v, expected %v as before", i, got[i], want[i])
		}
	}
	c.HiddenSize = 8
	must.Fail(t, "hidden_size is 6 there, expected 8", "another width")(NewModel(c, 2).CopyFrom(source))
	with := tinyConfig()
	with.Convolutions = []Convolution{{5, 1}}
	for _, c := range [][2]*Config{{with, tinyConfig()}, {tinyConfig(), with}} {
		if _, err := NewModel(c[0], 2).CopyFrom(NewModel(c[1], 1)); err == nil ||
			!strings.Contains(err.Error(), "layers.0.conv.0.weight") {
			t.Errorf("convolutions %v from %v: error %v", c[0].Convolutions, c[1].Convolutions, err)
		}
	}
}
