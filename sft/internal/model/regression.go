package model

import (
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
)

// regression predicts numbers of a sequence, with u its pooled row:
//
//	logits     = out(u)
//	prediction = mean + deviation·logits
//	loss       = Σ_c h(logits_c − (y_c − mean_c) / deviation_c)
//
// divided by the numbers of the batch, with h [config.SmoothL1] (Girshick, "Fast R-CNN", ICCV 2015) or
// [config.Squared].
type regression struct{ ofRows }

// standardiseAs has the last layer predict the same numbers in the units of the data as it did
// where they were standardised by the means μ and deviations σ of another model: with the own μ'
// and σ', its rows become w·σ/σ' and its biases (b·σ + μ − μ')/σ'.
func standardiseAs(c *config.Config, params *config.Parameters, weights []float32, other *config.Config) {
	slice := func(name string) []float32 {
		p, _ := params.Lookup(name)
		return params.Slice(weights, p)
	}
	weight, bias := slice("head.out.weight"), slice("head.out.bias")
	width := len(weight) / len(bias)
	for i, to := range c.Numbers {
		from := other.Numbers[i]
		if from.Mean == to.Mean && from.Divisor() == to.Divisor() {
			continue // with the same bits
		}
		bias[i] = float32((float64(bias[i])*from.Divisor() + from.Mean - to.Mean) / to.Divisor())
		row, scale := weight[i*width:(i+1)*width], from.Divisor()/to.Divisor()
		for j, w := range row {
			row[j] = float32(float64(w) * scale)
		}
	}
}

func (regression) parameters(c *config.Config) []parameter { return classification{}.parameters(c) }

func (regression) readout(m *emitter, p *recordedPass) readout { return m.pooled(p) }

func (regression) head(m *emitter) head { return &linearHead{emitter: m} }

func (regression) loss(m *emitter, p *recordedPass) *tensor.Tensor {
	axis, rows, n := p.Logits.Rows, p.Logits.Shape[0], m.config.NumLabels
	p.Target = m.Input("target", axis, rows, n)
	p.Scale = m.Input("loss.scale", tensor.Fixed, n)
	p.Loss = m.Temp("loss", axis, rows)
	dlogits := m.like(p.Logits, "logits.grad")
	m.Launch(tensor.Huber{Loss: p.Loss, DLogits: dlogits, Logits: p.Logits, Target: p.Target, Scale: p.Scale,
		Delta: float32(m.config.HuberDelta())})
	return dlogits
}

func (regression) Divisor(c *config.Config, batch []seq.Example, _ Drawing) int {
	return len(batch) * c.NumLabels
}

func (regression) evaluation() PassMode { return InferMode }

func (regression) pack(p *packed, c *config.Config, e seq.Example, d Drawing) []int32 {
	if d.Mode.loss() {
		p.target = append(p.target, c.Standardised(e)...)
	}
	return classification{}.pack(p, c, e, d)
}

// adopt standardises as the source does, whose head predicts in its units.
func (regression) adopt(c *config.Config, p *config.Parameters, weights []float32, source *config.Config) {
	standardiseAs(c, p, weights, source)
}
