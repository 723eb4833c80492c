package export

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sftseq/sftseq/internal/onnx"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
)

// featured reads features and, if edges are the relation, edges. It returns the projected features,
// [length, hidden].
func (s *sequence) featured() onnx.Tensor {
	c := s.config
	all := s.Input(inputFeatures, onnx.Float32, "For each token: "+strings.Join(c.FeatureNames, ", ")+".",
		onnx.Named(dimLength), onnx.Size(len(c.FeatureNames)))
	x := s.read(all)
	s.measure(x)
	x = s.finite("token_is_accepted/", x, s.length, len(c.FeatureNames))
	switch c.Relative {
	case config.SinusoidRelation:
		s.relation = s.sinusoid()
	case config.DistanceRelation:
		columns := s.Split(x, 1, slices.Repeat([]int64{1}, len(c.FeatureNames))...)
		r := distances{sequence: s}
		for _, i := range seq.Points(c.FeatureNames) {
			r.columns = append(r.columns, columns[i])
		}
		s.relation = r
	case config.EdgeRelation:
		s.relation = s.edges(s.Slice(s.Shape(all), s.Ints(0), s.Ints(1)))
	}
	if c.Input == config.OnesInput {
		x = s.Expand(s.Float(1), s.Concat(0, s.length, s.Ints(1)))
	} else {
		x = s.standardised(x)
	}
	return s.linear("input", x)
}

// standardised returns the features minus their means and divided by their deviations, or unchanged
// if the configuration has no scales.
func (s *sequence) standardised(x onnx.Tensor) onnx.Tensor {
	var means, deviations []float64
	for _, n := range s.config.FeatureScales {
		means, deviations = append(means, n.Mean), append(deviations, cmp.Or(n.Deviation, 1))
	}
	if means == nil {
		return x
	}
	return s.Cast(s.Div(s.Sub(s.Cast(x, onnx.Float64), s.Doubles(means...)), s.Doubles(deviations...)), onnx.Float32)
}

// finite returns the matrix x. For a row with a number that is not finite it emits an index out of
// bounds.
func (s *sequence) finite(scope string, x, rows onnx.Tensor, columns int) onnx.Tensor {
	numbers := s.ReduceSum(s.Cast(s.Less(s.Abs(x), s.Float(math.Inf(1))), onnx.Float32), 1)
	all := s.Equal(s.Squeeze(numbers, 1), s.Float(float64(columns)))
	position := s.Range(s.Int(0), s.Squeeze(rows, 0))
	return s.within(scope, func() onnx.Tensor { return s.Gather(x, s.Where(all, position, rows)) })
}

// edges is the relation of nodes: the summed features of the edges from one node to another, and
// the number of these edges; zeros without an edge.
type edges struct {
	*sequence
	source, target onnx.Tensor // int64 [edges], sorted by source
	features       onnx.Tensor // float64 [edges, names + 1]
}

// edges reads edges between the given number of tokens and drops edges outside the input window.
// For an end that is not a token it emits an index out of bounds.
func (s *sequence) edges(tokens onnx.Tensor) edges {
	names := s.config.EdgeFeatureNames
	ends := s.Input(inputEdges, onnx.Int64, "For each edge, the positions of its source and its target.",
		onnx.Named(dimEdges), onnx.Size(2))
	const scope = "edge_is_accepted/"
	negative := s.Less(ends, s.Int(0)) // ONNX counts negative indices from the end
	ends = s.within(scope, func() onnx.Tensor {
		return s.Gather(s.Range(s.Int(0), s.Squeeze(tokens, 0)), s.Where(negative, tokens, ends))
	})
	count := s.Slice(s.Shape(ends), s.Ints(0), s.Ints(1))
	features := s.Expand(s.Doubles(1), s.Concat(0, count, s.Ints(1)))
	if n := len(names); n > 0 {
		given := s.Input(inputEdgeFeatures, onnx.Float32, fmt.Sprintf("For each edge: %s.", strings.Join(names, ", ")),
			onnx.Named(dimEdges), onnx.Size(n))
		features = s.Concat(1, s.Cast(s.finite(scope, given, count, n), onnx.Float64), features)
	}
	parts := s.Split(ends, 1, 1, 1)
	source, target := s.Squeeze(parts[0], 1), s.Squeeze(parts[1], 1)
	take := func(at onnx.Tensor) {
		source, target, features = s.Gather(source, at), s.Gather(target, at), s.Gather(features, at)
	}
	if s.config.TruncatesAt() > 0 {
		take(s.NonZero(s.Less(s.Max(source, target), s.length)))
	}
	_, order := s.TopK(source, s.Shape(source), false)
	take(order)
	return edges{s, source, target, features}
}

func (r edges) among(sample sampled) func(onnx.Tensor) func(string) (top, partner onnx.Tensor) {
	// place maps each token to the index of its key, or to the number of keys if it is not a key:
	// [length].
	place := func(at onnx.Tensor) onnx.Tensor {
		return r.ScatterElements(r.Expand(sample.keys, r.length), at, r.Range(r.Int(0), r.Squeeze(sample.keys, 0)))
	}
	top, partner := place(sample.top), place(sample.partner)
	return func(positions onnx.Tensor) func(string) (_, _ onnx.Tensor) {
		first := r.Slice(positions, r.Ints(0), r.Ints(1))
		behind := r.Add(r.ReduceMax(positions, 0), r.Int(1))
		before := func(position onnx.Tensor) onnx.Tensor { // number of edges whose source is less than position
			return r.ReduceSum(r.Cast(r.Less(r.source, position), onnx.Int64), 0)
		}
		from, to := before(first), before(behind)
		source, target, features := r.Slice(r.source, from, to), r.Slice(r.target, from, to),
			r.Slice(r.features, from, to)
		row := r.Mul(r.Sub(source, first), sample.keys)
		count := r.Mul(r.Shape(positions), sample.keys)
		width := r.Ints(int64(len(r.config.EdgeFeatureNames) + 1))
		zeros := r.Expand(r.Doubles(0), r.Concat(0, r.Add(count, r.Int(1)), width))
		pairs := func(place onnx.Tensor) onnx.Tensor {
			key := r.Gather(place, target)
			// An edge to a token that is not a key is added to an extra row behind the pairs.
			at := r.Where(r.Less(key, sample.keys), r.Add(row, key), count)
			sums := r.ScatterSums(zeros, r.Expand(r.Unsqueeze(at, 1), r.Shape(features)), features)
			sums = r.Min(r.Max(r.Slice(sums, r.Ints(0), count), r.Doubles(-math.MaxFloat32)),
				r.Doubles(math.MaxFloat32))
			return r.Transpose(r.Cast(sums, onnx.Float32), 1, 0)
		}
		return r.weighed(sample, positions, pairs(top), pairs(partner))
	}
}
