package main

import (
	"fmt"

	"github.com/sftseq/sftseq/internal/tensorboard"
	"github.com/sftseq/sftseq/sft/train"
)

// trainEvents writes the scalars in a run's metrics to an event file for TensorBoard.
type trainEvents struct {
	file *tensorboard.Writer
	err  error // first write error, after which no more events are written; the run continues
}

// newTrainEvents creates an event file for a run. The parameter done is the last completed step, or 0.
// The file begins with the events of this step, because earlier files may lack them. From this step
// on, TensorBoard shows only the points of this file.
func newTrainEvents(dir string, done int) (*trainEvents, error) {
	m := &train.Metrics{}
	if done > 0 {
		var err error
		if m, err = train.ReadMetrics(dir); err != nil {
			return nil, err
		}
	}
	file, err := tensorboard.Create(dir, done)
	if err != nil {
		return nil, err
	}
	e := &trainEvents{file: file}
	for _, r := range m.Train {
		if r.Step == done {
			e.observe(r)
		}
	}
	for _, r := range m.Validation {
		if r.Step == done {
			e.observe(r)
		}
	}
	return e, nil
}

// observe writes an event of the trainer, and returns a warning if writing failed.
func (e *trainEvents) observe(event any) any {
	if e.err != nil {
		return nil
	}
	switch r := event.(type) {
	case train.StepReport:
		scalars := definedScalars(tensorboard.Scalar{Tag: "loss/train", Value: r.Loss},
			optional{"accuracy/train", r.Accuracy})
		e.err = e.file.Write(r.Step, append(scalars,
			tensorboard.Scalar{Tag: "learning_rate", Value: r.LearningRate},
			tensorboard.Scalar{Tag: "grad_norm", Value: r.GradNorm},
			tensorboard.Scalar{Tag: "tokens_per_second", Value: r.TokensPerS})...)
	case train.EvaluationReport:
		e.err = e.file.Write(r.Step, definedScalars(tensorboard.Scalar{Tag: "loss/val", Value: r.Loss},
			optional{"bits_per_token/val", r.BitsPerToken},
			optional{"accuracy/val", r.Accuracy}, optional{"macro_f1/val", r.MacroF1},
			optional{"micro_f1/val", r.MicroF1}, optional{"mean_average_precision/val", r.MAP},
			optional{"auc/val", r.AUC}, optional{"mae/val", r.MAE}, optional{"r2/val", r.R2},
			optional{"span_f1/val", r.SpanF1}, optional{"instance_iou/val", r.InstanceIoU},
			optional{"class_iou/val", r.ClassIoU})...)
	}
	if e.err != nil {
		return train.Warning(fmt.Sprintf("stopped writing TensorBoard events: %v", e.err))
	}
	return nil
}

// Close closes the event file and returns its first error.
func (e *trainEvents) Close() error { return e.file.Close() }

// optional is a scalar that only some tasks have.
type optional struct {
	tag   string
	value *float64
}

// definedScalars returns the parameter first, followed by the optional scalars that have a value.
func definedScalars(first tensorboard.Scalar, others ...optional) []tensorboard.Scalar {
	out := []tensorboard.Scalar{first}
	for _, o := range others {
		if o.value != nil {
			out = append(out, tensorboard.Scalar{Tag: o.tag, Value: *o.value})
		}
	}
	return out
}
