package main

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/bench"
	"github.com/sftseq/sftseq/internal/chart"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/internal/units"
	"github.com/sftseq/sftseq/sft"
)

// inferenceBatch is the paper's.
const inferenceBatch = 32

func studyInferenceCommand() *cli.Command {
	return &cli.Command{
		Name:  "inference",
		Usage: "the time to read a split, by the number of sampled tokens",
		UsageText: `sftseq study inference [--model DIR --data DIR] [flags]

Example: sftseq study inference --model runs/listops --data ~/.cache/sftseq/listops-quick-2 --split test --k 8,32,128`,
		Description: fmt.Sprintf(`Reads a split in batches of %d with a trained model that samples other numbers of tokens
than it was trained with, and prints the seconds and the accuracy of each. The weights
stay: nothing is trained anew. Without --model one is trained first.`, inferenceBatch),
		Flags: studiedModelFlags("inference",
			&cli.StringFlag{Name: "k", Value: "4,64,128,256,512", Usage: "sampled tokens, `N,N,…`"},
			&cli.IntFlag{Name: "reps", Value: 3, Usage: "times that the split is read, of which the median is taken"}),
		Action: studyInference,
	}
}

// inferencePoint is what reading the split with k sampled tokens took.
type inferencePoint struct {
	K            int     `json:"k"`
	Seconds      float64 `json:"seconds"` // the median
	TokensPerSec float64 `json:"tokens_per_s"`
	Accuracy     float64 `json:"accuracy"`
	Loss         float64 `json:"loss"` // mean cross-entropy
	Rows         int     `json:"rows"`
	Batch        int     `json:"batch"`
	Reps         int     `json:"reps"`
	Device       string  `json:"device"`
	Threads      int     `json:"threads"`
}

func studyInference(c *cli.Context) error {
	report, err := newStudyReport(c, 0, "k", "time", "tokens/s", "accuracy", "loss")
	if err != nil {
		return err
	}
	sampled, err := parseCounts(c, "k")
	if err != nil {
		return err
	}
	reps, err := countFlag(c, "reps", 1, 1<<20)
	if err != nil {
		return err
	}
	s, err := openStudiedModel(c)
	if err != nil {
		return err
	}
	defer s.rows.Close()
	if !s.model.Config.Answers() || s.model.Config.Tags() {
		return fmt.Errorf("%s: a model whose rows have a class was expected", s.what)
	}
	d, err := openDevice(c)
	if err != nil {
		return err
	}
	defer closeDevice(c, d)
	picture := studyChart("", chart.Axis{Label: "sampled tokens", Logarithmic: true}, chart.Axis{Label: "time to read the split (s)", Zero: true})
	accuracies := studyChart("", picture.X, chart.Axis{Label: "accuracy (%)"})
	var times, accuracy []chart.Datum
	bar := newProgress(int64(len(sampled)*(reps+1)*s.rows.Len()), "inference", "rows")
	defer bar.Finish()
	for _, k := range sampled {
		p, err := s.inference(c.Context, d, k, reps, bar.Add)
		if err != nil {
			return err
		}
		p.Threads = benchThreads(c)
		if err := report.add(p, strconv.Itoa(k), units.Seconds(p.Seconds), units.Rate(p.TokensPerSec), percentText(p.Accuracy), fmt.Sprintf("%.4f", p.Loss)); err != nil {
			return err
		}
		times, accuracy = append(times, chart.Datum{X: float64(k), Y: p.Seconds}), append(accuracy, chart.Datum{X: float64(k), Y: 100 * p.Accuracy})
	}
	bar.Finish()
	for _, at := range []*chart.Chart{&picture, &accuracies} {
		for _, k := range sampled {
			at.X.Places = append(at.X.Places, chart.Place{At: float64(k), Label: strconv.Itoa(k)})
		}
	}
	addLine(&picture, 0, "", times)
	addLine(&accuracies, 0, "", accuracy)
	return report.finish(chart.Figure{Title: "Reading a split by sampled tokens", Charts: []chart.Chart{picture, accuracies}},
		"The paper (Fig. 5) draws the seconds of batches of 32 by the number of sampled points; it has no numbers.",
		fmt.Sprintf("Here: %s, trained with %d sampled tokens; %s, threads %d, medians of %d.", s.what, s.model.Config.NumSampledTokens, d.Name(), benchThreads(c), reps))
}

// inference reads the split with k sampled tokens, once more than it is timed.
func (s *studiedModel) inference(ctx context.Context, d tensor.Device, k, reps int, read func(rows int64)) (inferencePoint, error) {
	config := *s.model.Config
	config.NumSampledTokens = k
	p := inferencePoint{K: k, Rows: s.rows.Len(), Batch: inferenceBatch, Reps: reps, Device: d.Name()}
	if err := config.Validate(); err != nil {
		return p, err
	}
	scorer, err := sft.NewScorer(&sft.Model{Config: &config, Parameters: s.model.Parameters, Weights: s.model.Weights}, d)
	if err != nil {
		return p, err
	}
	defer scorer.Close()
	var correct, tokens int
	var loss float64
	once := func(ctx context.Context) error {
		correct, tokens, loss = 0, 0, 0
		for at := 0; at < s.rows.Len(); at += inferenceBatch {
			examples, err := s.examples(at, inferenceBatch)
			if err != nil {
				return err
			}
			out, err := scorer.Examples(ctx, examples)
			if err != nil {
				return fmt.Errorf("rows from %d: %w", at, err)
			}
			for i, e := range examples {
				if e.Label < 0 || int(e.Label) >= len(out[i].Logits) {
					return fmt.Errorf("row %d: label %d, expected one of the model's %d classes", at+i, e.Label, len(out[i].Logits))
				}
				tokens += e.Length()
				right, l := judge(out[i].Logits, e.Label)
				if loss += l; right {
					correct++
				}
			}
			read(int64(len(examples)))
		}
		return nil
	}
	if err := once(ctx); err != nil { // warms up
		return p, err
	}
	if p.Seconds, err = bench.Seconds(ctx, once, reps, 0); err != nil {
		return p, err
	}
	p.TokensPerSec, p.Accuracy = float64(tokens)/p.Seconds, float64(correct)/float64(s.rows.Len())
	p.Loss = loss / float64(s.rows.Len())
	return p, nil
}

// judge reports whether the first of the largest logits is a label's, and the cross-entropy.
func judge(logits []float32, label int32) (right bool, loss float64) {
	best := 0
	for i, v := range logits {
		if v > logits[best] {
			best = i
		}
	}
	sum := 0.0
	for _, v := range logits {
		sum += math.Exp(float64(v - logits[best]))
	}
	return int32(best) == label, math.Log(sum) - float64(logits[label]-logits[best])
}
