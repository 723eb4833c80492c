package sft

import (
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/must"
)

// TestPassesLastUsed: the engine keeps the programs that were used last, not those that
// were recorded last.
func TestPassesLastUsed(t *testing.T) {
	m := randomModel(tinyConfig(), 1)
	e := must.Get(newEngine(m.Config, m.Weights, cpu.New(1)))(t)
	defer e.close()
	pass := func(tokens int) *preparedPass {
		return must.Get(e.pass(passShape{Tokens: tokens, Sequences: 1, Sampled: 1}, inferMode))(t)
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

// idle has all of a [Device], and computes nothing.
type idle struct{}

func (idle) Name() string    { return "idle" }
func (idle) Kernels() string { return "none" }
func (idle) Slots() int      { return 1 }
func (idle) Close() error    { return nil }

// TestForeignDevice: a device that package device has not opened is refused, as is none.
func TestForeignDevice(t *testing.T) {
	m := randomModel(tinyConfig(), 1)
	for want, d := range map[string]Device{"computes nothing (sft.idle)": idle{}, "computes nothing (<nil>)": nil} {
		must.Fail(t, want, d)(NewScorer(m, d))
	}
}
