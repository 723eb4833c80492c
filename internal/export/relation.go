package export

import (
	"math"

	"github.com/sftseq/sftseq/internal/onnx"
)

// relation is the relative encoding: features of each pair of a query and a sampled token.
type relation interface {
	// among prepares the relations between queries and the tokens of a sample. It returns a function of the
	// positions of queries, which returns a function of the name prefix of a weight and its bias. That
	// inner function returns a linear form per head, [heads, queries, keys], once for queries and top
	// tokens, and once for queries and partners.
	among(sample sampled) func(positions onnx.Tensor) func(name string) (top, partner onnx.Tensor)
}

// relative returns a function for a·Rmul + Radd, where a are the scores between the queries at the
// given positions and the duplets. Without a relation the function returns a.
func (s *sequence) relative(name string, sample sampled) func(a, positions onnx.Tensor) onnx.Tensor {
	if s.relation == nil {
		return func(a, _ onnx.Tensor) onnx.Tensor { return a }
	}
	among := s.relation.among(sample)
	return func(a, positions onnx.Tensor) onnx.Tensor {
		form := among(positions)
		top, partner := form(name + "attn.rel_mul")
		factor := s.mix(sample.p, s.Softplus(top), s.Softplus(partner))
		top, partner = form(name + "attn.rel_add")
		return s.Add(s.Mul(a, factor), s.mix(sample.p, top, partner))
	}
}

// sinusoid is the relation of positions in a sequence.
type sinusoid struct {
	*sequence
	sines onnx.Tensor // [length, sinusoid_dim]
}

// sinusoid returns the encoding of positions, S[i, 2c] = sin(i·ω_c) and S[i, 2c+1] = cos(i·ω_c),
// with phases in float64. The graph computes a cosine as a shifted sine, because ONNX Runtime has no
// float64 cosine.
func (s *sequence) sinusoid() sinusoid {
	c := s.config
	frequency, shift := make([]float64, c.SinusoidDim), make([]float64, c.SinusoidDim)
	for j := range frequency {
		frequency[j] = math.Pow(c.SinusoidBase, -float64(j/2*2)/float64(c.SinusoidDim))
		shift[j] = float64(j%2) * math.Pi / 2
	}
	phase := s.Mul(s.Cast(s.Unsqueeze(s.position, 1), onnx.Float64), s.Doubles(frequency...))
	return sinusoid{s, s.Cast(s.Sin(s.Add(phase, s.Doubles(shift...))), onnx.Float32)}
}

func (r sinusoid) among(sample sampled) func(onnx.Tensor) func(string) (top, partner onnx.Tensor) {
	heads, dim := int64(r.config.NumHeads), int64(r.config.SinusoidDim)
	top, partner := r.Transpose(r.Gather(r.sines, sample.top), 1, 0),
		r.Transpose(r.Gather(r.sines, sample.partner), 1, 0)
	return func(positions onnx.Tensor) func(string) (_, _ onnx.Tensor) {
		sines := r.Gather(r.sines, positions)
		return func(name string) (_, _ onnx.Tensor) {
			// Σ_c W[head, c]·S[i, c]·S[j, c] + b[head]; top and partner contain S[j, c].
			weighted := r.Mul(sines, r.Reshape(r.weight(name+".weight"), heads, 1, dim))
			bias := r.Reshape(r.weight(name+".bias"), heads, 1, 1)
			return r.Add(r.MatMul(weighted, top), bias), r.Add(r.MatMul(weighted, partner), bias)
		}
	}
}

// weighed returns a function for the linear forms of the pair features top and partner, each
// [features, queries·keys].
func (s *sequence) weighed(sample sampled, positions, top, partner onnx.Tensor) func(name string) (_, _ onnx.Tensor) {
	shape := s.Concat(0, s.Ints(int64(s.config.NumHeads)), s.Shape(positions), sample.keys)
	return func(name string) (_, _ onnx.Tensor) {
		form := func(pairs onnx.Tensor) onnx.Tensor {
			return s.ReshapeTo(s.Add(s.MatMul(s.weight(name+".weight"), pairs), s.Unsqueeze(s.weight(name+".bias"), 1)),
				shape)
		}
		return form(top), form(partner)
	}
}

// distances is the relation of points: the squared distance of two points, and the dot product of
// their normals if they have normals.
type distances struct {
	*sequence
	columns []onnx.Tensor // [length, 1] each: positions, then normals
}

func (r distances) among(sample sampled) func(onnx.Tensor) func(string) (top, partner onnx.Tensor) {
	keys := func(at onnx.Tensor) (columns []onnx.Tensor) {
		for _, column := range r.columns {
			columns = append(columns, r.Reshape(r.Gather(column, at), 1, -1))
		}
		return columns
	}
	top, partner := keys(sample.top), keys(sample.partner)
	return func(positions onnx.Tensor) func(string) (_, _ onnx.Tensor) {
		pairs := func(keys []onnx.Tensor) onnx.Tensor {
			var features []onnx.Tensor
			for i, column := range r.columns {
				x, y := r.Gather(column, positions), keys[i]
				product := r.Mul(x, y)
				if i < 3 {
					difference := r.Sub(x, y)
					product = r.Mul(difference, difference)
				}
				product = r.Reshape(product, 1, -1)
				if i%3 > 0 {
					features[i/3] = r.Add(features[i/3], product)
				} else {
					features = append(features, product)
				}
			}
			return r.Concat(0, features...)
		}
		return r.weighed(sample, positions, pairs(top), pairs(partner))
	}
}
