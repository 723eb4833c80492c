package tensor

// Add: Y = A + B, element by element. Its backward is the identity on both.
type Add struct{ Y, A, B *Tensor }

func (Add) Name() string        { return "add" }
func (k Add) Reads() []*Tensor  { return []*Tensor{k.A, k.B} }
func (k Add) Writes() []*Tensor { return []*Tensor{k.Y} }
func (k Add) check() {
	same("add", k.Y, k.A)
	same("add", k.Y, k.B)
}

// Zero: Y = 0: the gradient of a parameter that the configuration does not use.
type Zero struct{ Y *Tensor }

func (Zero) Name() string        { return "zero" }
func (Zero) Reads() []*Tensor    { return nil }
func (k Zero) Writes() []*Tensor { return []*Tensor{k.Y} }
func (Zero) check()              {}
