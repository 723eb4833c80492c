//go:build cgo

package vk

/*
#include <stdlib.h>
#include "shim.h"
*/
import "C"

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"unsafe"

	vulkan "github.com/vulkan-go/vulkan"
)

// instances guards kept and the function table of the Go binding, which is global.
var instances sync.Mutex

// kept is true if an instance stays open until the process ends. The loader unloads the drivers
// with the last instance, and NVIDIA's driver (580.159.04) can only be loaded about fourteen times per
// process.
var kept bool

// instance is a Vulkan instance: a connection to the loader and its drivers.
type instance struct {
	vk    vulkan.Instance
	debug *C.shim_debug // nil unless validating
}

const validationLayer = "VK_LAYER_KHRONOS_validation"

// validating reports whether the validation layer checks every call, including synchronisation. The
// layer is for tests and bug reports.
func validating() bool { return os.Getenv("SFTSEQ_VK_VALIDATE") == "1" }

// openInstance creates a Vulkan instance.
func openInstance() (*instance, error) {
	if err := load(); err != nil {
		return nil, err
	}
	validate := C.int(0)
	if validating() {
		if !slices.Contains(lines(C.shim_layers()), validationLayer) {
			return nil, fmt.Errorf("SFTSEQ_VK_VALIDATE is set, but the layer %s is not installed "+
				"(Debian, Ubuntu: apt install vulkan-validationlayers)", validationLayer)
		}
		validate = 1
	}
	var handle unsafe.Pointer
	switch r := C.shim_instance_create(validate, &handle); {
	case r == incompatibleDriver:
		return nil, errNoDriver
	case r != 0:
		return nil, fmt.Errorf("create a Vulkan instance: %w", resultError(int32(r)))
	}
	i := &instance{vk: vulkan.Instance(handle)}
	if err := i.initialise(); err != nil {
		i.close()
		return nil, err
	}
	if validate != 0 {
		if i.debug = C.shim_debug_open(handle); i.debug == nil {
			i.close()
			return nil, fmt.Errorf("the validation layer did not create a debug messenger")
		}
	}
	return i, nil
}

// initialise fills the function table of the Go binding.
func (i *instance) initialise() error {
	instances.Lock()
	defer instances.Unlock()
	return vulkan.InitInstance(i.vk)
}

func (i *instance) close() {
	instances.Lock()
	defer instances.Unlock()
	if i.debug == nil && !kept { // the validation layer would report an instance that stays open
		kept = true
		return
	}
	C.shim_debug_close(i.debug)
	vulkan.DestroyInstance(i.vk, nil)
}

// messages returns the messages of the validation layer since the last call.
func (i *instance) messages() []string {
	if i.debug == nil {
		return nil
	}
	return lines(C.shim_debug_take(i.debug))
}

// lines returns the lines of a C string, and frees the string.
func lines(text *C.char) []string {
	defer C.free(unsafe.Pointer(text))
	return strings.FieldsFunc(C.GoString(text), func(r rune) bool { return r == '\n' })
}
