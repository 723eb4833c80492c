//go:build cgo

package vk

import (
	"fmt"
	"reflect"

	"github.com/sftseq/sftseq/internal/tensor"
)

// recipe is a type of kernel with the function that records it.
type recipe struct {
	of     reflect.Type // type of the kernel
	record func(*recorder, tensor.Kernel)
}

// kernels maps the type of each kernel to the function that records it. The file of a kernel
// registers the function.
var kernels = map[reflect.Type]func(*recorder, tensor.Kernel){}

func kernel[K tensor.Kernel](f func(*recorder, K)) recipe {
	return recipe{reflect.TypeFor[K](), func(r *recorder, k tensor.Kernel) { f(r, k.(K)) }}
}

func register(all ...recipe) {
	for _, k := range all {
		if kernels[k.of] != nil {
			panic(fmt.Sprintf("vk: %v is recorded in two ways", k.of))
		}
		kernels[k.of] = k.record
	}
}

// record compiles a launch to steps; it returns false if there is no kernel for it.
func record(r *recorder, k tensor.Kernel) bool {
	f, ok := kernels[reflect.TypeOf(k)]
	if ok {
		f(r, k)
	}
	return ok
}
