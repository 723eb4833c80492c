package cpu

import (
	"fmt"
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
	register[K](implementation{whole: func(r *run, k tensor.Kernel) { f(r, k.(K)) }})
}

func byRows[K tensor.Kernel](f func(*run, K) rowwise) {
	register[K](implementation{byRows: func(r *run, k tensor.Kernel) rowwise { return f(r, k.(K)) }})
}

func register[K tensor.Kernel](f implementation) {
	t := reflect.TypeFor[K]()
	if _, twice := kernels[t]; twice {
		panic(fmt.Sprintf("cpu: %v has two implementations", t))
	}
	kernels[t] = f
}

// implementationOf is that of a launch; it may have none.
func implementationOf(k tensor.Kernel) implementation { return kernels[reflect.TypeOf(k)] }
