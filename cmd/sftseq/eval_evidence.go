package main

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/evaluation"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// evidenceBatch is the number of rows whose evidence is measured together.
const evidenceBatch = 16

// evalEvidence measures and prints the evidence of evenly spaced rows. Their number is the value of --evidence.
func evalEvidence(c *cli.Context, m models) error {
	for _, name := range []string{"errors", "queries"} {
		if c.IsSet(name) {
			return usage(c, "--evidence prints no other metrics: expected no --%s", name)
		}
	}
	if ranksOf(c) != nil {
		return usage(c, "--evidence is measured by a single process: run eval without mpirun or srun")
	}
	in, err := openEvalRows(c, m)
	if err != nil {
		return err
	}
	defer in.close()
	if err := evaluation.CanMeasureEvidence(in.scorer); err != nil {
		return fmt.Errorf("--evidence: the model %s: %w", givenModel(c), err)
	}
	v, err := measureEvidence(c.Context, in.scorer, in.path, c.Int("evidence"))
	if err != nil {
		return err
	}
	return show(c, v, v.Write)
}

// measureEvidence measures the evidence of n evenly spaced rows of a file, or of all its rows if it
// has fewer.
func measureEvidence(ctx context.Context, s *sft.Scorer, path string, n int) (*evaluation.Evidence, error) {
	f, err := seq.OpenWindow(path, s.Config().ReadWindow())
	if err != nil {
		return nil, err
	}
	defer f.Close()
	n = min(n, f.Len())
	p := newProgress(int64(n), "measuring the evidence", "rows")
	defer p.Finish()
	v := new(evaluation.Evidence)
	for at := 0; at < n; at += evidenceBatch {
		var rows []seq.Example
		for i := at; i < min(at+evidenceBatch, n); i++ {
			x, err := f.Example(i * f.Len() / n)
			if err != nil {
				return nil, err
			}
			rows = append(rows, x)
		}
		if err := v.Add(ctx, s, rows); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		p.Add(int64(len(rows)))
	}
	return v, nil
}
