package sft

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
)

// tinyConfig is the smallest model with every part.
func tinyConfig() *Config {
	return &Config{ModelType: "sft", Task: Classification, VocabSize: 9, NumLabels: 3, HiddenSize: 6,
		NumLayers: 2, NumHeads: 2,
		IntermediateSize: 7, NumSampledTokens: 5, MaxLength: 1 << 20, SinusoidDim: 4,
		SinusoidBase: 100, NormPosition: "pre",
		LayerNormEps: 1e-5, Score: "maxout", Probability: "leaky_relu", Relative: "sinusoid_hadamard", SamplerSeed: 7,
		SamplerNoise: "train", Tokenizer: json.RawMessage(`{"type":"listops"}`)}
}

// ofTask makes a configuration one of a task.
func ofTask(c *Config, task string) *Config {
	if c.Task = task; task == FillMask {
		c.NumLabels, c.MaskTokenID, c.MaskRate, c.MaskSpan = c.VocabSize-1, new(int32(c.VocabSize-1)), 0.3, 2
	}
	if task == Regression {
		c.LabelNames, c.NumLabels = nil, 2
		c.Numbers = []Number{{"mass", 3.5, 2}, {"charge", -100, 0.25}}
	}
	if task == Tagging {
		c.LabelNames, c.NumLabels = []string{"O", "B-X", "I-X"}, 3
	}
	return c
}

// switches are the keys of a configuration that are true or false, if its task has them.
func switches(c *Config) (out []reflect.Value) {
	fields := reflect.ValueOf(c).Elem()
	for i := range fields.NumField() {
		if fields.Type().Field(i).Name == "TieEmbeddings" && c.Task != FillMask {
			continue
		}
		if f := fields.Field(i); f.Kind() == reflect.Bool {
			out = append(out, f)
		}
	}
	return out
}

// randomModel has random weights everywhere: fresh ones leave some parts idle.
func randomModel(c *Config, seed uint64) *Model {
	m := NewModel(c, seed)
	random := rand.New(rand.NewPCG(seed, 3))
	for _, p := range m.Parameters.List {
		for i := range m.Parameters.Slice(m.Weights, p) {
			m.Weights[p.Offset+i] += 0.2 * float32(random.NormFloat64())
		}
	}
	return m
}

// randomExamples makes one example for each length.
func randomExamples(c *Config, random *rand.Rand, lengths ...int) []seq.Example {
	vocabulary := c.VocabSize
	if c.MaskTokenID != nil {
		vocabulary--
	}
	tokens := func(n int) []int32 {
		x := make([]int32, n)
		for i := range x {
			x[i] = random.Int32N(int32(vocabulary))
		}
		return x
	}
	var out []seq.Example
	for i, n := range lengths {
		e := seq.Example{Index: uint32(1000 + i), A: tokens(n), Label: random.Int32N(int32(c.NumLabels))}
		for _, n := range c.Numbers {
			e.Numbers = append(e.Numbers, float32(n.Mean+2*n.Deviation*random.NormFloat64()))
		}
		if c.Task == Tagging {
			for range e.A {
				e.Labels = append(e.Labels, random.Int32N(int32(c.NumLabels)+1)-1)
			}
		}
		if c.Task == MultiLabel {
			e.Labels = []int32{}
			for label := range int32(c.NumLabels) {
				if slices.Contains(e.A, label) {
					e.Labels = append(e.Labels, label)
				}
			}
		}
		if c.Sequences() == 2 {
			e.B = tokens(1 + random.IntN(2*n))
		}
		out = append(out, e)
	}
	return out
}

// randomConfigs has every score, probability and relative position bias with everything else
// drawn.
func randomConfigs() []*Config {
	random := rand.New(rand.NewPCG(5, 6))
	pick := func(s ...string) string { return s[random.IntN(len(s))] }
	var out []*Config
	for _, score := range []string{"maxout", "maxout_standardized", "lily", "dot"} {
		for _, probability := range []string{"leaky_relu", "relu", "softmax"} {
			for _, relative := range []string{"sinusoid_hadamard", "none"} {
				c := tinyConfig()
				c.Score, c.Probability, c.Relative = score, probability, relative
				c.Task, c.NormPosition = pick(Classification, Retrieval), pick("pre", "post")
				c.SamplerNoise = pick("train", "always")
				for _, f := range switches(c) {
					f.SetBool(random.IntN(2) == 0)
				}
				c.NumHeads = 1 + random.IntN(3)
				c.HiddenSize = c.NumHeads * (1 + random.IntN(6))
				c.NumLayers, c.NumSampledTokens = 1+random.IntN(2), 1+random.IntN(60)
				c.SinusoidDim, c.IntermediateSize = 2*(1+random.IntN(5)), 1+random.IntN(20)
				c.Convolutions = [][]Convolution{nil, {{3, 1}}, {{5, 2}, {1, 1}}, {{63, 40}}}[len(out)%4]
				c.Pooling, c.PoolingSamples = []string{"", MaxPooling, MaxPooling}[len(out)%3],
					[]int{0, 0, 7}[len(out)%3]
				out = append(out, c)
			}
		}
	}
	return out
}

func score(t *testing.T, s *Scorer, examples []seq.Example) []Output {
	t.Helper()
	return must.Get(s.Examples(context.Background(), examples))(t)
}

func newScorerOf(t *testing.T, m *Model, device tensor.Device) *Scorer {
	t.Helper()
	return must.Get(NewScorer(m, device))(t)
}

// onEveryKind runs a test with devices that agree to the bit: numbers of threads
// on the processor, and Vulkan alone, unless time is short.
func onEveryKind(t *testing.T, f func(t *testing.T, devices ...tensor.Device)) {
	t.Run("cpu", func(t *testing.T) { f(t, cpu.New(1), cpu.New(2), cpu.New(3)) })
	if !testing.Short() {
		t.Run("vulkan", func(t *testing.T) { f(t, vulkan(t)) })
	}
}

// TestBatchesChangeNoBit: the outputs of a sequence are the same alone, in any
// batch and order, and with any number of threads.
func TestBatchesChangeNoBit(t *testing.T) { onEveryKind(t, testBatchesChangeNoBit) }

func testBatchesChangeNoBit(t *testing.T, devices ...tensor.Device) {
	for i, c := range randomConfigs() {
		if i%5 != 0 && len(devices) == 1 {
			continue // compiled anew for each configuration
		}
		random := rand.New(rand.NewPCG(uint64(i), 1))
		m := randomModel(c, uint64(i))
		lengths := []int{1, 2, 31, 33, 64, 130, 7}
		if i == 0 {
			lengths = append(lengths, 4096, 3000, 3000) // several passes at once
		}
		examples := randomExamples(c, random, lengths...)
		alone := make([]Output, len(examples))
		single := newScorerOf(t, m, devices[0])
		for e := range examples {
			alone[e] = score(t, single, examples[e:e+1])[0]
		}
		for _, device := range devices {
			s := newScorerOf(t, m, device)
			order := random.Perm(len(examples))
			var batch []seq.Example
			for _, e := range order {
				batch = append(batch, examples[e])
			}
			for at, o := range score(t, s, batch) {
				want := alone[order[at]]
				same := slices.Equal(o.Logits, want.Logits)
				for tower, v := range want.Embeddings {
					same = same && slices.Equal(o.Embeddings[tower], v)
				}
				if !same {
					t.Errorf("configuration %d (%s, %s, %s), %s, example of length %d: %v in a batch, %v alone",
						i, c.Score, c.Probability, c.Relative, device.Name(), len(batch[at].A), o.Logits, want.Logits)
				}
			}
			compareEmbeddings(t, s, examples, alone)
			if c.Sequences() == 2 {
				comparePairs(t, s, alone)
			}
		}
	}
}

// compareEmbeddings asks for the sequences' vectors without the head.
func compareEmbeddings(t *testing.T, s *Scorer, examples []seq.Example, want []Output) {
	t.Helper()
	var sequences [][]int32
	var vectors [][]float32
	for i, e := range examples {
		sequences, vectors = append(sequences, e.A), append(vectors, want[i].Embeddings...)
		if s.Config().Sequences() == 2 {
			sequences = append(sequences, e.B)
		}
	}
	got := must.Get(s.Embeddings(context.Background(), sequences))(t)
	for i, v := range vectors {
		if !slices.Equal(got[i], v) {
			t.Errorf("embedding %d: %v, expected %v", i, got[i], v)
		}
	}
}

// comparePairs asks for the logits of pairs by their embeddings, more of them than a
// pass takes.
func comparePairs(t *testing.T, s *Scorer, want []Output) {
	t.Helper()
	var a, b [][]float32
	var logits []float32
	for len(a) <= s.PassTokens()/4 {
		for _, o := range want {
			a, b, logits = append(a, o.Embeddings[0]), append(b, o.Embeddings[1]), append(logits, o.Logits...)
		}
	}
	got := must.Get(s.Compare(context.Background(), a, b))(t)
	if !slices.Equal(got, logits) {
		t.Errorf("the logits of %d pairs by their embeddings differ from those by their tokens", len(a))
	}
}

// gradientOf returns the sum over the examples, the losses and the dead attention rows.
func gradientOf(t *testing.T, m *Model, slots int, device tensor.Device, examples []seq.Example,
	mode passMode) ([]float32, *batchGradient) {
	t.Helper()
	return weightedGradient(t, m, slots, device, examples, drawing{mode, 11, 3}, nil)
}

// weightedGradient is gradientOf with the weight of each class or label, and with a given drawing.
func weightedGradient(t *testing.T, m *Model, slots int, device tensor.Device, examples []seq.Example, d drawing,
	weight []float64) ([]float32, *batchGradient) {
	t.Helper()
	e := must.Get(newEngine(m.Config, m.Weights, device))(t)
	defer e.close()
	a := must.Get(newAccumulator(e, slots))(t)
	a.weight = weight
	b := must.Get(a.run(t.Context(), examples, d))(t)
	g := make([]float32, m.Parameters.Words)
	must.Succeed(t, b.gradient.Read(0, tensor.Bits(g)))
	return g, b
}

// trainingConfig has everything random that training has.
func trainingConfig() *Config {
	c := tinyConfig()
	c.NumLayers, c.DropToken, c.AttentionDropout, c.EmbeddingDropout, c.FeedForward,
		c.ResidualScale = 1, 0.3, 0.1, 0.1, 0.2, true
	c.Convolutions = []Convolution{{5, 1}, {3, 9}}
	return c
}

// TestGradientOfMicroBatches: the gradient of a batch is that of its micro-batches, added by
// a binary tree, whatever runs at once.
func TestGradientOfMicroBatches(t *testing.T) { onEveryKind(t, testGradientOfMicroBatches) }

func testGradientOfMicroBatches(t *testing.T, devices ...tensor.Device) {
	// Leaves without a sibling, and nodes without one above them.
	lengths := []int{4000, 200, 5, 90, 3900, 4096, 4000, 100, 1, 2, 4100, 4097}
	groupsOf := map[string]int{Classification: 5, Retrieval: 6}
	if len(devices) == 1 { // Vulkan takes long
		lengths, groupsOf = lengths[6:], map[string]int{Classification: 3}
	}
	for task, want := range groupsOf {
		c := trainingConfig()
		c.Task, c.HiddenSize, c.NumSampledTokens = task, 4, 3
		m := randomModel(c, 4)
		examples := randomExamples(c, rand.New(rand.NewPCG(1, 1)), lengths...)
		var sums [][]float32
		for _, g := range microBatches(examples, microBatchTokens) {
			sum, _ := gradientOf(t, m, 1, devices[0], g, trainMode)
			sums = append(sums, sum)
		}
		if len(sums) != want {
			t.Fatalf("%d micro-batches, expected %d", len(sums), want)
		}
		sum := addTree(sums)
		_, first := gradientOf(t, m, 1, devices[0], examples, trainMode)
		for i, device := range devices {
			slots := 2 + i
			got, b := gradientOf(t, m, slots, device, examples, trainMode)
			for _, p := range m.Parameters.List {
				if !slices.Equal(m.Parameters.Slice(got, p), m.Parameters.Slice(sum, p)) {
					t.Errorf("%s, %d slots, %s: %s differs", task, slots, device.Name(), p.Name)
				}
			}
			if !slices.Equal(b.loss, first.loss) || !slices.Equal(b.logits, first.logits) ||
				fmt.Sprint(b.deadRows) != fmt.Sprint(first.deadRows) {
				t.Errorf("%s, %d slots, %s: losses, logits or dead attention rows differ", task, slots, device.Name())
			}
		}
	}
}

// addTree adds neighbours until one is left.
func addTree(x [][]float32) []float32 {
	for len(x) > 1 {
		var up [][]float32
		for i := 0; i < len(x); i += 2 {
			if i+1 < len(x) {
				for j, v := range x[i+1] {
					x[i][j] += v
				}
			}
			up = append(up, x[i])
		}
		x = up
	}
	return x[0]
}

func TestMicroBatches(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 2))
	for range 200 {
		var examples []seq.Example
		for i := range random.IntN(30) {
			e := seq.Example{Index: uint32(i), A: make([]int32, 1+random.IntN(1<<random.IntN(14)))}
			if i%5 == 0 { // micro-batches that are full to the token
				e.A = make([]int32, microBatchTokens>>random.IntN(3))
			} else if i%3 == 0 {
				e.B = make([]int32, 1+random.IntN(100))
			}
			examples = append(examples, e)
		}
		next := uint32(0)
		gs := microBatches(examples, microBatchTokens)
		for g, part := range gs {
			tokens := 0
			for i, e := range part {
				if e.Index != next {
					t.Fatalf("example %d comes after %d others", e.Index, next)
				}
				next++
				if tokens >= microBatchTokens {
					t.Fatalf("micro-batch %d has %d tokens before its example %d", g, tokens, i)
				}
				tokens += len(e.A) + len(e.B)
			}
			if g < len(gs)-1 && tokens < microBatchTokens {
				t.Fatalf("micro-batch %d of %d ends after %d tokens", g, len(gs), tokens)
			}
		}
		if int(next) != len(examples) {
			t.Fatalf("%d of %d examples in micro-batches", next, len(examples))
		}
	}
}
