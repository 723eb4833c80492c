package sinusoid

import (
	"math"
	"math/big"
)

// fixedPointTurns returns round(base^(−2c/dim)/2π·2⁶⁴) mod 2⁶⁴ for c < dim/2.
//
// It computes in big.Float with at least 192 bits, more than 100 of them after the point, and uses
// only the four basic operations. The frequencies therefore do not depend on the pow of a library.
// They are rounded correctly, except for values within about 2⁻¹⁰⁰ of a rounding boundary.
func fixedPointTurns(base float64, dim int) []uint64 {
	prec := uint(192)
	if e := math.Ilogb(base); e < 0 {
		prec += uint(-e) // with a base below 1, ω is up to 1/base, and its whole turns cancel
	}
	minusLog := logarithm(base, prec)
	minusLog.Neg(minusLog)
	scale := newFloat(prec).SetMantExp(newFloat(prec).SetInt64(1), 63)
	scale.Quo(scale, pi(prec)) // 2⁶⁴/2π

	turns := make([]uint64, dim/2)
	modulus := new(big.Int).Lsh(big.NewInt(1), 64)
	half := newFloat(prec).SetFloat64(0.5)
	for c := range turns {
		exponent := newFloat(prec).SetInt64(int64(2 * c))
		exponent.Quo(exponent, newFloat(prec).SetInt64(int64(dim)))
		exponent.Mul(exponent, minusLog)
		w := exponential(exponent, prec)
		w.Mul(w, scale).Add(w, half)
		whole, _ := w.Int(nil)
		turns[c] = whole.Mod(whole, modulus).Uint64()
	}
	return turns
}

func newFloat(prec uint) *big.Float { return new(big.Float).SetPrec(prec) }

// negligible reports whether adding x to a number of y's magnitude does not change the number at the
// working precision.
func negligible(x, y *big.Float, prec uint) bool {
	return x.Sign() == 0 || x.MantExp(nil) < y.MantExp(nil)-int(prec)-1
}

// exponential returns eˣ as (e^(x/2ᵏ))^(2ᵏ), with |x/2ᵏ| < 2⁻⁸ and the power series of eˣ. Each of
// the k squarings doubles the relative error, so the computation has k + 16 more bits.
func exponential(x *big.Float, prec uint) *big.Float {
	k := max(0, x.MantExp(nil)+8)
	wide := prec + uint(k) + 16
	r := newFloat(wide).SetMantExp(x, -k)
	sum, term := newFloat(wide).SetInt64(1), newFloat(wide).SetInt64(1)
	for n := int64(1); ; n++ {
		term.Mul(term, r).Quo(term, newFloat(wide).SetInt64(n))
		if negligible(term, sum, wide) {
			break
		}
		sum.Add(sum, term)
	}
	for range k {
		sum.Mul(sum, sum)
	}
	return newFloat(prec).Set(sum)
}

// logarithm returns log x = e·log 2 + log m with x = m·2ᵉ, ½ ≤ m < 1. It computes log m and log 2
// as log y = 2·artanh((y−1)/(y+1)).
func logarithm(x float64, prec uint) *big.Float {
	wide := prec + 96 // near x = 1, e·log 2 and log m cancel by at most the 53 bits of x
	mantissa := newFloat(wide)
	exponent := newFloat(wide).SetFloat64(x).MantExp(mantissa)
	sum := logarithmNearOne(newFloat(wide).SetInt64(2), wide)
	sum.Mul(sum, newFloat(wide).SetInt64(int64(exponent)))
	return newFloat(prec).Add(sum, logarithmNearOne(mantissa, wide))
}

// logarithmNearOne returns log y for ½ ≤ y ≤ 2, by the series of artanh.
func logarithmNearOne(y *big.Float, prec uint) *big.Float {
	one := newFloat(prec).SetInt64(1)
	z := newFloat(prec).Sub(y, one)
	z.Quo(z, one.Add(one, y))
	return z.Mul(artanh(z, prec), newFloat(prec).SetInt64(2))
}

// artanh returns artanh z = Σ z^(2n+1)/(2n+1) for |z| ≤ 1/3.
func artanh(z *big.Float, prec uint) *big.Float {
	return oddSeries(z, newFloat(prec).Mul(z, z), prec)
}

// oddSeries returns Σ z·qⁿ/(2n+1).
func oddSeries(z, q *big.Float, prec uint) *big.Float {
	sum, power := newFloat(prec).Set(z), newFloat(prec).Set(z)
	for n := int64(3); ; n += 2 {
		power.Mul(power, q)
		term := newFloat(prec).Quo(power, newFloat(prec).SetInt64(n))
		if negligible(term, sum, prec) {
			return sum
		}
		sum.Add(sum, term)
	}
}

// pi returns π, computed by Machin's formula π = 16·arctan(1/5) − 4·arctan(1/239).
func pi(prec uint) *big.Float {
	wide := prec + 16
	arctan := func(inverse int64) *big.Float {
		z := newFloat(wide).Quo(newFloat(wide).SetInt64(1), newFloat(wide).SetInt64(inverse))
		q := newFloat(wide).Mul(z, z)
		return oddSeries(z, q.Neg(q), wide)
	}
	a := arctan(5)
	a.SetMantExp(a, 4)
	b := arctan(239)
	b.SetMantExp(b, 2)
	return newFloat(prec).Sub(a, b)
}
