package model

import (
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/sft/internal/configtest"
)

// TestEngineEvictsLRU checks that the engine evicts the least recently used program, even if another
// program was recorded earlier.
func TestEngineEvictsLRU(t *testing.T) {
	c := configtest.TinyConfig()
	e := must.Get(NewEngine(c, Initialize(c, 1), cpu.New(1)))(t)
	defer e.Close()
	pass := func(tokens int) *preparedPass {
		return must.Get(e.pass(passShape{Tokens: tokens, Sequences: 1, Sampled: 1}, InferMode))(t)
	}
	often, once := pass(1), pass(2)
	for n := range maxPasses {
		pass(3 + n)
		if pass(1) != often {
			t.Fatalf("a program in constant use is recorded again after %d further programs", n+1)
		}
	}
	if pass(2) == once || len(e.passes) > maxPasses {
		t.Errorf("the engine caches %d programs, want at most %d without the least recently used", len(e.passes),
			maxPasses)
	}
}
