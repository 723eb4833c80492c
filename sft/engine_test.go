package sft

import (
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
)

// TestPassesLastUsed: the engine keeps the programs that were used last, not those that
// were recorded last.
func TestPassesLastUsed(t *testing.T) {
	m := randomModel(tinyConfig(), 1)
	e, err := newEngine(m.Config, m.Weights, cpu.New(1))
	if err != nil {
		t.Fatal(err)
	}
	defer e.close()
	pass := func(tokens int) *preparedPass {
		p, err := e.pass(Shape{Tokens: tokens, Sequences: 1, Sampled: 1}, Infer)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	often, once := pass(1), pass(2)
	for n := range maxPasses {
		pass(3 + n)
		if pass(1) != often {
			t.Fatalf("a program that is used all the time is recorded again after %d others", n+1)
		}
	}
	if pass(2) == once || len(e.passes) > maxPasses {
		t.Errorf("%d programs are kept, at most %d are meant to be", len(e.passes), maxPasses)
	}
}
