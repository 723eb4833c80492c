package cpu

import (
	"fmt"
	"reflect"

	"github.com/sftseq/sftseq/internal/tensor"
)

// implementation computes a kernel, either as a whole or row by row.
type implementation struct {
	of     reflect.Type // type of the kernel
	whole  func(*run, tensor.Kernel)
	byRows func(*run, tensor.Kernel) rowwise
}

// kernels maps the type of each kernel to its implementation. The kernel's file registers it.
var kernels = map[reflect.Type]implementation{}

func whole[K tensor.Kernel](f func(*run, K)) implementation {
	return implementation{of: reflect.TypeFor[K](), whole: func(r *run, k tensor.Kernel) { f(r, k.(K)) }}
}

func byRows[K tensor.Kernel](f func(*run, K) rowwise) implementation {
	return implementation{of: reflect.TypeFor[K](),
		byRows: func(r *run, k tensor.Kernel) rowwise { return f(r, k.(K)) }}
}

func register(all ...implementation) {
	for _, f := range all {
		if _, twice := kernels[f.of]; twice {
			panic(fmt.Sprintf("cpu: %v has two implementations", f.of))
		}
		kernels[f.of] = f
	}
}

// implementationOf returns the implementation of a kernel, or the zero value if it has none.
func implementationOf(k tensor.Kernel) implementation { return kernels[reflect.TypeOf(k)] }
