package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"

	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/internal/model"
)

// stepper performs training steps: gradient, clipping and update.
type stepper struct {
	model     *sft.Model
	settings  Settings
	engine    *model.Engine
	gradients *accumulator
	optimizer *optimizer
}

func newStepper(m *sft.Model, s Settings, e *model.Engine, slots int) (stepper, error) {
	if m.Config.HasFeatures() && (s.TokenDeletion > 0 || s.TokenReplacement > 0) {
		return stepper{}, errors.New("token_deletion and token_replacement must be 0 for tokens with features")
	}
	if err := s.checkPoints(m.Config); err != nil {
		return stepper{}, err
	}
	out := stepper{model: m, settings: s, engine: e}
	var err error
	if out.gradients, err = newAccumulator(e, slots); err != nil {
		return stepper{}, err
	}
	out.gradients.weight = s.ClassWeights
	out.optimizer, err = newOptimizer(e, s.WeightDecay)
	return out, err
}

// update trains on one batch. The random draws depend on step; t counts updates from 1. The gradient of
// the result is invalid: its memory is back in the pool. A gradient that is not finite is an error
// unless the loss scale can be halved.
func (s *stepper) update(ctx context.Context, examples []seq.Example, step, t int, rate float64,
	scale lossScale) (*batchGradient, error) {
	s.gradients.scale, s.optimizer.scale = scale.value(), scale.value()
	b, err := s.gradients.run(ctx, examples,
		model.Drawing{Mode: model.TrainMode, Seed: s.settings.Seed, Step: uint32(step)})
	if err != nil {
		return nil, err
	}
	defer s.gradients.blocks.release(b.gradient)
	if b.norm = math.NaN(); b.ngrams.Finite() {
		b.norm, err = s.optimizer.apply(ctx, b.gradient, b.divisor, t, rate, s.settings.MaxGradNorm)
		if err != nil {
			return nil, err
		}
	}
	if b.skipped = math.IsNaN(b.norm) || math.IsInf(b.norm, 0); b.skipped && !scale.mayHalve() {
		return nil, s.badGradient(b, examples, step)
	}
	if n := s.engine.NGrams; n != nil && !b.skipped && rate > 0 {
		n.Adagrad(b.ngrams, scale.value(), ngramRate*rate/s.settings.LearningRate, runtime.GOMAXPROCS(0))
	}
	return b, nil
}

// badGradient returns an error that names the first tensor whose gradient is not finite.
func (s *stepper) badGradient(b *batchGradient, examples []seq.Example, step int) error {
	e := &NonFiniteError{Step: step + 1, Tensor: "sum of squares of the gradient"}
	for _, x := range examples {
		e.Examples = append(e.Examples, x.Index)
	}
	for _, v := range b.loss {
		e.Loss += v / float32(len(examples))
	}
	if !b.ngrams.Finite() {
		e.Tensor = model.NGramWeight + ".grad"
	}
	words := make([]float32, s.model.Parameters.Words)
	if err := b.gradient.Read(0, tensor.Bits(words)); err != nil {
		return err
	}
	if name, found := s.model.Parameters.NonFinite(words); found {
		e.Tensor = name + ".grad"
	}
	return e
}

// optimizer holds AdamW's moments and the program of one update.
type optimizer struct {
	engine     *model.Engine
	update     tensor.Executable
	sumSquares *tensor.Tensor
	step       *tensor.Tensor
	mem        tensor.Binding
	scale      float64 // loss scale of the incoming gradients
}

func newOptimizer(e *model.Engine, weightDecay float64) (*optimizer, error) {
	o := &optimizer{engine: e, scale: 1}
	p := tensor.NewProgram()
	o.step = p.Input("step", tensor.Fixed, tensor.AdamWStepWords)
	o.sumSquares = p.Temp("sumsquares", tensor.Fixed, 1)
	p.Keep(o.sumSquares)
	words, decayed := e.Params.Words, e.Params.Decayed
	p.Segment("norm")
	p.Launch(tensor.SumSquares{Y: o.sumSquares, X: tensor.At(tensor.Gradients, 0, "gradients", words)})
	p.Segment("update")
	for _, part := range []struct {
		from, to int
		decay    float64
	}{{0, decayed, weightDecay}, {decayed, words, 0}} {
		at := func(s tensor.Region, name string) *tensor.Tensor {
			return tensor.At(s, part.from, name, part.to-part.from)
		}
		p.Launch(tensor.AdamW{W: at(tensor.Weights, "weights"), M: at(tensor.Moment1, "moment1"),
			V: at(tensor.Moment2, "moment2"),
			G: at(tensor.Gradients, "gradients"), SumSquares: o.sumSquares, Step: o.step,
			Decay: float32(part.decay), Beta1: beta1, Beta2: beta2, Eps: adamEps})
	}
	x, err := e.Device.Prepare(p.Finish())
	if err != nil {
		return nil, err
	}
	o.update = x
	o.mem[tensor.Weights] = e.Weights
	for s, n := range map[tensor.Region]int{tensor.Arena: p.Words(tensor.Arena), tensor.Inputs: p.Words(tensor.Inputs),
		tensor.Moment1: words, tensor.Moment2: words} {
		if o.mem[s], err = e.Allocate(n); err != nil {
			return nil, fmt.Errorf("memory for the optimizer: %w", err)
		}
	}
	return o, nil
}

// apply updates the weights. gradients holds a sum, multiplied by the loss scale. examples is the divisor
// for the mean, and t counts updates from 1. apply returns the norm of the mean gradient before
// clipping. If the norm is not finite, no weight changes.
func (o *optimizer) apply(ctx context.Context, gradients tensor.Memory, examples, t int, learningRate,
	maxNorm float64) (float64, error) {
	s := tensor.AdamWStep{
		GradientScale: float32(1 / (float64(examples) * o.scale)), MaxNorm: float32(maxNorm),
		LearningRate: float32(learningRate),
		Correction1:  float32(1 / (1 - math.Pow(beta1, float64(t)))),
		Correction2:  float32(1 / (1 - math.Pow(beta2, float64(t)))),
	}
	mem := o.mem
	mem[tensor.Gradients] = gradients
	if err := tensor.Upload(mem[tensor.Inputs], o.step, s.Words()); err != nil {
		return 0, err
	}
	// A cancelled context must not leave half of the weights changed.
	if err := o.update.Run(context.WithoutCancel(ctx), mem, 0, 2); err != nil {
		return 0, err
	}
	var sum [1]float32
	if err := tensor.Download(mem[tensor.Arena], o.sumSquares, sum[:]); err != nil {
		return 0, err
	}
	return math.Sqrt(float64(sum[0])) / (float64(examples) * o.scale), nil
}

// store copies the moments to a checkpoint.
func (o *optimizer) store(c *Checkpoint) error {
	c.moment1 = make([]float32, o.engine.Params.Words)
	c.moment2 = make([]float32, o.engine.Params.Words)
	if err := o.mem[tensor.Moment1].Read(0, tensor.Bits(c.moment1)); err != nil {
		return err
	}
	return o.mem[tensor.Moment2].Read(0, tensor.Bits(c.moment2))
}

// restore copies a checkpoint's moments to the device.
func (o *optimizer) restore(c *Checkpoint) error {
	if err := o.mem[tensor.Moment1].Write(0, tensor.Bits(c.moment1)); err != nil {
		return err
	}
	return o.mem[tensor.Moment2].Write(0, tensor.Bits(c.moment2))
}
