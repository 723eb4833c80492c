//go:build cgo

package vk

import (
	"reflect"

	"github.com/sftseq/sftseq/internal/tensor"
)

// kernels has what records each kernel, by its type. The file of a kernel puts it there.
var kernels = map[reflect.Type]func(*recorder, tensor.Kernel){}

func kernel[K tensor.Kernel](f func(*recorder, K)) {
	kernels[reflect.TypeFor[K]()] = func(r *recorder, k tensor.Kernel) { f(r, k.(K)) }
}

// record turns a launch into steps; false if there is no kernel for it.
func record(r *recorder, k tensor.Kernel) bool {
	f, ok := kernels[reflect.TypeOf(k)]
	if ok {
		f(r, k)
	}
	return ok
}
