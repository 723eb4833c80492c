package main

import (
	"context"
	"encoding/json"

	"github.com/urfave/cli/v2"

	"sftseq/sft"
)

func embedCommand() *cli.Command {
	return &cli.Command{
		Name:      "embed",
		Usage:     "turn sequences into vectors: JSON lines in, JSON lines out",
		ArgsUsage: "[FILE]",
		UsageText: `sftseq embed --model DIR [flags] [FILE]
sftseq embed --model DIR [flags] --input x.arrow --output y.arrow

Example: echo '{"id":"q1","text":"a query"}' | sftseq embed --model runs/retrieval`,
		Description: `Reads FILE (standard input if absent or -) and writes for each line
   {"id": 7, "embedding": […], "length": 4}
the pooled vector of the sequence, to be compared by cosine. A retrieval model
embeds single sequences; for a pair it gives embedding_a and embedding_b.

` + linesHelp,
		Flags:  lineFlags(),
		Action: func(c *cli.Context) error { return answerLines(c, embedder) },
	}
}

// embedding is the reply to a line.
type embedding struct {
	ID         json.RawMessage `json:"id"`
	Embedding  []float32       `json:"embedding,omitempty"`
	EmbeddingA []float32       `json:"embedding_a,omitempty"`
	EmbeddingB []float32       `json:"embedding_b,omitempty"`
	sizes
}

func embedder(scorer *sft.Scorer) answerer {
	lines := func(s *stream) func(context.Context, []*request) ([]any, error) {
		return func(ctx context.Context, requests []*request) ([]any, error) {
			var sequences [][]int32
			for _, r := range requests {
				sequences = append(sequences, r.sequences...)
			}
			vectors, err := scorer.Embeddings(ctx, sequences)
			if err != nil {
				return nil, err
			}
			replies := make([]any, len(requests))
			for i, r := range requests {
				n := len(r.sequences)
				replies[i] = embeddingReply(r, vectors[:n], s.sizes(r))
				vectors = vectors[n:]
			}
			return replies, nil
		}
	}
	return answerer{single: true, pair: scorer.Config().Pair(), lines: lines, record: scorer.Embed}
}

func embeddingReply(r *request, vectors [][]float32, z sizes) any {
	for _, v := range vectors {
		if !finite(v) {
			return &failure{codeInternal, errNonFinite.Error()}
		}
	}
	if len(vectors) == 2 {
		return embedding{ID: r.id, EmbeddingA: vectors[0], EmbeddingB: vectors[1], sizes: z}
	}
	return embedding{ID: r.id, Embedding: vectors[0], sizes: z}
}
