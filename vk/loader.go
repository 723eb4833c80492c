//go:build cgo

package vk

/*
#cgo linux LDFLAGS: -ldl -lpthread
#include <stdlib.h>
#include "shim.h"
*/
import "C"

import (
	"os"
	"sync"
	"unsafe"

	vulkan "github.com/vulkan-go/vulkan"
)

// Built reports whether this program is built with Vulkan support, which needs cgo.
const Built = true

// loaderVariable is the environment variable that names a library to use instead of the system's
// loader.
const loaderVariable = "SFTSEQ_VK_LOADER"

// load opens the Vulkan loader once. The Go binding itself would look for libvulkan.so, which only
// development packages install.
var load = sync.OnceValue(func() error {
	names := []string{"libvulkan.so.1", "libvulkan.so"}
	if name := os.Getenv(loaderVariable); name != "" {
		names = []string{name}
	}
	var firstErr string
	for _, name := range names {
		c := C.CString(name)
		var message *C.char
		getProcAddr := C.shim_load(c, &message)
		C.free(unsafe.Pointer(c))
		if getProcAddr != nil {
			vulkan.SetGetInstanceProcAddr(getProcAddr)
			return vulkan.Init()
		}
		if firstErr == "" {
			firstErr = C.GoString(message)
		}
	}
	loader := names[0]
	if os.Getenv(loaderVariable) != "" {
		loader += ", set by " + loaderVariable
	}
	return errNoLoader(loader, firstErr)
})
