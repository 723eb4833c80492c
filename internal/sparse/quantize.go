package sparse

import (
	"fmt"
	"math"
)

// Bounds of the exponents e for which every q·2^e is exactly representable as a float32.
const (
	minExponent = -149
	maxExponent = 121
)

// Quantize returns rows of finite weights as 8-bit integers q with an exponent e for each row: a weight is
// about q·2^e, |q| ≤ 127. e is the smallest exponent from −149 to 121 for which no weight of the row exceeds
// 127·2^e in absolute value; for a row of zeros it is 0. Weights beyond ±127·2^121 become ±127·2^121. A word
// has four integers, the first in its low bits; width is a multiple of 4. Quantizing dequantized weights
// returns the same words and exponents.
func Quantize(weights []float32, width int) (words, exponents []int32) {
	words, exponents = make([]int32, len(weights)/4), make([]int32, len(weights)/width)
	for r := range exponents {
		row := weights[r*width : (r+1)*width]
		e := exponentOf(row)
		exponents[r] = int32(e)
		for i, w := range row {
			q := int8(max(-127, min(127, math.RoundToEven(math.Ldexp(float64(w), -e)))))
			words[(r*width+i)/4] |= int32(uint32(uint8(q)) << (8 * (i % 4)))
		}
	}
	return words, exponents
}

// exponentOf returns the exponent of a row.
func exponentOf(row []float32) int {
	largest := 0.0
	for _, w := range row {
		largest = max(largest, math.Abs(float64(w)))
	}
	fraction, e := math.Frexp(largest / 127) // largest / 127 = fraction · 2^e
	if fraction == 0.5 {
		e--
	}
	return max(minExponent, min(maxExponent, e))
}

// Dequantize returns the weights q·2^e of the words and exponents that [Quantize] returns. An exponent out of
// range is an error, and so is an integer of −128.
func Dequantize(words, exponents []int32, width int) ([]float32, error) {
	out := make([]float32, 4*len(words))
	for r, e := range exponents {
		if e < minExponent || e > maxExponent {
			return nil, fmt.Errorf("expected exponents from %d to %d, found %d at index %d", minExponent, maxExponent,
				e, r)
		}
		for i := r * width; i < (r+1)*width; i++ {
			q := int8(uint32(words[i/4]) >> (8 * (i % 4)))
			if q < -127 {
				return nil, fmt.Errorf("expected integers from -127 to 127, found %d in row %d", q, r)
			}
			out[i] = float32(math.Ldexp(float64(q), int(e)))
		}
	}
	return out, nil
}
