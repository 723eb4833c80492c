package sft

import (
	"context"
	"fmt"

	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
)

// Gradient returns the gradient of the examples' mean cross-entropy in
// evaluation mode, as a range with the layout of the model's weights, and that
// mean. Every label must be below num_labels.
func (m *Model) Gradient(ctx context.Context, device Device, examples []seq.Example) (gradient []float32,
	loss float64, err error) {
	for i, e := range examples {
		if err := m.Config.checkLabelled(e); err != nil {
			return nil, 0, fmt.Errorf("example %d: %w", i, err)
		}
	}
	if len(examples) == 0 {
		return nil, 0, fmt.Errorf("no examples, at least 1 was expected")
	}
	e, err := newEngine(m.Config, m.Weights, device)
	if err != nil {
		return nil, 0, err
	}
	defer e.close()
	a, err := newAccumulator(e, device.Slots())
	if err != nil {
		return nil, 0, err
	}
	gradient = make([]float32, m.Parameters.Words)
	for scale := (lossScale{}).on(e.device); ; scale = scale.after(true) {
		a.scale = scale.of()
		b, err := a.run(ctx, examples, drawing{mode: evaluateMode, seed: m.Config.SamplerSeed})
		if err != nil {
			return nil, 0, err
		}
		if err := b.gradient.Read(0, tensor.Bits(gradient)); err != nil {
			return nil, 0, err
		}
		a.blocks.release(b.gradient)
		if !finite(gradient) && scale.mayHalve() {
			continue
		}
		for i := range gradient {
			gradient[i] /= float32(float64(b.divisor) * a.scale)
		}
		for _, v := range b.loss {
			loss += float64(v)
		}
		return gradient, loss / float64(b.divisor), nil
	}
}
