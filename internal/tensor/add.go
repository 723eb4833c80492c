package tensor

// Add: Y = A + B, element by element. Its backward is the identity on both.
type Add struct {
	Y    *Tensor `op:"write"`
	A, B *Tensor
}

func (Add) Name() string { return "add" }
func (k Add) check() {
	same("add", k.Y, k.A)
	same("add", k.Y, k.B)
}

// Zero: Y = 0: the gradient of a parameter that the configuration does not use.
type Zero struct {
	Y *Tensor `op:"write"`
}

func (Zero) Name() string { return "zero" }
func (Zero) check()       {}
