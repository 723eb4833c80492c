package tensor

// Huber is the loss of each example, over its n numbers, and the gradient of Scale times it:
// Loss = Σ_c h(d_c), d = Logits − Target, h(d) = d²/2 where |d| ≤ Delta and
// Delta·(|d| − Delta/2) beyond, DLogits = Scale·clamp(d, −Delta, Delta). With Delta 1 this is
// SmoothL1; with the largest float32 it is half the squared error. The gradient is that of the
// sum over the examples, not of their mean. The loss itself has no scale.
type Huber struct {
	Loss    *Tensor `op:"write" shape:"E"`
	DLogits *Tensor `op:"write" shape:"E,n"`
	Logits  *Tensor `shape:"E,n"`
	Target  *Tensor `shape:"E,n"`
	Scale   *Tensor `shape:"n"` // in device memory because it changes from step to step
	Delta   float32
}
