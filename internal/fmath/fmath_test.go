package fmath

import (
	"math"
	"testing"
)

// errorBound is the documented maximum error of a function, compared with float64.
type errorBound struct {
	name     string
	got      func(float32) float32
	want     func(float64) float64
	low      float32
	high     float32
	scale    func(x, want float64) float64 // the error is |got − want| / scale
	maxError float64
	monotone bool // whether the function never decreases by more than rounding
}

func relative(_, want float64) float64 { return math.Abs(want) }
func absolute(_, _ float64) float64    { return 1 }
func mixed(_, want float64) float64    { return math.Max(1, math.Abs(want)) }
func argument(x, _ float64) float64    { return math.Max(1, math.Abs(x)) }

func softplus(x float64) float64 {
	return math.Max(x, 0) + math.Log1p(math.Exp(-math.Abs(x)))
}

func sigmoid(x float64) float64 {
	return math.Exp(math.Min(x, 0)) / (1 + math.Exp(-math.Abs(x)))
}

func logSoftplus(x float64) float64 {
	if x < -700 {
		return x // differs from the true value by eˣ/2
	}
	return math.Log(softplus(x))
}

func rho(x float64) float64 {
	if x < -700 {
		return 1
	}
	return sigmoid(x) / softplus(x)
}

func cdf(x float64) float64  { return 0.5 * math.Erfc(-x/math.Sqrt2) }
func gelu(x float64) float64 { return x * cdf(x) }
func geluGrad(x float64) float64 {
	return cdf(x) + x*math.Exp(-x*x/2)/math.Sqrt(2*math.Pi)
}

const largest = math.MaxFloat32

var errorBounds = []errorBound{
	{"Exp", Exp, math.Exp, expLow, expHigh, relative, 1.1e-7, true},
	{"Log", Log, math.Log, math.SmallestNonzeroFloat32, largest, relative, 1.2e-7, true},
	{"Softplus", Softplus, softplus, expLow, largest, relative, 2.5e-7, true},
	{"Sigmoid", Sigmoid, sigmoid, expLow, largest, relative, 2e-7, true},
	{"LogSoftplus", LogSoftplus, logSoftplus, -largest, largest, mixed, 2.5e-7, true},
	{"Rho", Rho, rho, -largest, largest, relative, 3.5e-7, false},
	{"GELU", GELU, gelu, -largest, largest, argument, 2e-7, false},
	{"GELUGrad", GELUGrad, geluGrad, -largest, largest, absolute, 3e-7, false},
}

// TestErrors checks the maximum error of each function on float32 bit patterns at regular steps, and that
// monotone functions do not decrease by more than rounding.
func TestErrors(t *testing.T) {
	for _, c := range errorBounds {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			worst, at := 0.0, float32(0)
			previous := float32(math.NaN())
			visit(c.low, c.high, func(x float32) {
				got, want := c.got(x), c.want(float64(x))
				err := math.Abs(float64(got) - want)
				if err > 0 {
					err /= c.scale(float64(x), want)
				}
				if !(err <= worst) {
					worst, at = err, x
				}
				if slack := 2 * c.maxError * c.scale(float64(x), want); c.monotone &&
					float64(got) < float64(previous)-slack {
					t.Errorf("%s(%v) = %v, less than %v for the previous argument", c.name, x, got, previous)
				}
				previous = got
			})
			t.Logf("worst error %.3g at %v", worst, at)
			if !(worst <= c.maxError) {
				t.Errorf("got error %.3g at %v: got %v, want %v within %.3g", worst, at, c.got(at),
					c.want(float64(at)), c.maxError)
			}
		})
	}
}

// visit calls f with ascending numbers in [low, high], including both ends.
func visit(low, high float32, f func(float32)) {
	const stride = 4099 // every 4099th of about 2³² bit patterns
	// order maps bits to integers in the order of the numbers. It is its own inverse.
	order := func(b int32) int32 { return b ^ b>>31&math.MaxInt32 }
	from, to := order(int32(math.Float32bits(low))), order(int32(math.Float32bits(high)))
	for i := int64(from); i < int64(to); i += stride {
		f(math.Float32frombits(uint32(order(int32(i)))))
	}
	f(high)
}

// TestUsualArguments checks the maximum errors at small steps between −32 and 32, the range of
// activations.
func TestUsualArguments(t *testing.T) {
	for _, c := range errorBounds {
		worst := 0.0
		for i := -(1 << 17); i <= 1<<17; i++ {
			x := float32(i) / (1 << 12)
			if x < c.low {
				continue
			}
			want := c.want(float64(x))
			err := math.Abs(float64(c.got(x)) - want)
			if err > 0 {
				err /= c.scale(float64(x), want)
			}
			worst = math.Max(worst, err)
		}
		if !(worst <= c.maxError) {
			t.Errorf("%s: got error %.3g, want at most %.3g", c.name, worst, c.maxError)
		}
	}
}

// TestGumbel checks the maximum error for uniform numbers (n + ½)·2⁻²³ at both ends and in between.
func TestGumbel(t *testing.T) {
	worst := 0.0
	check := func(n int) {
		u := (float32(n) + 0.5) / (1 << 23)
		worst = math.Max(worst, math.Abs(float64(Gumbel(u))+math.Log(-math.Log(float64(u)))))
	}
	for n := 0; n < 10_000; n++ {
		check(n)
		check(1<<23 - 1 - n)
		check(3086006 - 5000 + n) // u near 1/e, where the outer logarithm crosses 0
	}
	for n := 0; n < 1<<23; n += 13 {
		check(n)
	}
	t.Logf("worst error %.3g", worst)
	if !(worst <= 6e-7) {
		t.Errorf("got error %.3g, want at most 6e-7", worst)
	}
}

// TestSpecialValues checks the functions at zeros, infinities, NaN and the ends of their ranges.
func TestSpecialValues(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		name    string
		f       func(float32) float32
		x, want float64
	}{
		{"Exp", Exp, 0, 1},
		{"Exp", Exp, inf, inf},
		{"Exp", Exp, 88.7229, inf},
		{"Exp", Exp, -inf, 0},
		{"Exp", Exp, -87.3366, 0},
		{"Exp", Exp, nan, nan},
		{"Log", Log, 0, -inf},
		{"Log", Log, math.Copysign(0, -1), -inf},
		{"Log", Log, 1, 0},
		{"Log", Log, -1, nan},
		{"Log", Log, -inf, nan},
		{"Log", Log, inf, inf},
		{"Log", Log, nan, nan},
		{"Softplus", Softplus, inf, inf},
		{"Softplus", Softplus, -inf, 0},
		{"Softplus", Softplus, nan, nan},
		{"Softplus", Softplus, 1e30, float64(float32(1e30))},
		{"Sigmoid", Sigmoid, 0, 0.5},
		{"Sigmoid", Sigmoid, inf, 1},
		{"Sigmoid", Sigmoid, -inf, 0},
		{"Sigmoid", Sigmoid, nan, nan},
		{"LogSoftplus", LogSoftplus, inf, inf},
		{"LogSoftplus", LogSoftplus, -inf, -inf},
		{"LogSoftplus", LogSoftplus, -1e30, float64(float32(-1e30))},
		{"LogSoftplus", LogSoftplus, nan, nan},
		{"Rho", Rho, inf, 0},
		{"Rho", Rho, -inf, 1},
		{"Rho", Rho, -100, 1},
		{"Rho", Rho, nan, nan},
		{"GELU", GELU, 0, 0},
		{"GELU", GELU, inf, inf},
		{"GELU", GELU, 1e30, float64(float32(1e30))},
		{"GELU", GELU, -1e30, 0},
		{"GELU", GELU, nan, nan},
		{"GELUGrad", GELUGrad, 1e30, 1},
		{"GELUGrad", GELUGrad, -1e30, 0},
		{"GELUGrad", GELUGrad, nan, nan},
	} {
		got := float64(c.f(float32(c.x)))
		if got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)) {
			t.Errorf("%s(%v) = %v, want %v", c.name, c.x, got, c.want)
		}
	}
}

// TestNaNPayloads checks that the functions return NaN for NaNs with different sign and payload bits.
func TestNaNPayloads(t *testing.T) {
	for _, bits := range []uint32{0x7fc00001, 0xffc00001, 0x7f800001, 0xffffffff} {
		x := math.Float32frombits(bits)
		for _, c := range errorBounds {
			if got := c.got(x); got == got {
				t.Errorf("%s(NaN %#x) = %v, want NaN", c.name, bits, got)
			}
		}
	}
}

// TestSoftplusSigmoidIsBoth checks that SoftplusSigmoid returns the same values as Softplus and Sigmoid.
func TestSoftplusSigmoidIsBoth(t *testing.T) {
	visit(-200, 200, func(x float32) {
		sp, sig := SoftplusSigmoid(x)
		if sp != Softplus(x) || sig != Sigmoid(x) {
			t.Errorf("SoftplusSigmoid(%v) = %v, %v, want %v, %v", x, sp, sig, Softplus(x), Sigmoid(x))
		}
	})
}
