package model

import (
	"github.com/sftseq/sftseq/internal/tensor"
)

// sampling is a learned sample of the tokens of each sequence, for a layer, a pooling or exports.
type sampling struct {
	rows       tensor.Axis   // axis of the sampled rows
	maxDuplets int           // maximum number of duplets per sequence
	layer      int           // layer number in the counters of random numbers
	batch      *tensor.Batch // batch whose SampleOffset belongs to the sampled rows
	// keepsTokens disables drop_token, so that the number of sampled rows depends only on the length.
	keepsTokens bool

	sample tensor.Sample
	duplet tensor.Duplet
}

// sampler records the scores of the tokens x, their sample, and the mixed rows of the duplets.
func (m *emitter) sampler(name string, s *sampling, x *tensor.Tensor) {
	n := m.capacity(s.rows)
	s.sample = tensor.Sample{
		Noised: m.tokens(name+"sampler.noised", 1), Top: m.TempInts(name+"top", s.rows, n, 1),
		Partner: m.TempInts(name+"partner", s.rows, n, 1),
		Count:   m.TempInts(name+"count", tensor.Sequences, m.shape.Sequences),
		Score:   m.rowDot(name+"sampler", x), Batch: s.batch, K: s.maxDuplets, Layer: uint32(s.layer),
		Noise: m.mode == TrainMode || m.config.SamplerNoise == "always",
	}
	if m.mode == TrainMode && !s.keepsTokens {
		s.sample.DropRate = float32(m.config.DropToken)
	}
	m.Launch(s.sample)
	s.duplet = tensor.Duplet{Y: m.Temp(name+"duplet", s.rows, n, m.config.HiddenSize),
		P: m.Temp(name+"p", s.rows, n, 1), X: x,
		Noised: s.sample.Noised, Top: s.sample.Top, Partner: s.sample.Partner, Count: s.sample.Count, Batch: s.batch}
	m.Launch(s.duplet)
}

// samplerBackward adds to the gradient dx of the tokens. dduplet is the gradient of the duplets; dp
// is an additional gradient of their weights, or nil.
func (m *emitter) samplerBackward(name string, s *sampling, dx, dduplet, dp *tensor.Tensor) {
	dscore := m.like(s.sample.Score, name+"score.grad")
	m.Launch(tensor.DupletBackward{DX: dx, DScore: dscore, DY: dduplet, DP: dp, P: s.duplet.P,
		X: s.duplet.X, Noised: s.sample.Noised,
		Top: s.sample.Top, Partner: s.sample.Partner, Count: s.sample.Count, Batch: s.batch})
	m.rowDotBackward(name+"sampler", dx, dscore, s.duplet.X)
}
