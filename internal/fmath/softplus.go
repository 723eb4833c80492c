package fmath

// The functions of this file use z = e^−|x|, which lies in [0, 1] and never overflows, and
// log(1+z) = z − z²·log1pTail(z).

// Softplus returns log(1 + eˣ) = max(x, 0) + log(1 + z). The relative error is below 2.5e-7. The
// result is 0 where eˣ is subnormal (x < −87.33654).
func Softplus(x float32) float32 {
	z := Exp(-abs(x))
	return relu(x) + (z - float32(float32(z*z)*log1pTail(z)))
}

// Sigmoid returns σ(x) = 1/(1 + e⁻ˣ), the derivative of Softplus. The relative error is below 2e-7.
// The result is 0 where eˣ is subnormal.
func Sigmoid(x float32) float32 {
	z := Exp(-abs(x))
	return choose(x, z, 1) / (1 + z)
}

// SoftplusSigmoid returns Softplus(x) and Sigmoid(x), bitwise identical to the results of these
// functions, but computes only one exponential.
func SoftplusSigmoid(x float32) (softplus, sigmoid float32) {
	z := Exp(-abs(x))
	softplus = relu(x) + (z - float32(float32(z*z)*log1pTail(z)))
	return softplus, choose(x, z, 1) / (1 + z)
}

// LogSoftplus returns λ(x) = log softplus(x). Below −15 it returns x, because the difference, eˣ/2,
// is less than half an ulp of x. The result stays exact where softplus(x) underflows. The error is
// below 2.5e-7·max(1, |λ|).
func LogSoftplus(x float32) float32 {
	if x < -15 {
		return x
	}
	return Log(Softplus(x))
}

// Rho returns ρ(x) = σ(x)/softplus(x), the derivative of LogSoftplus. It computes 1/((1+z)·D),
// where D is log(1+z)/z for x < 0 and softplus(x) otherwise. For x < 0 both σ and softplus have the
// factor z, which may underflow; the formula cancels it, so that ρ tends to 1 for very negative x. The
// relative error is below 3.5e-7.
func Rho(x float32) float32 {
	z := Exp(-abs(x))
	d := 1 - float32(z*log1pTail(z))
	return 1 / float32((1+z)*choose(x, d, x+float32(z*d)))
}
