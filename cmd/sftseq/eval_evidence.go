package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/evaluation"
	"github.com/sftseq/sftseq/seq"
)

// evidenceBatch is the number of rows whose evidence is measured together.
const evidenceBatch = 16

// evalEvidence measures the evidence of --evidence rows, which are evenly spaced.
func evalEvidence(c *cli.Context, m models) error {
	for _, name := range []string{"errors", "queries"} {
		if c.IsSet(name) {
			return usage(c, "--evidence prints no other metrics: expected no --%s", name)
		}
	}
	if ranksOf(c) != nil {
		return usage(c, "--evidence is measured by a single process: expected no --ranks")
	}
	in, err := openEvalRows(c, m)
	if err != nil {
		return err
	}
	defer in.close()
	if err := evaluation.CanMeasureEvidence(in.scorer); err != nil {
		return fmt.Errorf("--evidence: the model %s: %w", c.String("model"), err)
	}
	f, err := seq.OpenWindow(in.path, in.scorer.Config().ReadWindow())
	if err != nil {
		return err
	}
	defer f.Close()
	wanted := min(c.Int("evidence"), f.Len())
	p := newProgress(int64(wanted), "measuring", "rows")
	defer p.Finish()
	v := new(evaluation.Evidence)
	for at := 0; at < wanted; at += evidenceBatch {
		var rows []seq.Example
		for i := at; i < min(at+evidenceBatch, wanted); i++ {
			x, err := f.Example(i * f.Len() / wanted)
			if err != nil {
				return err
			}
			rows = append(rows, x)
		}
		if err := v.Add(c.Context, in.scorer, rows); err != nil {
			return fmt.Errorf("%s: %w", in.path, err)
		}
		p.Add(int64(len(rows)))
	}
	return show(c, v, v.Write)
}
