package tensor

// SumSquares computes Y[0] = Σ X², the squared norm of the gradient, by adding the sums of fixed blocks.
type SumSquares struct {
	Y *Tensor `op:"write" shape:"1"`
	X *Tensor
}

// AdamWStep holds the numbers of one update. They are in device memory because they change in every
// step.
type AdamWStep struct {
	GradientScale float32 // 1/(examples·loss scale); G is the gradient of the scaled sum of the losses
	MaxNorm       float32 // maximum norm of the scaled gradient; 0 does not clip
	LearningRate  float32
	Correction1   float32 // 1/(1 − β1^t)
	Correction2   float32 // 1/(1 − β2^t)
}

// Words returns the step in the layout of AdamW's input Step.
func (s AdamWStep) Words() []float32 {
	return []float32{s.GradientScale, s.MaxNorm, s.LearningRate, s.Correction1, s.Correction2}
}

// AdamWStepWords is the number of words of AdamW's input Step.
const AdamWStepWords = 5

// AdamW updates W with decoupled weight decay. With scale = GradientScale, n = √SumSquares·scale the
// norm of the gradient, and g = G·scale·min(1, MaxNorm/(n + 1e-6)):
//
//	W ← W(1 − lr·Decay)
//	M ← β1 M + (1−β1) g, V ← β2 V + (1−β2) g²
//	W ← W − lr·(M·Correction1)/(√(V·Correction2) + Eps)
//
// If SumSquares is not finite, the gradient is unusable, and W, M and V are unchanged.
type AdamW struct {
	W, M, V      *Tensor `op:"add" shape:"P"`
	G            *Tensor `shape:"P"`
	SumSquares   *Tensor `shape:"1"`
	Step         *Tensor `shape:"5"` // [AdamWStepWords]
	Decay        float32
	Beta1, Beta2 float64 // float64, because 1−β loses digits in float32
	Eps          float32
}
