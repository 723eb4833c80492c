package sft_test

import (
	"context"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
	"github.com/sftseq/sftseq/sft/internal/modeltest"
)

// parts returns a function that returns tokens in random parts. Each call overwrites the memory of the
// previous part. The error last is returned with or after the last part.
func parts(random *rand.Rand, tokens []int32, last error) func() ([]int32, error) {
	var buffer []int32
	return func() ([]int32, error) {
		n := min(random.IntN(100), len(tokens))
		buffer, tokens = append(buffer[:0], tokens[:n]...), tokens[n:]
		if len(tokens) == 0 && (n == 0 || random.IntN(2) == 0) {
			return buffer, last
		}
		return buffer, nil
	}
}

// TestDocuments checks that documents in parts have the same outputs as whole documents, bit for bit. The lengths
// include ends of chunks, and most of them exceed the maximum length of the configuration.
func TestDocuments(t *testing.T) { configtest.OnEveryKind(t, testDocuments) }

func testDocuments(t *testing.T, devices ...tensor.Device) {
	random := rand.New(rand.NewPCG(4, 2))
	lengths := []int{1, 2, 15, 16, 17, 31, 32, 33, 48, 64, 500, 4095, 4096, 4097, 20_000}
	for name, c := range configtest.ChunkConfigs() {
		if c.Sequences() == 2 || len(devices) == 1 && name != "content" {
			continue // every configuration compiles its own programs
		}
		if len(devices) == 1 {
			lengths = []int{1, 33, 500}
		}
		m := modeltest.RandomModel(c, 3)
		short := *c
		short.MaxLength = 8
		limited := *m
		limited.Config = &short
		whole := modeltest.NewScorerOf(t, m, devices[0])
		for _, d := range devices {
			s := modeltest.NewScorerOf(t, &limited, d)
			must.Succeed(t, s.CanScoreDocument())
			for _, e := range configtest.RandomExamples(c, random, lengths...) {
				want := modeltest.Score(t, whole, []seq.Example{e})[0]
				got := must.Get(s.ScoreDocument(t.Context(), 0, parts(random, e.A, io.EOF)))(t)
				if !slices.Equal(got.Logits, want.Logits) || !slices.Equal(got.Numbers, want.Numbers) ||
					!slices.Equal(got.Embeddings[0], want.Embeddings[0]) {
					t.Fatalf("%s, %s, %d tokens: got output %v in parts, want %v as for the whole", name, d.Name(),
						len(e.A), got, want)
				}
			}
		}
	}
}

// fusionOf returns a chunked and a linear model, and a fusion of the two. The parameter limit is the
// maximum length of a sequence of the chunked model.
func fusionOf(t *testing.T, limit int) ([]*sft.Model, *sft.Fusion) {
	dir, _ := modeltest.LinearDir(t, 1)
	linear := must.Get(sft.Load(dir))(t)
	c := configtest.ChunkConfigs()["content"]
	c.NGrams, c.VocabSize, c.PadTokenID = configtest.TokenNGrams(), linear.Config.VocabSize, linear.Config.PadTokenID
	c.Tokenizer, c.LabelNames, c.MaxLength = linear.Config.Tokenizer, linear.Config.LabelNames, limit
	return []*sft.Model{modeltest.RandomModel(c, 5), linear},
		&sft.Fusion{Weights: []float64{0.75, 1.5}, Temperature: 0.9}
}

// TestDocumentFusion is like TestDocuments for a fusion of a linear model and a chunked model with embeddings of
// n-grams, for an ensemble of chunked models, and for a linear model.
func TestDocumentFusion(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 5))
	scorers := func(limit int) []*sft.Scorer {
		models, fusion := fusionOf(t, limit)
		c := configtest.ChunkConfigs()["content"]
		c.MaxLength = limit
		chunked := []*sft.Model{modeltest.RandomModel(c, 1), modeltest.RandomModel(c, 2)}
		return []*sft.Scorer{must.Get(sft.NewFusion(models, fusion, cpu.New(2)))(t),
			must.Get(sft.NewEnsemble(chunked, cpu.New(2)))(t), modeltest.NewTestScorer(t, models[1])}
	}
	whole, limited := scorers(1<<20), scorers(10)
	for i, s := range limited {
		for _, n := range []int{1, 17, 3000} {
			tokens := make([]int32, n)
			for j := range tokens {
				tokens[j] = 1 + random.Int32N(int32(s.Config().VocabSize)-1)
			}
			want := must.Get(whole[i].Classify(t.Context(), tokens))(t)
			got := must.Get(s.ScoreDocument(t.Context(), 0, parts(random, tokens, io.EOF)))(t)
			if !slices.Equal(got.Logits, want.Logits) {
				t.Errorf("scorer %d, %d tokens: got logits %v in parts, want %v as for the whole", i, n, got.Logits,
					want.Logits)
			}
		}
	}
}

// TestDocumentRefusals checks the errors for models that cannot score a document in parts, and that next is not called.
func TestDocumentRefusals(t *testing.T) {
	unread := func() ([]int32, error) {
		t.Error("tokens were read")
		return nil, io.EOF
	}
	for want, c := range map[string]*config.Config{
		"found a model without chunks": configtest.TinyConfig(),
		"found a model of pairs":       configtest.ChunkConfigs()["pairs"],
		"found a model of tags":        configtest.WithTask(configtest.TinyConfig(), config.Tagging),
		"predicts masked tokens":       configtest.WithTask(configtest.TinyConfig(), config.FillMask),
	} {
		s := modeltest.NewTestScorer(t, modeltest.RandomModel(c, 1))
		must.Fail(t, want)(s.ScoreDocument(t.Context(), 0, unread))
		if err := s.CanScoreDocument(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("found the error %v, expected %s", err, want)
		}
	}
	models, fusion := fusionOf(t, 99)
	models[1].Config.Truncate()
	s := must.Get(sft.NewFusion(models, fusion, cpu.New(1)))(t)
	must.Fail(t, "found a model with an input window")(s.ScoreDocument(t.Context(), 0, unread))
}

// TestDocumentErrors checks the errors for empty documents, unknown tokens, failed reads and cancelled calls, and that
// the scorer works afterwards.
func TestDocumentErrors(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 6))
	models, fusion := fusionOf(t, 99)
	chunked := modeltest.NewTestScorer(t, models[0])
	tokens := slices.Repeat([]int32{3, 1, 4, 1, 5, 9, 2, 6}, 2000)
	for _, s := range []*sft.Scorer{chunked, modeltest.NewTestScorer(t, models[1]),
		must.Get(sft.NewFusion(models, fusion, cpu.New(2)))(t)} {
		score := func(tokens []int32, last error) (sft.Output, error) {
			return s.ScoreDocument(t.Context(), 0, parts(random, tokens, last))
		}
		want := must.Get(score(tokens, io.EOF))(t)
		must.Fail(t, "expected at least 1 token")(score(nil, io.EOF))
		must.Fail(t, "token 20 at index 16000 is outside the vocabulary of 20")(score(append(tokens, 20), io.EOF))
		must.Fail(t, "token 0 at index 16000 is the padding id")(score(append(tokens, 0), io.EOF))
		broken := errors.New("a disk that fails")
		must.FailWith(t, broken)(score(tokens, broken))
		ctx, cancel := context.WithCancel(t.Context())
		must.FailWith(t, context.Canceled)(s.ScoreDocument(ctx, 0, func() ([]int32, error) {
			cancel()
			return tokens, nil
		}))
		if got := must.Get(score(tokens, io.EOF))(t); !slices.Equal(got.Logits, want.Logits) {
			t.Errorf("logits %v after errors, before %v", got.Logits, want.Logits)
		}
	}
}

// TestDocumentMemory checks that a document beyond the memory limit is refused soon after its rows exceed the limit. A
// shorter document is scored.
func TestDocumentMemory(t *testing.T) {
	c := configtest.ChunkConfigs()["content"]
	s := modeltest.NewTestScorer(t, modeltest.RandomModel(c, 1))
	const limit = 16 << 20
	random, read, end := rand.New(rand.NewPCG(4, 7)), 0, math.MaxInt
	next := func() ([]int32, error) {
		out := make([]int32, 1000)
		for i := range out {
			out[i] = random.Int32N(int32(c.VocabSize))
		}
		if read += len(out); read >= end {
			return out, io.EOF
		}
		return out, nil
	}
	_, err := s.ScoreDocument(t.Context(), limit, next)
	var memory *config.MemoryError
	if !errors.As(err, &memory) || memory.Limit != limit || memory.Longest > memory.Fits*5/4 ||
		!strings.HasPrefix(err.Error(), "the document encoder, whose tokens are the exported rows of chunks: ") {
		t.Fatalf("error %v, want a MemoryError of the document encoder with the limit %d, after at most 5/4 of the "+
			"rows that fit", err, limit)
	}
	end = int(float64(read) * float64(memory.Fits) / float64(memory.Longest) * 0.95)
	read = 0
	must.Get(s.ScoreDocument(t.Context(), limit, next))(t)
}
