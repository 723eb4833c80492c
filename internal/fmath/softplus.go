package fmath

// The functions of this file use z = e^−|x|, which is in [0, 1] and never overflows, and log(1+z) =
// z − z²·Q(z).

// Softplus returns log(1 + eˣ) = max(x, 0) + log(1 + z). Relative error below
// 2.5e-7 everywhere; 0 where eˣ is subnormal (x < −87.33654).
func Softplus(x float32) float32 {
	z := Exp(-abs(x))
	return relu(x) + (z - float32(float32(z*z)*log1pTail(z)))
}

// Sigmoid returns σ(x) = 1/(1 + e⁻ˣ), the derivative of Softplus. Relative
// error below 2e-7; 0 where eˣ is subnormal.
func Sigmoid(x float32) float32 {
	z := Exp(-abs(x))
	return choose(x, z, 1) / (1 + z)
}

// SoftplusSigmoid returns Softplus(x) and Sigmoid(x) with the same bits, at the cost of one
// exponential.
func SoftplusSigmoid(x float32) (softplus, sigmoid float32) {
	z := Exp(-abs(x))
	softplus = relu(x) + (z - float32(float32(z*z)*log1pTail(z)))
	return softplus, choose(x, z, 1) / (1 + z)
}

// LogSoftplus returns λ(x) = log softplus(x), and x itself below −15, where
// the difference, eˣ/2, is less than half an ulp of x. It stays exact where softplus(x) has
// underflowed. Error below 2.5e-7·max(1, |λ|).
func LogSoftplus(x float32) float32 {
	if x < -15 {
		return x
	}
	return Log(Softplus(x))
}

// Rho returns ρ(x) = σ(x)/softplus(x), the derivative of LogSoftplus. With
// D = log(1+z)/z for x < 0 and D = softplus(x) otherwise it is 1/((1+z)·D): the factor z
// that underflows in both σ and softplus is cancelled before it is computed, so ρ tends to 1
// for very negative x. Relative error below 3.5e-7.
func Rho(x float32) float32 {
	z := Exp(-abs(x))
	d := 1 - float32(z*log1pTail(z))
	return 1 / float32((1+z)*choose(x, d, x+float32(z*d)))
}
