package tensor

// Huber computes the loss of each example over its n numbers, and the gradient of the loss times
// Scale, which has a factor for each number. With d = Logits − Target,
//
//	Loss = Σ_c h(d_c), h(d) = d²/2 where |d| ≤ Delta, otherwise Delta·(|d| − Delta/2)
//	DLogits_c = Scale_c·clamp(d_c, −Delta, Delta)
//
// With Delta = 1 the loss is SmoothL1; with the largest float32 it is half the squared error. The
// gradient is the gradient of the sum over the examples, not of their mean. Scale does not affect
// Loss.
type Huber struct {
	Loss    *Tensor `op:"write" shape:"E"`
	DLogits *Tensor `op:"write" shape:"E,n"`
	Logits  *Tensor `shape:"E,n"`
	Target  *Tensor `shape:"E,n"`
	Scale   *Tensor `shape:"n"` // in device memory because it changes from step to step
	Delta   float32
}
