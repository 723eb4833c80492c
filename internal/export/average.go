package export

import "github.com/sftseq/sftseq/internal/onnx"

// averageChunk is the number of tokens in a chunk of a moving average. The size of the matrices is
// proportional to the square of this number, and the number of steps of the recurrence to its inverse.
const averageChunk = 32

// movingAverage returns the weighted sums of a layer's moving averages of x, [length, hidden].
//
// The tokens are divided into chunks. Within a chunk, a matrix for each channel computes the weighted
// sums. The averages at the ends of a chunk represent all tokens outside the chunk. A recurrence over
// the chunks computes them, because a recurrence over all tokens would be slow.
func (s *sequence) movingAverage(name string, x onnx.Tensor) onnx.Tensor {
	hidden, averages := int64(s.config.HiddenSize), int64(s.config.MovingAverages)
	size := s.Ints(averageChunk)
	chunks := s.Div(s.Add(s.length, s.Ints(averageChunk-1)), size)
	padding := s.Expand(s.Float(0), s.Concat(0, s.Sub(s.Mul(chunks, size), s.length), s.Ints(hidden)))
	x = s.Transpose(s.Reshape(s.Concat(0, x, padding), -1, averageChunk, hidden), 2, 0, 1) // [hidden, chunks, tokens]

	decays := s.Split(s.weight(name+"decay"), 0, averages, averages)
	gains := s.Split(s.weight(name+"gain"), 0, averages, averages)
	sum := s.weight(name + "bias")
	for i, backward := range []bool{false, true} {
		sum = s.Add(sum, s.averages(x, decays[i], gains[i], backward))
	}
	return s.Slice(sum, s.Ints(0), s.length)
}

// averages returns the weighted sums of the averages in one direction, [padded length, hidden].
func (s *sequence) averages(x, decay, gain onnx.Tensor, backward bool) onnx.Tensor {
	powers, rest := s.powers(decay)
	weight := s.Mul(gain, rest) // an average is (1 − a)·Σ a^lag·x
	zero := s.Expand(s.Float(0), s.Ints(1, int64(s.config.HiddenSize)))
	kernel := s.Concat(0, s.Squeeze(s.ReduceSum(s.Mul(powers, weight), 1), 1), zero)
	const noLag = averageChunk + 1 // row of zeros

	position := func(token int) int { // in the direction of the averages
		if backward {
			return averageChunk - 1 - token
		}
		return token
	}
	var lags, toEnd, fromStart []int64
	for from := range averageChunk {
		toEnd = append(toEnd, int64(averageChunk-1-position(from)))
		fromStart = append(fromStart, int64(position(from)+1))
		for to := range averageChunk {
			lag := position(to) - position(from)
			if lag < 0 {
				lag = noLag
			}
			lags = append(lags, int64(lag))
		}
	}
	matrix := s.Transpose(s.Gather(kernel, s.Reshape(s.Ints(lags...), averageChunk, averageChunk)), 2, 0, 1)
	near := s.MatMul(x, matrix)

	added := s.MatMul(x, s.Transpose(s.Gather(powers, s.Ints(toEnd...)), 2, 0, 1)) // [hidden, chunks, averages]
	factor := s.Squeeze(s.Gather(powers, s.Ints(averageChunk)), 0)
	states := s.Recurrence(s.Mul(factor, s.Float(0)), s.Transpose(added, 1, 2, 0), backward,
		func(state, added onnx.Tensor) (next, out onnx.Tensor) {
			return s.Add(s.Mul(state, factor), added), s.Mul(state, weight)
		})
	far := s.MatMul(s.Transpose(states, 2, 0, 1), s.Transpose(s.Gather(powers, s.Ints(fromStart...)), 2, 1, 0))
	return s.Reshape(s.Transpose(s.Add(near, far), 1, 2, 0), -1, int64(s.config.HiddenSize))
}

// powers returns a^0 … a^averageChunk, [powers, averages, hidden], and 1 − a, with a = sigmoid(decay).
// It computes them in float64, because a may be close to 1.
func (s *sequence) powers(decay onnx.Tensor) (powers, rest onnx.Tensor) {
	e := s.Exp(s.Neg(s.Cast(decay, onnx.Float64)))
	inverse := s.Add(s.Doubles(1), e) // 1/a
	exponents := s.Neg(s.Cast(s.Range(s.Int(0), s.Int(averageChunk+1)), onnx.Float64))
	powers = s.Exp(s.Mul(s.Reshape(exponents, -1, 1, 1), s.Log(inverse)))
	return s.Cast(powers, onnx.Float32), s.Cast(s.Div(e, inverse), onnx.Float32)
}
