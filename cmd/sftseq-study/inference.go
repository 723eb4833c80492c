package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/sftseq/sftseq/internal/bench"
	"github.com/sftseq/sftseq/internal/chart"
	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/internal/task"
	"github.com/sftseq/sftseq/sft"
)

// inferenceBatch is the paper's batch size.
const inferenceBatch = 32

var inferenceStudy = &study{
	name:    "inference",
	summary: "evaluation time of a split by the number of sampled tokens",
	help: fmt.Sprintf(`Evaluates a trained model on a split in batches of %d with different numbers of sampled tokens,
and prints the time and the accuracy for each number. The weights do not change.`, inferenceBatch),
	columns: []string{"k", "time", "tokens/s", "accuracy", "loss"},
	prepare: func(f *flags) measurement {
		m := f.modelFlags()
		var sampled []int
		var reps int
		f.sampledTokensFlag(&sampled, 4, 64, 128, 256, 512)
		f.intFlag(&reps, "reps", 3, 1, 1<<20, "timed passes over the split; the median is printed")
		return m.measurement(func(ctx context.Context, r *report) error {
			return m.compareInference(ctx, r, sampled, inferencePoint{Reps: reps, Threads: m.threads})
		})
	},
}

// inferencePoint is the result for k sampled tokens.
type inferencePoint struct {
	K            int     `json:"k"`
	Seconds      float64 `json:"seconds"` // median for the whole split
	TokensPerSec float64 `json:"tokens_per_s"`
	Accuracy     float64 `json:"accuracy"`
	Loss         float64 `json:"loss"` // mean cross-entropy
	Rows         int     `json:"rows"`
	Batch        int     `json:"batch"`
	Reps         int     `json:"reps"`
	Device       string  `json:"device"`
	Threads      int     `json:"threads"`
}

// compareInference measures the speed and the accuracy for each number of sampled tokens. p has the
// fields that all points share.
func (m *trainedModel) compareInference(ctx context.Context, r *report, sampled []int, p inferencePoint) error {
	if !task.ComparesAccuracy(m.Config) {
		return fmt.Errorf("%s: expected a model that predicts a class for each row, found the task %s", m.dir,
			m.Config.Task)
	}
	if m.Config.IsLinear() {
		return fmt.Errorf("%s: expected a model with layers, found a linear model, which samples no tokens", m.dir)
	}
	p.Rows, p.Batch, p.Device = m.rows.Len(), inferenceBatch, m.device.Name()
	var times, accuracies []chart.Datum
	progress := r.progress(len(sampled)*(p.Reps+1)*p.Rows, "rows")
	for _, p.K = range sampled {
		if err := m.measureInference(ctx, &p, progress); err != nil {
			return err
		}
		r.add(p, strconv.Itoa(p.K), bench.FormatSeconds(p.Seconds), bench.FormatDigits(p.TokensPerSec),
			percent(p.Accuracy), fmt.Sprintf("%.4f", p.Loss))
		times, accuracies = append(times, chart.Datum{X: float64(p.K), Y: p.Seconds}),
			append(accuracies, chart.Datum{X: float64(p.K), Y: 100 * p.Accuracy})
	}
	r.title = "Evaluation of a split by sampled tokens"
	r.charts = []chart.Chart{newChart("", sampledAxis(sampled), chart.Axis{Label: "evaluation time of the split (s)",
		Zero: true}), newChart("", sampledAxis(sampled), chart.Axis{Label: "accuracy (%)"})}
	addLine(&r.charts[0], 0, "", times)
	addLine(&r.charts[1], 0, "", accuracies)
	r.note("The paper (Fig. 5) plots the time of batches of %d over the number of sampled points, without values.",
		inferenceBatch)
	r.note("Here: %s, trained with %d sampled tokens; %s, threads %d, medians of %d passes.", m.describe(),
		m.Config.NumSampledTokens, p.Device, p.Threads, p.Reps)
	return nil
}

// measureInference evaluates the model with p.K sampled tokens on the split, p.Reps times after a
// warm-up, and stores the results in p.
func (m *trainedModel) measureInference(ctx context.Context, p *inferencePoint, progress func(n int)) error {
	config := *m.Config
	config.NumSampledTokens = p.K
	if err := config.Validate(); err != nil {
		return err
	}
	model := *m.Model
	model.Config = &config
	scorer, err := sft.NewScorer(&model, m.device)
	if err != nil {
		return err
	}
	defer scorer.Close()
	var correct, tokens int
	var loss float64
	pass := func(ctx context.Context) error {
		correct, tokens, loss = 0, 0, 0
		for first := 0; first < p.Rows; first += inferenceBatch {
			examples, err := m.examples(first, inferenceBatch)
			if err != nil {
				return err
			}
			out, err := scorer.Examples(ctx, examples)
			if err != nil {
				return fmt.Errorf("rows from %d: %w", first, err)
			}
			for i, e := range examples {
				if e.Label < 0 || int(e.Label) >= len(out[i].Logits) {
					return fmt.Errorf("row %d: label %d, expected one of the model's %d classes", first+i,
						e.Label, len(out[i].Logits))
				}
				tokens += e.Length()
				loss += metrics.CrossEntropy(out[i].Logits, int(e.Label))
				if slices.Index(out[i].Logits, slices.Max(out[i].Logits)) == int(e.Label) {
					correct++
				}
			}
			progress(len(examples))
		}
		return nil
	}
	if err := pass(ctx); err != nil { // warms up
		return err
	}
	if p.Seconds, err = bench.Seconds(ctx, pass, p.Reps, 0); err != nil {
		return err
	}
	p.TokensPerSec, p.Accuracy, p.Loss = float64(tokens)/p.Seconds,
		float64(correct)/float64(p.Rows), loss/float64(p.Rows)
	return nil
}
