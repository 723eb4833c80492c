package requests

import (
	"testing"

	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
)

// TestFillingWithoutPadding checks that the padding token never fills a mask and that the
// probabilities of the other tokens sum to 1.
func TestFillingWithoutPadding(t *testing.T) {
	c := &sft.Config{
		Task:    config.FillMask,
		Inputs:  config.Inputs{VocabSize: 4, PadTokenID: new(int32(0))},
		Masking: config.Masking{MaskTokenID: new(int32(3))},
		Head:    config.Head{NumLabels: 3},
	}
	r := &Request{Sequences: [][]int32{{1, 3, 2}}, Lengths: []int{3}}
	f, err := NewFilling(c, nil, r, [][]float32{{9, 1, 1}}, 10)
	if err != nil || len(f.Masks) != 1 || len(f.Masks[0].Tokens) != 2 || f.Tokens[1] != 1 || f.Text != nil {
		t.Fatalf("got %+v, error %v; want 1 mask with 2 candidates, token 1 in its place and no text", f, err)
	}
	for i, k := range f.Masks[0].Tokens {
		if k.Token != int32(1+i) || k.Probability != 0.5 {
			t.Errorf("candidate %d: got %+v, want token %[1]d+1 with probability 0.5", i, k)
		}
	}
}
