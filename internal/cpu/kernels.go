package cpu

import (
	"fmt"
	"reflect"

	"github.com/sftseq/sftseq/internal/tensor"
)

// implementation computes a kernel, either as a whole or row by row.
type implementation struct {
	kernelType reflect.Type
	whole      func(*run, tensor.Kernel)
	byRows     func(*run, tensor.Kernel) rowwise
}

// kernels maps the type of each kernel to its implementation. The file of each implementation registers it.
var kernels = map[reflect.Type]implementation{}

// whole returns the implementation of a kernel that f computes as a whole.
func whole[K tensor.Kernel](f func(*run, K)) implementation {
	return implementation{kernelType: reflect.TypeFor[K](), whole: func(r *run, k tensor.Kernel) { f(r, k.(K)) }}
}

// byRows returns the implementation of a kernel that f computes row by row.
func byRows[K tensor.Kernel](f func(*run, K) rowwise) implementation {
	return implementation{kernelType: reflect.TypeFor[K](),
		byRows: func(r *run, k tensor.Kernel) rowwise { return f(r, k.(K)) }}
}

func register(implementations ...implementation) {
	for _, f := range implementations {
		if _, twice := kernels[f.kernelType]; twice {
			panic(fmt.Sprintf("cpu: %v has two implementations", f.kernelType))
		}
		kernels[f.kernelType] = f
	}
}

// implementationOf returns the implementation of a kernel, or the zero value if it has none.
func implementationOf(k tensor.Kernel) implementation { return kernels[reflect.TypeOf(k)] }
