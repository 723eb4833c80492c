package sparse

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// TestQuantize checks that 8-bit weights differ from the originals by at most half of their row's unit
// 2^exponent, that the unit is the smallest possible, and that quantizing the dequantized weights changes nothing.
// Weights beyond the largest exponent are clipped. Dequantize refuses invalid integers and exponents.
func TestQuantize(t *testing.T) {
	const width = 8
	random := rand.New(rand.NewPCG(1, 2))
	weights := make([]float32, 40*width)
	for i := range weights {
		weights[i] = float32(random.NormFloat64() * math.Exp2(float64(i/width-20)))
	}
	clear(weights[:width])
	copy(weights[width:], []float32{127, -127, 1, 0, 0.5, 0.75, -3, 2}) // the unit is exactly 1
	copy(weights[2*width:], []float32{math.SmallestNonzeroFloat32, 0, 0, 0, 0, 0, 0, 0})
	copy(weights[3*width:], []float32{1e38, -1e38, 1, 0, 0, 0, 0, 0})
	words, exponents := Quantize(weights, width)
	got := must.Get(Dequantize(words, exponents, width))(t)
	for i, w := range weights {
		row := weights[i/width*width : (i/width+1)*width]
		largest := 0.0
		for _, w := range row {
			largest = max(largest, math.Abs(float64(w)))
		}
		unit := math.Ldexp(1, int(exponents[i/width]))
		if math.Abs(float64(got[i])-float64(w)) > unit/2 {
			t.Fatalf("weight %d: got %v, want %v ± %v", i, got[i], w, unit/2)
		}
		smallest := largest == 0 || unit == math.SmallestNonzeroFloat32 || largest > 127*unit/2
		if largest > 127*unit || !smallest {
			t.Fatalf("row %d: got the unit %v for the largest weight %v, want the smallest power of two ≥ weight/127",
				i/width, unit, largest)
		}
	}
	if got[width] != 127 || got[width+4] != 0 || got[width+5] != 1 || got[2*width] != math.SmallestNonzeroFloat32 {
		t.Errorf("got rows %v, want 127, 0 and 1 at indices 0, 4 and 5, and the smallest float32 at index %d",
			got[width:3*width], width)
	}
	words2, exponents2 := Quantize(got, width)
	if !slices.Equal(words2, words) || !slices.Equal(exponents2, exponents) {
		t.Errorf("quantizing the dequantized weights: got words %v and exponents %v; want %v and %v as before",
			words2, exponents2, words, exponents)
	}
	words, exponents = Quantize([]float32{math.MaxFloat32, -math.MaxFloat32, 0, 0}, 4)
	extreme := must.Get(Dequantize(words, exponents, 4))(t)
	if want := float32(math.Ldexp(127, maxExponent)); extreme[0] != want || extreme[1] != -want {
		t.Errorf("the largest float32 becomes %v, want ±%v", extreme[:2], want)
	}
	words, exponents = Quantize([]float32{127, -127, 1, 0}, 4) // the bytes of a file
	if !slices.Equal(words, []int32{0x0001817f}) || !slices.Equal(exponents, []int32{0}) {
		t.Errorf("got the word %#x and the exponents %v, want 0x1817f and 0", words, exponents)
	}
	must.Fail(t, "expected integers from -127 to 127, found -128 in row 1")(
		Dequantize([]int32{0, 0x80}, []int32{0, 0}, 4))
	for _, e := range []int32{minExponent - 1, maxExponent + 1} {
		must.Fail(t, "expected exponents from -149 to 121, found")(Dequantize(words, []int32{e}, 4))
	}
}
