package model

import (
	"math/rand/v2"
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
)

// TestDocumentStreamMemory checks that a stream of a million tokens, in parts of 2¹⁷, keeps only the tokens of one pass
// and the exported rows, for short and for long chunks.
func TestDocumentStreamMemory(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 9))
	for _, average := range []int{64, 16_384} {
		c := configtest.TinyConfig()
		c.NumLayers = 2
		c.Chunks = &config.Chunks{Rule: "content", Average: average, Exports: 4, Layers: 1}
		r := must.Get(OpenRunner(c, make([]float32, NewParameters(c).Words), nil, cpu.New(2), 1))(t)
		defer r.Close()
		s := r.NewDocumentStream(t.Context(), 0)
		defer s.Close()
		part, largest := make([]int32, 1<<17), 0
		for range 8 {
			for i := range part {
				part[i] = random.Int32N(int32(c.VocabSize))
			}
			must.Succeed(t, s.Add(part))
			largest = max(largest, cap(s.tokens))
		}
		if held := 2 * (MicroBatchTokens + 2*chunkConfig(c).MaxLength()); largest > held {
			t.Errorf("average %d: memory for %d tokens, want at most %d", average, largest, held)
		}
		s.running.Wait()
		rows, pending := 0, 0
		for _, pass := range s.passes {
			rows += len(pass.rows) / c.HiddenSize
		}
		for _, n := range s.chunks {
			pending += exportedRows(c, n)
		}
		if rows+pending != s.rows || s.rows > 5*(8*len(part)/(average/4)+1) || rows == 0 {
			t.Errorf("average %d: %d exported rows and %d pending, want the sum %d, at most %d", average, rows, pending,
				s.rows, 5*(8*len(part)/(average/4)+1))
		}
		must.Get(s.End())(t)
		if s.passes != nil {
			t.Errorf("average %d: the ended document keeps a list of %d passes, want nil", average, len(s.passes))
		}
	}
}
