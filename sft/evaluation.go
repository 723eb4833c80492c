package sft

import (
	"context"
	"math"
	"path/filepath"

	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
)

// evaluationRows is the number of validation rows scored between two looks at
// the context.
const evaluationRows = 64

// evaluate measures the validation split and keeps the model if it is the best
// so far, in what Settings.Select says; of equal ones that with less loss is better.
func (t *Trainer) evaluate(ctx context.Context) error {
	r := EvaluationReport{Kind: "validation", Step: t.state.Step, Epoch: t.epochs(), Rows: t.val.Len(), SelectedBy: t.settings.Select}
	began := t.now()
	v := t.model.Config.objective().measure(t.model.Config, &t.settings)
	done := 0
	for _, rows := range seq.Sequential(r.Rows, evaluationRows) {
		examples, err := t.examples(t.val, rows)
		if err != nil {
			return err
		}
		out, err := t.scorer.Examples(ctx, examples)
		if err != nil {
			return err
		}
		for i, o := range out {
			if !finite(o.Logits) {
				return t.badValidation(examples[i])
			}
			v.add(o.Logits, examples[i])
		}
		done += len(rows)
		t.observe(EvaluationProgress{Done: done, Rows: r.Rows})
	}
	v.report(&r)
	r.Best = r.better(&t.state)
	r.Seconds = t.now().Sub(t.started).Seconds()
	t.pace.evaluated(t.now().Sub(began))
	if err := t.metrics.write(r); err != nil {
		return err
	}
	t.state.Evaluated = t.state.Step
	t.state.SinceBest++
	if r.Best {
		t.state.keep(&r)
		if err := t.saveModel(); err != nil {
			return err
		}
	}
	t.observe(r)
	return t.save()
}

// badValidation reports logits that are not finite.
func (t *Trainer) badValidation(e seq.Example) error {
	report := &NonFiniteError{Step: t.state.Step, Examples: []uint32{e.Index}, Tensor: "logits of a validation row", Loss: float32(math.NaN())}
	if err := t.download(); err != nil {
		return err
	}
	if name, found := t.model.Parameters.NonFinite(t.model.Weights); found {
		report.Tensor = name
	}
	return report
}

func finite(x []float32) bool {
	for _, v := range x {
		if v-v != 0 {
			return false
		}
	}
	return true
}

// EvaluationProgress is observed during an evaluation.
type EvaluationProgress struct{ Done, Rows int }

// saveModel stores the weights as the run's model.
func (t *Trainer) saveModel() error {
	if err := t.download(); err != nil {
		return err
	}
	return t.model.saveWeights(filepath.Join(t.options.Dir, weightsFile))
}

func (t *Trainer) download() error {
	return t.engine.weights.Read(0, tensor.Bits(t.model.Weights))
}

// save stores a checkpoint. The metrics reach the disk before the checkpoint
// that counts on them.
func (t *Trainer) save() error {
	if err := t.metrics.file.Sync(); err != nil {
		return err
	}
	t.state.MetricsBytes = t.metrics.bytes
	if err := t.saveState(); err != nil {
		return err
	}
	return t.saveUnjudged()
}

// saveUnjudged stores the weights of a checkpoint as the run's model, too, until one was
// judged: a run that is under way has a model from its first checkpoint on. The first
// evaluation replaces it whatever it finds, so that nothing of it stays.
func (t *Trainer) saveUnjudged() error {
	if t.state.BestStep > 0 {
		return nil
	}
	return t.saveModel()
}

// saveState replaces the checkpoint. Weights that are not finite never replace
// good ones.
func (t *Trainer) saveState() error {
	if err := t.download(); err != nil {
		return err
	}
	if name, found := t.model.Parameters.NonFinite(t.model.Weights); found {
		return &NonFiniteError{Step: t.state.Step, Tensor: name, Loss: float32(math.NaN())}
	}
	c := &Checkpoint{Settings: t.settings, Config: t.model.Config, State: t.state, Data: t.options.Data, Kernels: t.engine.device.Kernels(),
		weights: t.model.Weights}
	if err := t.optimizer.store(c); err != nil {
		return err
	}
	if err := c.save(t.options.Dir, t.model.Parameters); err != nil {
		return err
	}
	t.saved, t.kernels = t.now(), c.Kernels
	return nil
}
