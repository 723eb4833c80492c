package sft_test

import (
	"context"
	"flag"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/recent"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
	"github.com/sftseq/sftseq/sft/internal/modeltest"
)

// TestChunkLogits compares the logits of chunked models with the float64 reference.
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

// TestChunkExplanations compares the weights of tokens with the float64 reference. It checks that
// explanations are cached, and that an explanation changes no bit of the logits.
func TestChunkExplanations(t *testing.T) {
	configs := configtest.ChunkConfigs()
	names := slices.Sorted(maps.Keys(configs))
	configtest.OnEveryDevice(t, names, func(t *testing.T, name string, device tensor.Device) {
		c := configs[name]
		m := modeltest.RandomModel(c, 3)
		examples := configtest.RandomExamples(c, rand.New(rand.NewPCG(4, 1)), 1, 3, 16, 33, 200, 130)
		r, s := modeltest.NewReference(m), modeltest.NewScorerOf(t, m, device)
		s.CacheDocuments(1 << 20)
		plain := modeltest.Score(t, s, examples)
		explained := modeltest.Explain(t, s, examples)
		before, _ := s.ChunkCounts()
		for i, again := range modeltest.Explain(t, s, examples) {
			if !reflect.DeepEqual(again, explained[i]) {
				t.Errorf("example %d: got %v from the cache, want %v as before", i, again, explained[i])
			}
		}
		if after, _ := s.ChunkCounts(); after != before {
			t.Errorf("%d chunks were explained twice", after-before)
		}
		for i, out := range explained {
			if !slices.Equal(out.Logits, plain[i].Logits) {
				t.Errorf("example %d: logits %v with explanation, %v without", i, out.Logits, plain[i].Logits)
			}
			_, want := r.Example(examples[i])
			for at, e := range out.Explanations {
				if worst := modeltest.CompareExplanation(t, e, want[at]); !(worst <= 1e-5) {
					t.Errorf("example %d: error %.1e, want at most 1e-5", i, worst)
				}
				modeltest.CheckSums(t, c, e)
				checkChunks(t, e)
				n := len(e.Pooling)
				for _, x := range e.Chunks {
					n += 3 + len(x.Positions) + len(x.Weights)
				}
				if limit := s.ExplanationNumbers(len(e.Pooling)); n > limit {
					t.Errorf("example %d: %d numbers, want at most %d", i, n, limit)
				}
			}
		}
	})
}

// checkChunks checks that the chunks of an explanation cover the sequence, that the weight of a chunk
// is the sum of its pooling weights, and that the chunk's positions have its largest pooling weights.
func checkChunks(t *testing.T, e sft.Explanation) {
	t.Helper()
	end := int32(0)
	for _, x := range e.Chunks {
		if x.Start != end || x.End <= x.Start {
			t.Fatalf("got a chunk from %d to %d, want a start at %d and a later end", x.Start, x.End, end)
		}
		end = x.End
		sum := 0.0
		for _, w := range e.Pooling[x.Start:x.End] {
			sum += float64(w)
		}
		for i, p := range x.Positions {
			if p < x.Start || p >= x.End || i > 0 && p <= x.Positions[i-1] || x.Weights[i] != e.Pooling[p] {
				t.Fatalf("chunk from %d to %d: got positions %v with weights %v, want ascending positions in the "+
					"chunk with their pooling weights", x.Start, x.End, x.Positions, x.Weights)
			}
		}
		sorted := slices.Sorted(slices.Values(e.Pooling[x.Start:x.End]))
		slices.Reverse(sorted)
		sorted = slices.DeleteFunc(sorted[:min(16, len(sorted))], func(w float32) bool { return w <= 0 })
		listed := slices.Sorted(slices.Values(x.Weights))
		slices.Reverse(listed)
		if !slices.Equal(listed, sorted) || math.Abs(sum-float64(x.Weight)) > 1e-5 {
			t.Errorf("listed weights %v, chunk weight %v; the pooling weights have the sum %v, the largest are %v",
				listed, x.Weight, sum, sorted)
		}
	}
	if int(end) != len(e.Pooling) {
		t.Errorf("the chunks end at %d, want the number of tokens, %d", end, len(e.Pooling))
	}
}

// TestChunkLogitsAlone checks that the logits of a document are bitwise identical alone, in a batch
// and with any number of threads.
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
					t.Errorf("%s, %s, example %d: got logits %v in a batch, want %v as alone", name, d.Name(), i,
						out.Logits, want[i].Logits)
				}
			}
		}
	}
}

// TestChunkEmbeddings checks that Embeddings returns the same embeddings as scoring.
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

// TestChunkRefusals checks the error for the hidden states of a chunked model.
func TestChunkRefusals(t *testing.T) {
	c := configtest.ChunkConfigs()["content"]
	s := modeltest.NewScorerOf(t, modeltest.RandomModel(c, 3), cpu.New(1))
	examples := configtest.RandomExamples(c, rand.New(rand.NewPCG(4, 1)), 90)
	must.Fail(t, "a chunked model has no hidden states")(s.HiddenStates(t.Context(), examples))
}

// edits is the number of edits in TestChunkEdits. TestFusedEdits makes a tenth of them, but at least
// 20. "make edits" increases the number.
var edits = flag.Int("edits", 100, "number of `edits` of TestChunkEdits on the CPU; "+
	"Vulkan runs 3% of them, at least 10")

// TestChunkEdits edits documents at random. The logits must be bitwise identical to those without a
// cache, even if the cache holds only some exports of the earlier version.
func TestChunkEdits(t *testing.T) { configtest.OnEveryKind(t, testChunkEdits) }

func testChunkEdits(t *testing.T, devices ...tensor.Device) {
	edits, perDocument, maxLength := *edits, 50, 40_000
	if len(devices) == 1 { // passes on Vulkan are slow
		edits, perDocument, maxLength = max(10, edits*3/100), 10, 16_384
	}
	c := configtest.ChunkConfigs()["content"]
	c.Chunks.Average = 64
	m := modeltest.RandomModel(c, 3)
	scratch := modeltest.NewScorerOf(t, m, devices[0])
	const all, some = 1 << 20, 5000
	scorers := map[int64]*sft.Scorer{all: modeltest.NewScorerOf(t, m, devices[0]),
		some: modeltest.NewScorerOf(t, m, devices[len(devices)-1])}
	for limit, s := range scorers {
		s.CacheDocuments(limit)
	}
	random := rand.New(rand.NewPCG(2, 6))
	tokens := func(n int) (out []int32) {
		for range n {
			out = append(out, random.Int32N(int32(c.VocabSize)))
		}
		return out
	}
	var document []int32
	chunks := 0.0 // expected number of chunks of all documents before their edits
	for edit := range edits {
		if edit%perDocument == 0 {
			document = tokens(1 + random.IntN(maxLength))
			chunks += float64(len(document)) / 64
			must.Get(scorers[all].Classify(t.Context(), document))(t)
		}
		from := random.IntN(len(document))
		to := min(len(document), from+random.IntN(3)*random.IntN(50))
		document = slices.Replace(slices.Clone(document), from, to, tokens(random.IntN(3)*random.IntN(50))...)
		if len(document) == 0 {
			document = tokens(1)
		}
		want := must.Get(scratch.Classify(t.Context(), document))(t)
		for limit, s := range scorers {
			if got := must.Get(s.Classify(t.Context(), document))(t); !slices.Equal(got.Logits, want.Logits) {
				t.Fatalf("cache of %d bytes: logits %v after an edit, %v from scratch", limit, got.Logits, want.Logits)
			}
		}
	}
	computed, reused := scorers[all].ChunkCounts()
	if perEdit := (float64(computed) - chunks) / float64(edits); !(perEdit < 20) || reused == 0 {
		t.Errorf("%.1f chunks computed per edit, want less than 20; %d reused, want some", perEdit, reused)
	}
	if again, _ := scorers[some].ChunkCounts(); again <= computed {
		t.Errorf("%d chunks computed with a cache of %d bytes, want more than the %d with %d bytes", again, some,
			computed, all)
	}
	if computed, _ := scratch.ChunkCounts(); computed != 0 {
		t.Errorf("%d chunks counted without a cache", computed)
	}
}

// TestFusedEdits is like TestChunkEdits for a fusion of two models: a chunked model with embeddings of
// n-grams, and a linear model.
func TestFusedEdits(t *testing.T) {
	models, fusion := fusionOf(t, 1<<20)
	edited := must.Get(sft.NewFusion(models, fusion, cpu.New(2)))(t)
	scratch := must.Get(sft.NewFusion(models, fusion, cpu.New(2)))(t)
	edited.CacheDocuments(1 << 26)
	random := rand.New(rand.NewPCG(2, 7))
	tokens := func(n, below int) (out []int32) {
		for range n {
			out = append(out, 1+random.Int32N(int32(below)-1))
		}
		return out
	}
	var document []int32
	for edit := range max(20, *edits/10) {
		if edit%10 == 0 {
			document = tokens(recent.MinTokens+random.IntN(20_000), 4) // the token ids 4 and above come only from edits
		}
		from := random.IntN(len(document))
		if at := slices.IndexFunc(document, func(t int32) bool { return t > 3 }); edit%2 == 1 && at >= 0 {
			from = at
		}
		to := min(len(document), from+random.IntN(50))
		document = slices.Replace(slices.Clone(document), from, to,
			tokens(1+random.IntN(5), edited.Config().VocabSize)...)
		want := must.Get(scratch.Classify(t.Context(), document))(t)
		if got := must.Get(edited.Classify(t.Context(), document))(t); !slices.Equal(got.Logits, want.Logits) {
			t.Fatalf("logits %v after an edit, %v from scratch", got.Logits, want.Logits)
		}
	}
}

// TestChunkCacheShared checks that equal chunks share exports between documents and between the
// sequences of a pair.
func TestChunkCacheShared(t *testing.T) {
	c := configtest.ChunkConfigs()["pairs"]
	m := modeltest.RandomModel(c, 3)
	s := modeltest.NewTestScorer(t, m)
	s.CacheDocuments(1 << 20)
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

// TestNoChunkedExamples checks that a call without examples returns no outputs.
func TestNoChunkedExamples(t *testing.T) {
	s := modeltest.NewTestScorer(t, modeltest.RandomModel(configtest.ChunkConfigs()["pairs"], 3))
	s.CacheDocuments(1 << 20)
	if out := modeltest.Score(t, s, nil); len(out) != 0 {
		t.Errorf("got %d outputs, want none", len(out))
	}
	if out := must.Get(s.Embeddings(t.Context(), nil))(t); len(out) != 0 {
		t.Errorf("got %d embeddings, want none", len(out))
	}
}

// cancelling is a device that calls cancel at its last remaining run.
type cancelling struct {
	tensor.Device
	remaining *atomic.Int64
	cancel    func()
}

func (d cancelling) Prepare(p *tensor.Program) (tensor.Executable, error) {
	x, err := d.Device.Prepare(p)
	return cancellingRun{x, d}, err
}

type cancellingRun struct {
	tensor.Executable
	device cancelling
}

func (x cancellingRun) Run(ctx context.Context, mem tensor.Binding, from, to int) error {
	if x.device.remaining.Add(-1) == 0 {
		x.device.cancel()
	}
	return x.Executable.Run(ctx, mem, from, to)
}

// TestChunkCancelled checks that a call computes only the chunks that an earlier, cancelled call
// has not completed.
func TestChunkCancelled(t *testing.T) {
	c := configtest.ChunkConfigs()["content"]
	m := modeltest.RandomModel(c, 3)
	ctx, cancel := context.WithCancel(t.Context())
	remaining := &atomic.Int64{}
	remaining.Store(4)
	s := modeltest.NewScorerOf(t, m, cancelling{cpu.New(1), remaining, cancel})
	s.CacheDocuments(1 << 24)
	examples := configtest.RandomExamples(c, rand.New(rand.NewPCG(4, 1)), 40_000)
	must.FailWith(t, context.Canceled)(s.Examples(ctx, examples))
	first, _ := s.ChunkCounts()
	got := modeltest.Score(t, s, examples)
	uninterrupted := modeltest.NewTestScorer(t, m)
	uninterrupted.CacheDocuments(1 << 24)
	want := modeltest.Score(t, uninterrupted, examples)
	all, _ := s.ChunkCounts()
	if distinct, _ := uninterrupted.ChunkCounts(); first == 0 || first == distinct || all != distinct {
		t.Errorf("%d chunks were computed before the cancellation and %d in all, want %d in all and some but not all "+
			"of them before", first, all, distinct)
	}
	if !slices.Equal(got[0].Logits, want[0].Logits) {
		t.Errorf("logits %v, want %v", got[0].Logits, want[0].Logits)
	}
}

// TestChunkedStart checks that a model can be initialised only from a model with the same chunks.
func TestChunkedStart(t *testing.T) {
	c := configtest.ChunkConfigs()["content"]
	flat, other := *c, *c
	flat.Chunks, other.Chunks = nil, &config.Chunks{Rule: "content", Average: 32, Exports: 3, Layers: 1}
	for want, change := range map[string][2]*config.Config{
		"": {c, c},
		"has no chunks, expected chunks by content of 16 tokens":  {&flat, c},
		"has chunks by content of 32 tokens with 3 exports and 1": {&other, c},
		"expected no chunks": {c, &flat},
	} {
		_, err := sft.NewModel(change[1], 1).CopyFrom(sft.NewModel(change[0], 2))
		if want == "" {
			must.Succeed(t, err)
		} else {
			must.Fail(t, want)(err)
		}
	}
}

// TestChunkAdmission checks that a document whose exported rows exceed the device's memory is refused
// before its chunks are computed.
func TestChunkAdmission(t *testing.T) {
	c := configtest.ChunkConfigs()["content"]
	device := configtest.Card{Device: cpu.New(1), Limit: 8 << 20}
	s := modeltest.NewScorerOf(t, modeltest.RandomModel(c, 3), device)
	s.CacheDocuments(1 << 20)
	examples := configtest.RandomExamples(c, rand.New(rand.NewPCG(4, 1)), 400_000)
	must.Fail(t, "the document encoder, whose tokens are the exported rows of chunks: 8 MiB of memory allowed")(
		s.Examples(t.Context(), examples))
	if computed, _ := s.ChunkCounts(); computed != 0 {
		t.Errorf("%d chunks were computed", computed)
	}
	modeltest.Score(t, s, []seq.Example{{A: examples[0].A[:1000]}})
}

// TestComputedTokens checks the estimated number of tokens to compute for an edited document. With
// cached exports, it counts the exported rows and the tokens of new chunks: the tokens near the edit
// for content-defined chunks, and all tokens after an insertion for chunks of a fixed length. Without
// cached exports, and for tags, it counts all tokens.
func TestComputedTokens(t *testing.T) {
	byContent, fixed := configtest.ChunkConfigs()["content"], configtest.ChunkConfigs()["content"]
	pairs, tags := configtest.ChunkConfigs()["pairs"], configtest.TokenChunkConfigs()["tags"]
	short := configtest.ChunkConfigs()["content"] // exports take more memory than tokens
	for _, c := range []*config.Config{byContent, fixed, pairs, tags} {
		c.Chunks = &config.Chunks{Rule: "content", Average: 1024, Exports: 3, Layers: 1}
	}
	fixed.Chunks.Rule = "fixed"
	const n, rows = 100_000, (100_000/1024 + 1) * 4
	const enough = 1 << 24
	original := configtest.RandomExamples(pairs, rand.New(rand.NewPCG(4, 1)), n)[0]
	original.Labels, original.B = make([]int32, n), original.B[:30_000]
	inserted, replaced, second := original, original, original
	inserted.A = slices.Insert(slices.Clone(original.A), n/4, 1)
	replaced.A = slices.Clone(original.A)
	replaced.A[n/4] ^= 1
	second.B = slices.Insert(slices.Clone(original.B), 20_000, 1)
	const pairRows = rows + (30_001/1024+1)*4
	for name, x := range map[string]struct {
		c         *config.Config
		cache     int64
		edited    *seq.Example
		explained bool
		from, to  int
	}{
		"insertion":                       {byContent, enough, &inserted, false, 1 + rows, 2049 + rows},
		"replacement":                     {byContent, enough, &replaced, false, rows, 2049 + rows},
		"no edit":                         {byContent, enough, &original, false, rows, rows},
		"explanation without its sources": {byContent, enough, &inserted, true, n + 1, n + 1},
		"no cache":                        {byContent, 0, &inserted, false, n + 1, n + 1},
		"a cache for half of the exports": {short, 1_800_000, &original, false, n / 2, n},
		"insertion, fixed":                {fixed, enough, &inserted, false, n - n/4 + rows, n - n/4 + 1025 + rows},
		"replacement, fixed":              {fixed, enough, &replaced, false, rows, 1024 + rows},
		"second sequence":                 {pairs, enough, &second, false, 1 + pairRows, 2049 + pairRows},
		"tags":                            {tags, enough, &inserted, false, n + 1, n + 1},
	} {
		s := modeltest.NewTestScorer(t, modeltest.RandomModel(x.c, 3))
		if x.cache > 0 {
			s.CacheDocuments(x.cache)
		}
		first, edited := original, *x.edited
		if x.c != pairs {
			first.B, edited.B = nil, nil
		}
		modeltest.Score(t, s, []seq.Example{first})
		if got := s.ComputedTokens(&edited, x.explained); got < x.from || got > x.to {
			t.Errorf("%s: %d tokens, want %d to %d", name, got, x.from, x.to)
		}
	}
}

// TestFusedComputedTokens checks that the estimate for a fusion is the largest estimate for one of its
// models, in both orders of the models. It also checks the estimates for the linear model.
func TestFusedComputedTokens(t *testing.T) {
	models, fusion := fusionOf(t, 1<<20)
	const n = 100_000
	document := make([]int32, n)
	for i := range document {
		document[i] = 1 + int32(i*i%7)%3
	}
	edited := slices.Clone(document)
	edited[n/4] ^= 3
	for range 2 {
		s := must.Get(sft.NewFusion(models, fusion, cpu.New(2)))(t)
		s.CacheDocuments(1 << 26)
		must.Get(s.Classify(t.Context(), document))(t)
		if got, rows := s.ComputedTokens(&seq.Example{A: edited}, false), (n/16+1)*4; got < rows || got > rows+100 {
			t.Errorf("a fusion computes %d tokens after an edit, want %d to %d", got, rows, rows+100)
		}
		slices.Reverse(models)
		slices.Reverse(fusion.Weights)
	}
	linear := modeltest.NewTestScorer(t, models[1])
	linear.CacheDocuments(1 << 26)
	must.Get(linear.Classify(t.Context(), document))(t)
	for want, e := range map[int]seq.Example{1: {A: edited}, 50: {A: document[:50]}} {
		if got := linear.ComputedTokens(&e, false); got != want {
			t.Errorf("a linear model computes %d tokens, want %d", got, want)
		}
	}
	if got := linear.ComputedTokens(&seq.Example{A: edited}, true); got != n {
		t.Errorf("a linear model computes %d tokens for an explanation, want %d", got, n)
	}
}
