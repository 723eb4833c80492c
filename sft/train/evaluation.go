package train

import (
	"context"
	"math"
	"path/filepath"

	"github.com/sftseq/sftseq/internal/fmath"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/model"
)

// evaluationRows is the maximum number of validation rows that a process scores between two
// [EvaluationProgress] events.
const evaluationRows = 64

// evaluationTokens limits the tokens of these rows for models with outputs per token.
const evaluationTokens = 16 * model.MicroBatchTokens

// evaluate measures the model on the validation split and saves it if it is the best so far in the
// metric Settings.Select: see [EvaluationReport.better].
func (t *Trainer) evaluate(ctx context.Context) error {
	r := EvaluationReport{Kind: "validation", Step: t.state.Step, Epoch: t.epochs(), Rows: t.val.Len(),
		SelectedBy: t.settings.Select}
	start := t.now()
	v := trainingOf(t.model.Config).measure(t.model.Config, &t.settings)
	done := 0
	batchRows := evaluationRows
	if t.model.Config.PerToken() { // the outputs of a row grow with its length
		_, longest := t.val.Longest()
		batchRows = max(1, min(batchRows, evaluationTokens/max(1, longest)))
	}
	if c := t.options.Communicator; c != nil {
		batchRows *= c.Size()
	}
	for _, rows := range seq.Sequential(r.Rows, batchRows) {
		examples, err := t.examples(t.val, rows)
		if err != nil {
			return err
		}
		out, err := t.runner.SharedMeasured(ctx, t.options.Communicator, examples)
		if err != nil {
			return err
		}
		for i, x := range out {
			if !fmath.Finite(x) {
				return t.badValidation(examples[i])
			}
			v.add(x, examples[i])
		}
		done += len(rows)
		t.observe(EvaluationProgress{Done: done, Rows: r.Rows})
	}
	v.report(&r)
	r.Best = r.better(&t.state)
	t.state.updateBestAccuracy(&r)
	if k, ok := v.(calibrator); ok && r.Best && t.settings.TemperatureScaling {
		r.calibrate(k.temperature())
	}
	r.Seconds = t.now().Sub(t.started).Seconds()
	t.throughput.addEvaluation(t.now().Sub(start))
	if err := t.metrics.write(r); err != nil {
		return err
	}
	t.state.Evaluated = t.state.Step
	t.state.SinceBest++
	if r.Best {
		t.state.keep(&r)
		t.keepDecision(&r)
		if model.First(t.options.Communicator) {
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

// badValidation returns the error for logits or a loss that are not finite.
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

// EvaluationProgress is sent to the observer during an evaluation: the number of validation rows scored
// so far, and the number of all validation rows.
type EvaluationProgress struct{ Done, Rows int }

// keepDecision copies the thresholds, temperature and span decoding of an evaluation to the model's
// configuration. It replaces the configuration with a copy: the caller's configuration does not
// change.
func (t *Trainer) keepDecision(r *EvaluationReport) {
	if r.Thresholds == nil && r.Temperature == 0 && r.SpanDecoding == nil {
		return
	}
	c := *t.model.Config
	c.Decision = config.Decision{Thresholds: r.Thresholds, Temperature: r.Temperature, SpanDecoding: r.SpanDecoding}
	m := *t.model
	m.Config, t.model = &c, &m
}

// configToWrite returns the model's configuration with the thresholds, temperature and span
// decoding that belong to the weights in the directory. If the run was killed between an evaluation
// and its checkpoint, the directory has newer values than the checkpoint, until the resumed run
// repeats the evaluation.
func (t *Trainer) configToWrite() *config.Config {
	if !decides(t.model.Config) {
		return t.model.Config
	}
	stored, err := config.Read(filepath.Join(t.options.Dir, model.ConfigFile))
	if err != nil || !decides(stored) { // a new run, or a damaged file that is rewritten
		return t.model.Config
	}
	c := *t.model.Config
	c.Decision = stored.Decision
	return &c
}

// decides reports whether the model has thresholds, a temperature or a span decoding chosen on a
// validation split.
func decides(c *config.Config) bool {
	return c.Thresholds != nil || c.Temperature != 0 || c.SpanDecoding != nil
}

// writeDecision stores the configuration with the thresholds, temperature and span decoding chosen
// for the saved weights.
func (t *Trainer) writeDecision() error {
	if !decides(t.model.Config) {
		return nil
	}
	return t.model.Config.Write(filepath.Join(t.options.Dir, model.ConfigFile))
}
