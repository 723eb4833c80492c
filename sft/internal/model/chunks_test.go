package model

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
)

// TestChunkKeys checks that the key of a chunk depends on its first, middle and last token, and on the
// number of its tokens.
func TestChunkKeys(t *testing.T) {
	for _, n := range []int{1, 2, 1023, 1024, 1025, 3000} {
		for _, vocab := range []int{257, 1 << 16, 1<<16 + 1, 1 << 24} {
			tokens := make([]int32, n)
			key := keyOf(tokens, vocab)
			for _, i := range []int{0, n / 2, n - 1} {
				for _, token := range []int{1, 256, vocab - 1} {
					changed := slices.Clone(tokens)
					changed[i] = int32(token)
					if keyOf(changed, vocab) == key {
						t.Errorf("%d tokens below %d: the key does not depend on token %d", n, vocab, i)
					}
				}
			}
			if keyOf(append(tokens, 0), vocab) == key || keyOf(slices.Clone(tokens), vocab) != key {
				t.Errorf("%d tokens below %d: want an equal key for equal tokens, and another with one more token", n,
					vocab)
			}
		}
	}
}

// TestExportCache checks that the cache is filled up to its limit and evicts the least recently used
// chunks.
func TestExportCache(t *testing.T) {
	rows := func(i int) exported { return exported{rows: []float32{float32(i), 0, 0}} }
	size := int64(entryBytes + 3*WordBytes)
	c := newExportCache(2 * 3 * size) // half of it for exports
	key := func(i int) chunkKey { return keyOf([]int32{int32(i)}, 1<<24) }
	holds := func(want ...int) {
		t.Helper()
		var got []int
		for e := c.order.Front(); e != nil; e = e.Next() {
			got = append(got, int(e.Value.(*cachedExports).rows[0]))
		}
		if !slices.Equal(got, want) || len(c.entries) != len(want) || c.bytes != int64(len(want))*size {
			t.Errorf("the cache holds %v, %d entries in %d bytes; want %v", got, len(c.entries), c.bytes, want)
		}
	}
	for i := range 5 {
		c.add(key(i), rows(i))
	}
	holds(4, 3, 2)
	if x, ok := c.get(key(2), false); !ok || x.rows[0] != 2 {
		t.Errorf("chunk 2: rows %v, found %t, want rows that begin with 2", x.rows, ok)
	}
	if _, ok := c.get(key(0), false); ok {
		t.Error("chunk 0 is still cached")
	}
	c.add(key(5), rows(5))
	c.add(key(5), rows(6)) // computed by two calls
	holds(5, 2, 4)
	if c.computed != 7 || c.reused != 1 {
		t.Errorf("%d computed and %d reused, want 7 and 1", c.computed, c.reused)
	}
	c.add(key(7), exported{rows: make([]float32, 1000)}) // larger than the cache
	holds(5, 2, 4)
	if _, ok := c.get(key(2), true); ok {
		t.Error("found the source of a chunk that was not explained")
	}
	explained := rows(2)
	explained.source = &chunkSource{}
	c.add(key(2), explained)
	c.add(key(2), rows(9)) // does not replace the source
	if x, ok := c.get(key(2), true); !ok || x.source == nil || x.rows[0] != 2 {
		t.Errorf("chunk 2: rows %v, source %v, found %t, want a source, and rows that begin with 2", x.rows,
			x.source, ok)
	}
	holds(2, 5, 4)
	explained.source = &chunkSource{pooled: make([]float32, 10)} // too large beside two others
	c.add(key(8), explained)
	if c.bytes != size+size+10*WordBytes || len(c.entries) != 2 {
		t.Errorf("%d entries of %d bytes, want 2 of %d", len(c.entries), c.bytes, size+size+10*WordBytes)
	}
}

// TestPlannedStages checks that the memory plan has room for every run of chunks and for the exported
// rows: for long documents of random tokens, for short documents, and for a document of equal tokens.
func TestPlannedStages(t *testing.T) {
	configs := configtest.ChunkConfigs()
	maps.Copy(configs, configtest.TokenChunkConfigs())
	for name, c := range configs {
		e := must.Get(NewEngine(c, make([]float32, NewParameters(c).Words), cpu.New(1)))(t)
		defer e.Close()
		random := rand.New(rand.NewPCG(5, 1))
		batches := [][]seq.Example{configtest.RandomExamples(c, random, 20_000, 5000),
			configtest.RandomExamples(c, random, 1, 1, 2, 3, 1, 9), {{A: make([]int32, 9000), B: make([]int32, 5)}}}
		for i, examples := range batches {
			tokens := 0
			for _, x := range examples {
				tokens += len(x.A)
				if c.Sequences() == 2 {
					tokens += len(x.B)
				}
			}
			cut := e.cut(examples, c.Sequences(), Drawing{})
			planned, items := localStage.planned(c, tokens, len(examples), MicroBatchTokens)
			exported := 0
			for _, run := range chunkRuns(slices.Concat(cut...)) {
				size := 0
				for _, p := range run {
					size += len(p.tokens)
					exported += exportedRows(c, len(p.tokens))
				}
				if size > planned || len(run) > items {
					t.Errorf("%s, batch %d: a run of %d chunks with %d tokens, want at most %d and %d", name, i,
						len(run), size, items, planned)
				}
			}
			rows, _ := documentStage.planned(c, tokens, len(examples), MicroBatchTokens)
			if exported > rows {
				t.Errorf("%s, batch %d: %d exported rows, want at most the planned %d", name, i, exported, rows)
			}
			var p packed
			p.reset(documentStage, Drawing{})
			for _, chunks := range cut {
				n := 0
				for _, x := range chunks {
					n += exportedRows(c, len(x.tokens))
				}
				p.addDocument(c, n, 0, 0, Drawing{})
			}
			p.finish(len(examples))
			if s := p.shape(c); s.Tokens > bucket(rows) {
				t.Errorf("%s, batch %d: a pass of %d rows, want at most %d", name, i, s.Tokens, bucket(rows))
			}
		}
	}
}

// TestPassBytes checks that the memory of a chunked model does not grow with all tokens of a
// document, only with its exported rows.
func TestPassBytes(t *testing.T) {
	c := configtest.TinyConfig()
	c.NumLayers = 2
	flat := must.Get(PassBytes(c, true, 1<<18, 1))(t)
	c.Chunks = &config.Chunks{Rule: "content", Average: 4096, Exports: 4, Layers: 1}
	if chunks := must.Get(PassBytes(c, true, 1<<18, 1))(t); chunks > flat/20 {
		t.Errorf("%d bytes with chunks, %d without, want at most a twentieth", chunks, flat)
	}
	c.Chunks.Average = 64 // more exported rows than tokens in a run of chunks
	many := must.Get(PassBytes(c, true, 1<<18, 1))(t)
	if few := must.Get(PassBytes(c, true, 1<<12, 1))(t); many < 10*few {
		t.Errorf("%d bytes for 2¹⁸ tokens, %d for 2¹², want at least ten times as many", many, few)
	}
}

// TestChunkWords checks that the memory plan has room for both stages, that a slot with chunks has memory
// for one more gradient, and that the minimum size of a file includes the exports' parameters.
func TestChunkWords(t *testing.T) {
	flat := configtest.TinyConfig()
	flat.NumLayers = 2
	for _, average := range []int{16, 4096} { // the larger stage is the document's, or the local one
		c := *flat
		c.Chunks = &config.Chunks{Rule: "fixed", Average: average, Exports: 4, Layers: 1}
		params := NewParameters(&c)
		const tokens, examples = 20_000, 1
		need := must.Get(PassWords(&c, params, nil, TrainMode, tokens, examples, 0))(t)
		for _, s := range stages(&c) {
			rows, items := s.planned(&c, tokens, examples, MicroBatchTokens)
			words := must.Get(wordsOf(&c, params, nil, PassKind{s, TrainMode}, rows, items, 0))(t)
			if need < words.total() {
				t.Errorf("average %d: planned %d words, want at least %d for stage %d", average, need, words.total(), s)
			}
		}
		if got, want := GradientBlocks(&c, 8), GradientBlocks(flat, 8)+1; got != want {
			t.Errorf("%d gradients in a slot, want %d", got, want)
		}
		size := int64(0)
		for _, p := range params.List {
			size += WordBytes * int64(p.Size())
		}
		must.Succeed(t, CheckSize(size, &c))
		must.Fail(t, "the file is truncated")(CheckSize(size-1, &c))
	}
}

// wideCard is a device with its own memory that prefers long passes.
type wideCard struct{ configtest.Card }

func (wideCard) ForwardTokens() int { return 1 << 16 }

// TestTokenStages checks that the memory plan of models with predictions per token has room for each stage in
// inference, evaluation and training. It also checks that SetLimits limits the passes of each stage.
func TestTokenStages(t *testing.T) {
	device := wideCard{configtest.Card{Device: cpu.New(1), Limit: 1 << 30}}
	const tokens, examples = 200_000, 3
	for name, c := range configtest.TokenChunkConfigs() {
		c.Chunks.Average = 1024
		e := must.Get(NewEngine(c, make([]float32, NewParameters(c).Words), device))(t)
		defer e.Close()
		for _, mode := range []PassMode{InferMode, LossMode, TrainMode} {
			need := must.Get(PassWords(c, e.Params, device, mode, tokens, examples, 0))(t)
			size := 1 << 16
			if mode == TrainMode {
				size = MicroBatchTokens
			}
			for _, s := range stages(c) {
				if s == tokenStage && mode == InferMode && c.MasksTokens() {
					continue // not computed
				}
				rows, items := s.planned(c, tokens, examples, size)
				words := must.Get(wordsOf(c, e.Params, device, PassKind{s, s.mode(c, mode)}, rows, items, 0))(t)
				if need < words.total() {
					t.Errorf("%s, mode %d: planned %d words, want at least %d for stage %d", name, mode, need,
						words.total(), s)
				}
			}
		}
		e.SetLimits(LossMode, 5000, tokens)
		r := NewRunner(e, 1)
		for _, kind := range []PassKind{{localStage, InferMode}, {documentStage, InferMode}, {tokenStage, LossMode}} {
			if got := r.limits(kind).Size; got != 5000 {
				t.Errorf("%s: passes of %v have %d tokens, want the limit 5000", name, kind, got)
			}
		}
		if got := r.Limits(LossMode).Size; got != 5000 {
			t.Errorf("%s: the limit is %d tokens, want 5000", name, got)
		}
	}
}

// TestStagesPlannedFirst checks that readChunks plans all stages, not only those that it computes: when a later stage
// runs, the slots already have memory, and less of the device's memory is free.
func TestStagesPlannedFirst(t *testing.T) {
	for name, c := range configtest.TokenChunkConfigs() {
		e := must.Get(NewEngine(c, make([]float32, NewParameters(c).Words), configtest.Card{Device: cpu.New(1),
			Limit: 1 << 30}))(t)
		defer e.Close()
		r, mode := NewRunner(e, 1), EvaluationMode(c)
		examples := configtest.RandomExamples(c, rand.New(rand.NewPCG(5, 1)), 100)
		must.Get(r.readChunks(t.Context(), examples, 1, Drawing{Mode: mode, Seed: c.SamplerSeed}))(t)
		for _, s := range stages(c) {
			if e.limits[PassKind{s, s.mode(c, mode)}] == nil {
				t.Errorf("%s: stage %d is not planned after the computation of chunks", name, s)
			}
		}
	}
}

// TestChunksWithoutMasks checks that filling masks computes the token stage only for chunks with a mask token.
func TestChunksWithoutMasks(t *testing.T) {
	c := configtest.TokenChunkConfigs()["masked tokens"]
	e := must.Get(NewEngine(c, Initialize(c, 1), cpu.New(1)))(t)
	defer e.Close()
	x := configtest.RandomExamples(c, rand.New(rand.NewPCG(5, 1)), 5000)[0]
	x.A[2500] = *c.MaskTokenID
	logits := 0
	must.Succeed(t, NewRunner(e, 1).Results(t.Context(), []seq.Example{x}, FillMode, func(_, _ int, r *Result) {
		logits = len(r.Logits)
	}))
	if logits != c.NumLabels {
		t.Errorf("%d logits, want %d", logits, c.NumLabels)
	}
	for key := range e.passes {
		if key.shape.stage == tokenStage && key.shape.Tokens > 64 {
			t.Errorf("a token stage of %d tokens for one chunk with a mask, want at most 64", key.shape.Tokens)
		}
	}
}
