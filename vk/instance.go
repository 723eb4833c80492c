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

// instances guards the binding's table of functions, which is global.
var instances sync.Mutex

// instance is a connection to the loader and its drivers.
type instance struct {
	vk    vulkan.Instance
	debug *C.shim_debug // nil unless validating
}

const validationLayer = "VK_LAYER_KHRONOS_validation"

// validating says that the validation layer watches every call, with
// synchronisation validation: for tests and bug reports.
func validating() bool { return os.Getenv("SFTSEQ_VK_VALIDATE") == "1" }

// openInstance connects to the loader.
func openInstance() (*instance, error) {
	if err := load(); err != nil {
		return nil, err
	}
	instances.Lock()
	defer instances.Unlock()
	info := vulkan.InstanceCreateInfo{
		SType: vulkan.StructureTypeInstanceCreateInfo,
		PApplicationInfo: &vulkan.ApplicationInfo{SType: vulkan.StructureTypeApplicationInfo,
			ApiVersion: vulkan.MakeVersion(1, 3, 0), PApplicationName: "sftseq\x00"},
	}
	if validating() {
		if !slices.Contains(layers(), validationLayer) {
			return nil, fmt.Errorf("SFTSEQ_VK_VALIDATE is set, but there is no layer %s; Debian has it in vulkan-validationlayers", validationLayer)
		}
		info.PNext = C.shim_validation()
		info.PpEnabledLayerNames = []string{validationLayer + "\x00"}
		info.PpEnabledExtensionNames = []string{"VK_EXT_debug_utils\x00", "VK_EXT_validation_features\x00"}
		info.EnabledLayerCount, info.EnabledExtensionCount = 1, 2
	}
	var i instance
	var handle vulkan.Instance
	r := vulkan.CreateInstance(&info, nil, &handle)
	info.Free()
	if r == vulkan.ErrorIncompatibleDriver {
		return nil, errNoDriver
	}
	if r != vulkan.Success {
		return nil, fmt.Errorf("create a Vulkan instance: %w", resultError(int32(r)))
	}
	i.vk = handle
	if err := vulkan.InitInstance(i.vk); err != nil {
		return nil, err
	}
	if validating() {
		if i.debug = C.shim_debug_open(unsafe.Pointer(i.vk)); i.debug == nil {
			i.close()
			return nil, fmt.Errorf("the validation layer takes no messenger")
		}
	}
	return &i, nil
}

func (i *instance) close() {
	C.shim_debug_close(i.debug)
	vulkan.DestroyInstance(i.vk, nil)
}

// messages returns what the validation layer has said since the last call.
func (i *instance) messages() []string {
	if i.debug == nil {
		return nil
	}
	text := C.shim_debug_take(i.debug)
	if text == nil {
		return nil
	}
	defer C.free(unsafe.Pointer(text))
	return strings.Split(strings.TrimSuffix(C.GoString(text), "\n"), "\n")
}

// layers lists the layers that the loader finds.
func layers() []string {
	var n uint32
	vulkan.EnumerateInstanceLayerProperties(&n, nil)
	list := make([]vulkan.LayerProperties, n)
	vulkan.EnumerateInstanceLayerProperties(&n, list)
	var names []string
	for i := range list {
		list[i].Deref()
		names = append(names, vulkan.ToString(list[i].LayerName[:]))
		list[i].Free()
	}
	return names
}
