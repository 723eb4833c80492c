package model

import (
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/sft/internal/configtest"
)

// TestExplainMemory checks that the memory of an explanation grows with the tokens, not with tokens
// times sampled tokens.
func TestExplainMemory(t *testing.T) {
	c := configtest.TinyConfig()
	c.NumSampledTokens = 1024
	words := func(tokens int) int {
		shape := wholeModel.shapeFor(c, tokens, 1, c.NumSampledTokens, 0)
		p := must.Get(newPass(c, NewParameters(c), shape, ExplainMode))(t)
		return p.Program.Words(tensor.Arena) + p.Program.Words(tensor.Inputs)
	}
	const n = 1 << 16
	single, double := words(n), words(2*n)
	if double > 2*single || single > n*c.NumSampledTokens/4 {
		t.Errorf("%d words for %d tokens, want at most %d; %d words for twice the tokens, want at most double",
			single, n, n*c.NumSampledTokens/4, double)
	}
}
