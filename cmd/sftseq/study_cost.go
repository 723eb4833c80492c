package main

import (
	"fmt"
	"strconv"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/bench"
	"github.com/sftseq/sftseq/internal/chart"
	"github.com/sftseq/sftseq/internal/study"
	"github.com/sftseq/sftseq/internal/units"
)

func studyCostCommand() *cli.Command {
	return &cli.Command{
		Name:  "cost",
		Usage: "what the parts of a layer cost, as in the paper's table of costs",
		UsageText: `sftseq study cost [flags]

Example: sftseq study cost --k 1024,64`,
		Description: `For each number of sampled tokens, the operations of the parts of a layer with 256
channels and 16 heads on two sequences: as the paper counts them, with what it leaves
out, and the time that each takes here. A multiply or a maximum with its add is two
operations. The time of maxout and PV is that of attention without a relative
encoding, which has the remainder in it; that of the relative encoding is what attention
takes longer with it, and its tables. On the CPU, or a GPU that times its kernels.`,
		Flags: measuredFlags("cost",
			&cli.IntFlag{Name: "length", Value: bench.TableLength, Usage: "tokens of a sequence"},
			&cli.StringFlag{Name: "k", Value: "1024,512,256,128,64", Usage: "sampled tokens, `N,N,…`"},
			&cli.IntFlag{Name: "reps", Value: 5, Usage: "runs, of which medians are taken"}),
		Action: studyCost,
	}
}

// costPoint is a part of a layer.
type costPoint struct {
	Part    string  `json:"part"`
	Tokens  int     `json:"tokens"`
	K       int     `json:"k"`
	Paper   float64 `json:"paper_operations,omitempty"` // as printed or counted; absent where it has none
	Full    float64 `json:"operations"`
	Seconds float64 `json:"seconds,omitempty"` // absent where another part's has it
	Device  string  `json:"device"`
	Threads int     `json:"threads"`
}

func studyCost(c *cli.Context) error {
	report, err := newStudyReport(c, 1, "part", "k", "paper (10⁹)", "full (10⁹)", "time", "10⁹/s")
	if err != nil {
		return err
	}
	sampled, err := parseCounts(c, "k")
	if err != nil {
		return err
	}
	length, err := countFlag(c, "length", 1, 1<<20)
	if err != nil {
		return err
	}
	for _, k := range sampled {
		if k > length {
			return usage(c, "--k %d, of sequences of %d tokens: expected at most as many", k, length)
		}
	}
	reps, err := countFlag(c, "reps", 1, 1<<20)
	if err != nil {
		return err
	}
	d, release, err := openBenchDevice(c)
	if err != nil {
		return err
	}
	defer release()
	shape := bench.LayerShapes["usual"]
	picture := studyChart("", chart.Axis{Label: "sampled tokens", Logarithmic: true}, chart.Axis{Label: "time of a part (ms)", Zero: true})
	lines := map[string][]chart.Datum{}
	progress := newBenchProgress(c.App.ErrWriter, len(sampled))
	for _, k := range sampled {
		var parts bench.LayerParts
		err := progress.measure(fmt.Sprintf("k %d", k), func() (err error) {
			layer := bench.Layer{Kind: "sft", K: k, Length: length, LayerShape: shape}
			parts, err = layer.MeasureParts(c.Context, d, study.CostSequences, reps)
			return err
		})
		if err != nil {
			return err
		}
		seconds := map[string]float64{study.PartSampling: parts.Sampling, study.PartQ: parts.Q, study.PartK: parts.K, study.PartV: parts.V, study.PartC: parts.C,
			study.PartRelative: parts.Relative, study.PartConcat: parts.Out, study.PartScores: parts.Pairs, study.PartMLP: parts.MLP}
		cost := study.Cost{Tokens: length, Sampled: k, Width: 256, Heads: shape.Heads}
		for _, part := range study.CostParts {
			p := costPoint{Part: part, Tokens: length, K: k, Full: cost.Full(part), Seconds: seconds[part], Device: d.Name(), Threads: benchThreads(c)}
			row := []string{part, strconv.Itoa(k), "", fmt.Sprintf("%.4f", p.Full/1e9), "", ""}
			if n, ok := cost.Paper(part); ok {
				p.Paper = n
			} else if length == bench.TableLength {
				p.Paper = 1e9 * study.PrintedCosts[part][float64(k)/float64(length)]
			}
			if p.Paper > 0 {
				row[2] = fmt.Sprintf("%.4f", p.Paper/1e9)
			}
			if s := p.Seconds; s > 0 {
				row[4], row[5] = units.Seconds(s), units.Digits(p.Full/s/1e9)
				lines[part] = append(lines[part], chart.Datum{X: float64(k), Y: 1e3 * s})
			}
			if err := report.add(p, row...); err != nil {
				return err
			}
		}
	}
	for _, k := range sampled {
		picture.X.Places = append(picture.X.Places, chart.Place{At: float64(k), Label: strconv.Itoa(k)})
	}
	for n, part := range study.CostParts {
		if lines[part] != nil {
			addLine(&picture, n, part, lines[part])
		}
	}
	return report.finish(chart.Figure{Title: "Time of the parts of a layer", Charts: []chart.Chart{picture}},
		fmt.Sprintf("%s; threads %d, sequences %d, medians of %d runs. The rate of a part is that of its full count.", d.Name(), benchThreads(c), study.CostSequences, reps),
		`The paper (Table 7) prints these counts for 1,024 tokens of 256 channels. They fit two
sequences, 16 heads and a relation of two numbers a pair; its counts of sampling and of the
remainder are printed, no formula fits them. It leaves out the score and the weighted sum.`,
		"Here the relative encoding is read from tables, which takes other operations than the paper's two linear layers for each pair.")
}
