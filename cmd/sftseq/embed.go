package main

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/requests"
	"github.com/sftseq/sftseq/sft"
)

func embedCommand() *cli.Command {
	return &cli.Command{
		Name:      "embed",
		Usage:     "turn sequences into vectors: JSON lines or tables in, embeddings out",
		ArgsUsage: "[FILE]",
		UsageText: `sftseq embed --model DIR [flags] [FILE]
sftseq embed --model DIR [flags] --input FILE --text COLUMN [--output FILE]

Example: sftseq embed --model runs/reviews --input reviews.csv --text review --id key --output vectors.parquet
         echo '{"id":"q1","text":"a query"}' | sftseq embed --model runs/retrieval`,
		Description: `Reads FILE (standard input if absent or -) and writes for each line
   {"id": 7, "embedding": […], "length": 4}
the pooled vector of the sequence, to be compared by cosine. A retrieval model
embeds single sequences; for a pair it gives embedding_a and embedding_b.

` + linesHelp,
		Flags:  lineFlags(),
		Action: func(c *cli.Context) error { return answerLines(c, embedder) },
	}
}

func embedder(scorer *sft.Scorer) answerer {
	c := scorer.Config()
	lines := func(s *stream) func(context.Context, []*requests.Request) ([]any, error) {
		return func(ctx context.Context, batch []*requests.Request) ([]any, error) {
			var sequences [][]int32
			for _, r := range batch {
				sequences = append(sequences, r.Sequences...)
			}
			vectors, err := scorer.Embeddings(ctx, sequences)
			if err != nil {
				return nil, err
			}
			replies := make([]any, len(batch))
			for i, r := range batch {
				n := len(r.Sequences)
				replies[i] = orFailure(requests.NewEmbedding(c, r, vectors[:n]))
				vectors = vectors[n:]
			}
			return replies, nil
		}
	}
	return answerer{sequences: []int{1, c.Sequences()}, lines: lines, record: scorer.Embed, columns: embeddingColumns}
}
