package cpu

import (
	"reflect"

	"github.com/sftseq/sftseq/internal/tensor"
)

// implementation computes a kernel: all of it at once, or some rows after the others.
type implementation struct {
	whole  func(*run, tensor.Kernel)
	byRows func(*run, tensor.Kernel) rowwise
}

// kernels has the implementation of each kernel, by its type. The file of a kernel puts it
// there.
var kernels = map[reflect.Type]implementation{}

func whole[K tensor.Kernel](f func(*run, K)) {
	kernels[reflect.TypeFor[K]()] = implementation{whole: func(r *run, k tensor.Kernel) { f(r, k.(K)) }}
}

func byRows[K tensor.Kernel](f func(*run, K) rowwise) {
	kernels[reflect.TypeFor[K]()] = implementation{byRows: func(r *run, k tensor.Kernel) rowwise { return f(r, k.(K)) }}
}

// implementationOf is that of a launch; it may have none.
func implementationOf(k tensor.Kernel) implementation { return kernels[reflect.TypeOf(k)] }
