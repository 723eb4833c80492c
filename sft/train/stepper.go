package train

import (
	"context"
	"fmt"

	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/internal/model"
)

// Stepper performs the steps of a [Trainer] on given examples, without a data set and without files,
// for measurements. Its learning rate warms up but never decays, because there are no epochs and no end.
type Stepper struct {
	stepper
	length         int // maximum length of a sequence in tokens
	steps, updates int
	scale          lossScale
}

// NewStepper copies a model to a device and plans the memory for its batches. length is the maximum
// number of tokens in a sequence; for graphs, it is the result of [sft.PlannedTokens]. memory is a limit
// in bytes; 0 means no limit. A device's own memory is a further limit. If the plan exceeds a limit, the
// error is a [*config.MemoryError]. Steps do not change m.Weights, but they update m.NGrams in place.
func NewStepper(m *sft.Model, s Settings, device sft.Device, length int, memory int64) (*Stepper, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	if length < 1 || length > m.Config.MaxLength {
		return nil, fmt.Errorf("sequences of %d tokens, expected 1 to %d", length, m.Config.MaxLength)
	}
	if err := trainingOf(m.Config).settings(m.Config, &s); err != nil {
		return nil, err
	}
	e, err := model.OpenEngine(m.Config, m.Weights, m.NGrams, device)
	if err != nil {
		return nil, err
	}
	e.Edges = model.PlannedEdges
	lengths := []int32{1, int32(length)}
	slots, err := planSlots(e, lengths, lengths, s.Batch, memory, 0)
	var t stepper
	if err == nil {
		t, err = newStepper(m, s, e, slots)
	}
	if err != nil {
		e.Close()
		return nil, err
	}
	return &Stepper{stepper: t, length: length, scale: lossScale{}.forDevice(e.Device)}, nil
}

// Close frees the device's memory.
func (s *Stepper) Close() { s.engine.Close() }

// Step trains on one batch and returns its mean loss before the update. All random numbers depend
// only on the seed, the Index of an example and the number of the step.
func (s *Stepper) Step(ctx context.Context, examples []seq.Example) (loss float64, err error) {
	if n := len(examples); n < 1 || n > s.settings.Batch {
		return 0, fmt.Errorf("found %d examples, expected 1 to %d", n, s.settings.Batch)
	}
	err = model.TryInParallel(s.engine.Threads(1), len(examples), func(i int) error {
		e := examples[i]
		if err := s.model.Config.CheckLabelled(e); err != nil {
			return fmt.Errorf("example %d: %w", i, err)
		}
		if n := max(e.First(), len(e.B)); n > s.length {
			return fmt.Errorf("example %d: found %d tokens, expected at most the planned %d", i, n, s.length)
		}
		if n := model.PlannedLength(e); n > s.length {
			return fmt.Errorf("example %d: %d edges need the memory of %d tokens, expected at most the planned %d", i,
				len(e.Edges), n, s.length)
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	examples = s.settings.addNoise(s.model.Config, examples, s.steps, s.engine.Threads(1))
	rate := s.settings.learningRate(&State{Update: s.updates}, 1)
	b, err := s.update(ctx, examples, s.steps, s.updates+1, rate, s.scale)
	if err != nil {
		return 0, err
	}
	if s.steps++; !b.skipped {
		s.updates++
	}
	s.scale = s.scale.after(b.skipped)
	o := trainingOf(s.model.Config)
	for i, v := range b.loss {
		loss += o.weight(&s.settings, examples[i]) * float64(v)
	}
	return loss / float64(b.divisor), nil
}
