//go:build cgo

package vk

import (
	"fmt"
	"reflect"

	"github.com/sftseq/sftseq/internal/tensor"
)

// registration associates a type of kernel with the function that records it.
type registration struct {
	kernelType reflect.Type
	record     func(*recorder, tensor.Kernel)
}

// kernels maps the type of each kernel to the function that records it. The file of a kernel
// registers the function.
var kernels = map[reflect.Type]func(*recorder, tensor.Kernel){}

// kernel returns the registration of the kernel type K with the function f.
func kernel[K tensor.Kernel](f func(*recorder, K)) registration {
	return registration{reflect.TypeFor[K](), func(r *recorder, k tensor.Kernel) { f(r, k.(K)) }}
}

func register(registrations ...registration) {
	for _, k := range registrations {
		if kernels[k.kernelType] != nil {
			panic(fmt.Sprintf("vk: %v is recorded in two ways", k.kernelType))
		}
		kernels[k.kernelType] = k.record
	}
}

// record compiles a launch to steps. It returns false if no function is registered for the type of
// the launch.
func record(r *recorder, k tensor.Kernel) bool {
	f, ok := kernels[reflect.TypeOf(k)]
	if ok {
		f(r, k)
	}
	return ok
}
