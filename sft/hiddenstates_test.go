package sft_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/internal/configtest"
	"github.com/sftseq/sftseq/sft/internal/modeltest"
)

// TestHiddenStates compares the rows after each layer with the float64 reference of the model truncated
// after this layer, on every device. The logits must equal those of [sft.Scorer.Examples].
func TestHiddenStates(t *testing.T) {
	configtest.OnEveryDevice(t, []string{"pre", "post", "retrieval", "conv", "odd"},
		func(t *testing.T, name string, device tensor.Device) {
			m, examples := modeltest.LoadGolden(t, name)
			s := modeltest.NewScorerOf(t, m, device)
			out := must.Get(s.HiddenStates(context.Background(), examples))(t)
			plain := must.Get(s.Examples(context.Background(), examples))(t)
			for i, e := range examples {
				if !slices.Equal(out[i].Logits, plain[i].Logits) {
					t.Fatalf("example %d: got logits %v, Examples has %v", i, out[i].Logits, plain[i].Logits)
				}
				if plain[i].HiddenStates != nil {
					t.Fatalf("example %d: Examples returned hidden states, want none", i)
				}
				sequences := [][]int32{e.A}
				if e.B != nil {
					sequences = append(sequences, e.B)
				}
				if len(out[i].HiddenStates) != len(sequences) {
					t.Fatalf("example %d: hidden states of %d sequences, want %d", i, len(out[i].HiddenStates),
						len(sequences))
				}
				for at, tokens := range sequences {
					compareHiddenStates(t, m, tokens, out[i].HiddenStates[at])
				}
			}
		})
}

func compareHiddenStates(t *testing.T, m *sft.Model, tokens []int32, states sft.HiddenStates) {
	t.Helper()
	if len(states) != m.Config.NumLayers+1 {
		t.Fatalf("states of %d layers, expected %d", len(states)-1, m.Config.NumLayers)
	}
	r := modeltest.NewReference(m)
	for l, rows := range states {
		truncated := *m.Config
		truncated.NumLayers = l
		r.Config = &truncated
		want, _ := r.Layers(tokens)
		if len(rows) != len(tokens)*truncated.HiddenSize {
			t.Fatalf("layer %d: %d numbers, want %d", l, len(rows), len(tokens)*truncated.HiddenSize)
		}
		for i, v := range rows {
			if w := want[i/truncated.HiddenSize][i%truncated.HiddenSize]; !(math.Abs(float64(v)-w) <= 1e-4*(1+math.Abs(w))) {
				t.Fatalf("layer %d, token %d: %v, expected %v", l, i/truncated.HiddenSize, v, w)
			}
		}
	}
}
