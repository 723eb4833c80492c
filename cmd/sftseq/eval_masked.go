package main

import (
	"context"
	"fmt"
	"io"
	"math"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/baseline"
	"github.com/sftseq/sftseq/internal/task"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// maskedResult is the output of eval for a masked-token model.
type maskedResult struct {
	task.Evaluated
	Sequences    int     `json:"sequences"`
	Masked       int     `json:"masked_tokens"`
	Loss         float64 `json:"loss"` // nats per masked token
	BitsPerToken float64 `json:"bits_per_token"`
	// Frequencies is the cross-entropy of a baseline that predicts the token frequencies of the
	// training split, in bits per token.
	Frequencies float64 `json:"frequencies_bits_per_token"`
}

func (r *maskedResult) write(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%s: %s, %s\n"+
		"bits per token %.4f (loss %.4f); baseline of token frequencies %.4f\n",
		r.Title(), countOf(r.Sequences, "sequence"), countOf(r.Masked, "masked token"), r.BitsPerToken, r.Loss, r.Frequencies)
	return err
}

// evalMasked evaluates a model of sftseq pretrain on masked tokens. The masked positions
// depend only on the model and the rows.
func evalMasked(c *cli.Context, m models) error {
	for _, name := range []string{"errors", "queries"} {
		if c.IsSet(name) {
			return usage(c, "--%s: the model %s was trained without labels, so it has no "+
				"classes", name, givenModel(c))
		}
	}
	dir := c.String("data")
	if err := refuseTable(dir); err != nil {
		return fmt.Errorf("--data %w", err)
	}
	set, err := seq.OpenDataset(dir)
	if err != nil {
		return fmt.Errorf("--data: expected a data set directory, because token frequencies come from its training "+
			"split: %w", err)
	}
	spec := set.Spec()
	if err := checkTokens(m.Config, &spec); err != nil {
		return fmt.Errorf("%s does not fit the model %s: %w", dir, givenModel(c), err)
	}
	r := &maskedResult{Evaluated: task.Evaluated{Model: givenModel(c), Data: dir, Split: c.String("split"),
		Trained: trainedIn(c.String("model"))}}
	file, err := m.Config.OpenSplit(set, r.Split)
	if err != nil {
		return err
	}
	defer file.Close()
	if file.Len() == 0 {
		return fmt.Errorf("%s: the split %s has no rows, expected at least 1", dir, r.Split)
	}
	scorer, release, err := openScorer(c, m)
	if err != nil {
		return err
	}
	defer release()
	if ranks := ranksOf(c); ranks != nil {
		if path, err := set.Path(r.Split); err != nil {
			return err
		} else if err := ranks.compare(scorer, path); err != nil {
			return err
		}
	}
	progress := newProgress(int64(file.Len()), "evaluating", "sequences")
	const batchRows = 256
	for _, rows := range seq.Sequential(file.Len(), batchRows) {
		examples := make([]seq.Example, len(rows))
		for i, row := range rows {
			if examples[i], err = file.Example(int(row)); err != nil {
				return err
			}
			r.Masked += len(sft.Masked(m.Config, examples[i]))
		}
		losses, err := scorer.MaskedLosses(c.Context, communicator(c), examples)
		if err != nil {
			return fmt.Errorf("%s, from row %d: %w", dir, rows[0], err)
		}
		for _, loss := range losses {
			r.Loss += loss
		}
		progress.Add(int64(len(rows)))
	}
	progress.Finish()
	r.Sequences, r.Loss = file.Len(), r.Loss/float64(r.Masked)
	r.BitsPerToken = r.Loss / math.Ln2
	if r.Frequencies, err = unigramBits(c.Context, m.Config, set, r.Split); err != nil {
		return err
	}
	return show(c, r, r.write)
}

// unigramBits returns the cross-entropy of the training split's token frequencies, in bits per token,
// on the masked tokens of a split.
func unigramBits(ctx context.Context, c *sft.Config, set *seq.Dataset, split string) (float64, error) {
	targets := func(e seq.Example) []int32 { return sft.Targets(c, e) }
	masked := func(e seq.Example) []int32 { return sft.Masked(c, e) }
	return baseline.UnigramBits(ctx, set, split, c.ReadWindow(), c.NumLabels, targets, masked)
}
