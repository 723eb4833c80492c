package sft_test

import (
	"context"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
	"github.com/sftseq/sftseq/sft/internal/modeltest"
)

// TestCompareRefuses checks the errors for a model of single sequences, for malformed embeddings and
// for a cancelled call. A call without pairs must succeed.
func TestCompareRefuses(t *testing.T) {
	pairs := configtest.TinyConfig()
	pairs.Task = config.Retrieval
	v := make([]float32, pairs.HiddenSize)
	for _, c := range []struct {
		config *config.Config
		a, b   [][]float32
		want   string
	}{
		{configtest.TinyConfig(), [][]float32{v}, [][]float32{v}, "expected a model of pairs"},
		{pairs, [][]float32{v, v}, [][]float32{v}, "2 first and 1 second embeddings"},
		{pairs, [][]float32{v, v}, [][]float32{v, v[1:]}, "pair 1: found an embedding of 5 numbers, expected 6"},
	} {
		s := modeltest.NewTestScorer(t, modeltest.RandomModel(c.config, 1))
		must.Fail(t, c.want)(s.Compare(t.Context(), c.a, c.b))
	}
	s := modeltest.NewTestScorer(t, modeltest.RandomModel(pairs, 1))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Compare(ctx, [][]float32{v}, [][]float32{v}); err != context.Canceled {
		t.Errorf("error %v, want context.Canceled", err)
	}
	if got, err := s.Compare(t.Context(), nil, nil); err != nil || len(got) != 0 {
		t.Errorf("no pairs: got %v, error %v", got, err)
	}
}
