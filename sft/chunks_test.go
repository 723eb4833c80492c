package sft_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/internal/configtest"
	"github.com/sftseq/sftseq/sft/internal/modeltest"
)

// TestChunkLogits compares the logits of models of chunks with the float64 reference.
func TestChunkLogits(t *testing.T) {
	configs := configtest.ChunkConfigs()
	var names []string
	for name := range configs {
		names = append(names, name)
	}
	slices.Sort(names)
	configtest.OnEveryDevice(t, names, func(t *testing.T, name string, device tensor.Device) {
		c := configs[name]
		m := modeltest.RandomModel(c, 3)
		examples := configtest.RandomExamples(c, rand.New(rand.NewPCG(4, 1)), 1, 3, 16, 33, 200, 130)
		r := modeltest.NewReference(m)
		for i, out := range modeltest.Score(t, modeltest.NewScorerOf(t, m, device), examples) {
			want, _ := r.Example(examples[i])
			for class, v := range want {
				if !(math.Abs(v-float64(out.Logits[class])) <= 1e-5) {
					t.Errorf("example %d: %v, expected %v", i, out.Logits, want)
					break
				}
			}
		}
	})
}

// TestChunkLogitsAlone checks that the logits of a document have the same bits alone, in a batch and
// with any number of threads.
func TestChunkLogitsAlone(t *testing.T) { configtest.OnEveryKind(t, testChunkLogitsAlone) }

func testChunkLogitsAlone(t *testing.T, devices ...tensor.Device) {
	for name, c := range configtest.ChunkConfigs() {
		if len(devices) == 1 && name != "content" && name != "pairs" {
			continue // every configuration compiles its own programs
		}
		m := modeltest.RandomModel(c, 3)
		lengths := []int{1, 90, 5000, 17, 3000}
		if len(devices) == 1 {
			lengths = lengths[:2]
		}
		examples := configtest.RandomExamples(c, rand.New(rand.NewPCG(4, 1)), lengths...)
		var want []sft.Output
		s := modeltest.NewScorerOf(t, m, devices[0])
		for _, e := range examples {
			want = append(want, modeltest.Score(t, s, []seq.Example{e})[0])
		}
		for _, d := range devices {
			for i, out := range modeltest.Score(t, modeltest.NewScorerOf(t, m, d), examples) {
				if !slices.Equal(out.Logits, want[i].Logits) {
					t.Errorf("%s, %s, example %d: %v in a batch, %v alone", name, d.Name(), i, out.Logits,
						want[i].Logits)
				}
			}
		}
	}
}

// TestChunkEmbeddings checks that the embedding of a sequence is the pooled row of its document.
func TestChunkEmbeddings(t *testing.T) {
	for name, c := range configtest.ChunkConfigs() {
		s := modeltest.NewTestScorer(t, modeltest.RandomModel(c, 3))
		examples := configtest.RandomExamples(c, rand.New(rand.NewPCG(4, 1)), 90, 300)
		out := modeltest.Score(t, s, examples)
		for i, e := range examples {
			for side, tokens := range [][]int32{e.A, e.B}[:c.Sequences()] {
				got := must.Get(s.Embeddings(t.Context(), [][]int32{tokens}))(t)[0]
				if !slices.Equal(got, out[i].Embeddings[side]) {
					t.Errorf("%s: example %d, sequence %d: embedding %v, expected %v", name, i, side, got,
						out[i].Embeddings[side])
				}
			}
		}
	}
}

// TestChunkRefusals checks the errors for outputs that models of chunks do not have.
func TestChunkRefusals(t *testing.T) {
	c := configtest.ChunkConfigs()["content"]
	s := modeltest.NewScorerOf(t, modeltest.RandomModel(c, 3), cpu.New(1))
	examples := configtest.RandomExamples(c, rand.New(rand.NewPCG(4, 1)), 90)
	must.Fail(t, "a model of chunks has no explanations")(s.Explain(t.Context(), examples))
	must.Fail(t, "a model of chunks has no explanations")(s.HiddenStates(t.Context(), examples))
}

// TestChunkEdits edits a document at random and checks that its logits have the bits of a computation
// without the exports of earlier versions, also if the cache holds only part of them.
func TestChunkEdits(t *testing.T) { configtest.OnEveryKind(t, testChunkEdits) }

func testChunkEdits(t *testing.T, devices ...tensor.Device) {
	edits, length := 100, 20_000
	if len(devices) == 1 { // Vulkan takes long
		edits, length = 10, 3000
	}
	c := configtest.ChunkConfigs()["content"]
	c.Chunks.Average = 64
	m := modeltest.RandomModel(c, 3)
	scratch := modeltest.NewScorerOf(t, m, devices[0])
	const all, some = 1 << 20, 5000
	scorers := map[int64]*sft.Scorer{all: modeltest.NewScorerOf(t, m, devices[0]),
		some: modeltest.NewScorerOf(t, m, devices[len(devices)-1])}
	for limit, s := range scorers {
		s.CacheExports(limit)
	}
	random := rand.New(rand.NewPCG(2, 6))
	tokens := func(n int) (out []int32) {
		for range n {
			out = append(out, random.Int32N(int32(c.VocabSize)))
		}
		return out
	}
	document := tokens(length)
	for range edits {
		from := random.IntN(len(document))
		to := min(len(document), from+random.IntN(3)*random.IntN(50))
		document = slices.Replace(slices.Clone(document), from, to, tokens(random.IntN(3)*random.IntN(50))...)
		want := must.Get(scratch.Classify(t.Context(), document))(t)
		for limit, s := range scorers {
			if got := must.Get(s.Classify(t.Context(), document))(t); !slices.Equal(got.Logits, want.Logits) {
				t.Fatalf("cache of %d bytes: logits %v after an edit, %v from scratch", limit, got.Logits, want.Logits)
			}
		}
	}
	chunks := float64(length) / 64
	computed, reused := scorers[all].ChunkCounts()
	if perEdit := (float64(computed) - chunks) / float64(edits); !(perEdit < 20) || reused == 0 {
		t.Errorf("%.1f chunks computed per edit of about %.0f, %d reused", perEdit, chunks, reused)
	}
	if again, _ := scorers[some].ChunkCounts(); again <= computed {
		t.Errorf("a cache of %d bytes computed %d chunks, one of %d bytes %d", some, again, all, computed)
	}
	if computed, _ := scratch.ChunkCounts(); computed != 0 {
		t.Errorf("%d chunks counted without a cache", computed)
	}
}

// TestChunkCacheShared checks that documents share the exports of equal chunks, and that both
// sequences of a pair do.
func TestChunkCacheShared(t *testing.T) {
	c := configtest.ChunkConfigs()["pairs"]
	m := modeltest.RandomModel(c, 3)
	s := modeltest.NewTestScorer(t, m)
	s.CacheExports(1 << 20)
	e := configtest.RandomExamples(c, rand.New(rand.NewPCG(4, 1)), 2000)[0]
	want := modeltest.Score(t, modeltest.NewTestScorer(t, m), []seq.Example{{A: e.A, B: e.A}})[0]
	modeltest.Score(t, s, []seq.Example{e})
	before, _ := s.ChunkCounts()
	got := modeltest.Score(t, s, []seq.Example{{A: e.A, B: e.A}, {A: e.A, B: e.A}})
	if after, _ := s.ChunkCounts(); after != before {
		t.Errorf("%d chunks were computed again", after-before)
	}
	for _, o := range got {
		if !slices.Equal(o.Logits, want.Logits) {
			t.Errorf("logits %v, without a cache %v", o.Logits, want.Logits)
		}
	}
}
