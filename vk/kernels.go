//go:build cgo

package vk

import (
	"fmt"
	"reflect"

	"github.com/sftseq/sftseq/internal/tensor"
)

// kernels has what records each kernel, by its type. The file of a kernel puts it there.
var kernels = map[reflect.Type]func(*recorder, tensor.Kernel){}

func kernel[K tensor.Kernel](f func(*recorder, K)) {
	t := reflect.TypeFor[K]()
	if kernels[t] != nil {
		panic(fmt.Sprintf("vk: %v is recorded in two ways", t))
	}
	kernels[t] = func(r *recorder, k tensor.Kernel) { f(r, k.(K)) }
}

// record turns a launch into steps; false if there is no kernel for it.
func record(r *recorder, k tensor.Kernel) bool {
	f, ok := kernels[reflect.TypeOf(k)]
	if ok {
		f(r, k)
	}
	return ok
}
