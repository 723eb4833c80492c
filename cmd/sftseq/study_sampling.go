package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/sft"
)

func studySamplingCommand() *cli.Command {
	return &cli.Command{
		Name:  "sampling",
		Usage: "learning curves by the number of sampled tokens",
		UsageText: `sftseq study sampling [flags]

Example: sftseq study sampling --points 128 --k 1,8,16,32,64 --steps 400`,
		Description: `Trains a model for each number of sampled tokens. The paper says that with more of them
it learns faster, that half of the tokens are no better than a quarter in the test, and
that 0.4% reach a reasonable accuracy. Runs are kept in --out, where sftseq report and
plot can show them; the same command goes on after Ctrl-C.`,
		Flags:  trainingFlags("sampling", &cli.StringFlag{Name: "k", Value: "4,64,128,256,512", Usage: "sampled tokens, `N,N,…`"}),
		Action: studySampling,
	}
}

func studySampling(c *cli.Context) error {
	report, err := newStudyReport(c, 1, curveColumns...)
	if err != nil {
		return err
	}
	sampled, err := parseCounts(c, "k")
	if err != nil {
		return err
	}
	s, err := newStudyTraining(c)
	if err != nil {
		return err
	}
	var variants []variant
	for _, k := range sampled {
		if k > s.longest {
			return usage(c, "--k %d: the longest sequence has %d tokens, expected at most as many", k, s.longest)
		}
		variants = append(variants, variant{fmt.Sprintf("k %d (%.3g%%)", k, 100*float64(k)/float64(s.longest)), fmt.Sprintf("k-%d", k), func(m *sft.Config) { m.NumSampledTokens = k }})
	}
	return s.compare(c, report, variants, "Learning curves by sampled tokens",
		`The paper (Fig. 7): 0.4%, 6.25%, 12.5%, 25% and 50% of 1,024 points of ModelNet40, 256 epochs.
More tokens learn faster; 50% end no better than 25% in the test; 0.4% is "reasonable".`)
}
