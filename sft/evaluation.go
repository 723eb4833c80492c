package sft

import (
	"context"
	"math"
	"slices"

	"github.com/sftseq/sftseq/seq"
)

// evaluationRows is the number of validation rows scored between two looks at
// the context.
const evaluationRows = 64

// evaluate measures the validation split and keeps the model if it is the best
// so far, in what Settings.Select says; of equal ones that with less loss is better.
func (t *Trainer) evaluate(ctx context.Context) error {
	r := EvaluationReport{Kind: "validation", Step: t.state.Step, Epoch: t.epochs(), Rows: t.val.Len(),
		SelectedBy: t.settings.Select}
	began := t.now()
	v := t.model.Config.objective().measure(t.model.Config, &t.settings)
	done := 0
	together := evaluationRows
	if t.model.Config.objective().perToken() { // whose outputs are as long as the rows
		_, longest := t.val.Longest()
		together = max(1, min(together, pieceTokens/max(1, longest)))
	}
	if c := t.options.Communicator; c != nil {
		together *= c.Size()
	}
	for _, rows := range seq.Sequential(r.Rows, together) {
		examples, err := t.examples(t.val, rows)
		if err != nil {
			return err
		}
		out, err := t.score(ctx, examples)
		if err != nil {
			return err
		}
		for i, x := range out {
			if !finite(x) {
				return t.badValidation(examples[i])
			}
			v.add(x, examples[i])
		}
		done += len(rows)
		t.observe(EvaluationProgress{Done: done, Rows: r.Rows})
	}
	v.report(&r)
	r.Best = r.better(&t.state)
	t.state.see(&r)
	if k, ok := v.(calibrating); ok && r.Best && t.settings.TemperatureScaling {
		r.calibrate(k.temperature())
	}
	r.Seconds = t.now().Sub(t.started).Seconds()
	t.pace.evaluated(t.now().Sub(began))
	if err := t.metrics.write(r); err != nil {
		return err
	}
	t.state.Evaluated = t.state.Step
	t.state.SinceBest++
	if r.Best {
		t.state.keep(&r)
		t.keepDecision(&r)
		if first(t.options.Communicator) {
			if err := t.saveModel(); err != nil {
				return err
			}
			if err := t.writeDecision(); err != nil {
				return err
			}
		}
	}
	t.observe(r)
	return t.save()
}

// score returns what a measurement adds up of each example. Several ranks share the work.
func (t *Trainer) score(ctx context.Context, examples []seq.Example) ([][]float32, error) {
	c := t.options.Communicator
	if c == nil {
		return t.scorer.measured(ctx, examples)
	}
	return shared(ctx, c, sizes(examples, t.model.Config.measuredNumbers), func(from, to int) ([][]float32, error) {
		return t.scorer.measured(ctx, examples[from:to])
	})
}

// badValidation reports logits or a loss that are not finite.
func (t *Trainer) badValidation(e seq.Example) error {
	report := &NonFiniteError{Step: t.state.Step, Examples: []uint32{e.Index}, Tensor: "logits of a validation row",
		Loss: float32(math.NaN())}
	if err := t.download(); err != nil {
		return err
	}
	if name, found := t.model.Parameters.NonFinite(t.model.Weights); found {
		report.Tensor = name
	}
	return report
}

func finite(x []float32) bool {
	return !slices.ContainsFunc(x, func(v float32) bool { return v-v != 0 })
}

// EvaluationProgress is observed during an evaluation.
type EvaluationProgress struct{ Done, Rows int }
