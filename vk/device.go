//go:build cgo

package vk

/*
#include "shim.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"unsafe"

	vulkan "github.com/vulkan-go/vulkan"
)

const (
	outOfHostMemory   = -1
	outOfDeviceMemory = -2
	deviceLost        = -4
)

// Device runs programs on a GPU. It is a [tensor.Device].
type Device struct {
	instance  *instance
	physical  *physical
	limits    limits
	mixed     *cooperative // nil: float32 throughout
	shim      *C.shim_device
	said      []string   // by the validation layer, once closed
	queue     sync.Mutex // guards the queue and the pool
	pool      C.handle
	memory    allocator
	transfers transfers
	pipelines pipelines
	dummy     *memory // what an operand that is nil is bound to

	mu         sync.Mutex
	profile    *profile           // nil: programs are not timed
	recordings []*recording       // the most recent last
	constants  map[string]*memory // by their bytes: programs share them
}

// Open opens a device.
func Open(o Options) (*Device, error) {
	i, err := openInstance()
	if err != nil {
		return nil, err
	}
	d := &Device{instance: i, constants: map[string]*memory{}}
	if err := d.open(o); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

func (d *Device) open(o Options) error {
	list, err := d.instance.physicals()
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return errNoDriver
	}
	if o.Index < 0 || o.Index >= len(list) {
		return fmt.Errorf("no Vulkan device %d: expected 0 to %d (sftseq devices lists them)", o.Index, len(list)-1)
	}
	d.physical = list[o.Index]
	d.limits = d.physical.limits
	if d.physical.info.Missing != "" {
		return fmt.Errorf("the device %s cannot be used: %s", d.physical.info.Name, d.physical.info.Missing)
	}
	if o.Mixed {
		if d.mixed, err = d.physical.cooperative(); err != nil {
			return fmt.Errorf("mixed precision on the device %s: %w; use fp32", d.physical.info.Name, err)
		}
	}
	if err := d.create(); err != nil {
		return err
	}
	if err := d.check("create a command pool", C.shim_pool_create(d.shim, &d.pool)); err != nil {
		return err
	}
	d.memory.device = d
	if err := d.transfers.open(d); err != nil {
		return err
	}
	if err := d.pipelines.open(d); err != nil {
		return err
	}
	d.dummy, err = d.allocate(nothingRead.Words() + nothingWritten.Words())
	if err != nil {
		return err
	}
	return d.transfers.clear(d.dummy)
}

// create creates the logical device with its queue.
func (d *Device) create() error {
	instances.Lock()
	defer instances.Unlock()
	p := d.physical
	wanted := C.shim_features{}
	var extensions []string
	if d.mixed != nil {
		// Both shaders of such products declare Float16.
		wanted.cooperative, wanted.memory_model, wanted.float16 = 1, 1, 1
		wanted.subgroup_size_control = p.features.subgroup_size_control
		extensions = append(extensions, cooperativeExtension+"\x00")
		if d.mixed.bfloat16 {
			wanted.bfloat16 = 1
			extensions = append(extensions, bfloat16Extension+"\x00")
		}
	}
	chain := C.shim_feature_chain(C.uint32_t(p.api), &wanted)
	defer C.shim_feature_chain_free(chain)
	priorities := []float32{1}
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(&priorities[0])
	info := vulkan.DeviceCreateInfo{SType: vulkan.StructureTypeDeviceCreateInfo, PNext: chain,
		QueueCreateInfoCount: 1, PQueueCreateInfos: []vulkan.DeviceQueueCreateInfo{{
			SType: vulkan.StructureTypeDeviceQueueCreateInfo, QueueFamilyIndex: p.family, QueueCount: 1, PQueuePriorities: priorities}},
		EnabledExtensionCount: uint32(len(extensions)), PpEnabledExtensionNames: extensions}
	var handle vulkan.Device
	r := vulkan.CreateDevice(p.vk, &info, nil, &handle)
	info.Free()
	runtime.KeepAlive(&info)
	if r != vulkan.Success {
		return fmt.Errorf("open the device %s: %w", p.info.Name, resultError(int32(r)))
	}
	var queue vulkan.Queue
	vulkan.GetDeviceQueue(handle, p.family, 0, &queue)
	d.shim = C.shim_open(unsafe.Pointer(d.instance.vk), unsafe.Pointer(handle), unsafe.Pointer(queue), C.uint32_t(p.family))
	if d.shim == nil {
		vulkan.DestroyDevice(handle, nil)
		return fmt.Errorf("the driver of %s lacks functions of Vulkan 1.0", p.info.Name)
	}
	return nil
}

// Name describes the device.
func (d *Device) Name() string {
	precision := "fp32"
	if d.mixed != nil {
		precision = d.mixed.String()
	}
	return fmt.Sprintf("vulkan:%d (%s, %s, %s)", d.physical.info.Index, d.physical.info.Name, d.physical.info.Driver, precision)
}

// Kernels names the device and its driver: bits are promised for one.
func (d *Device) Kernels() string {
	name := "vulkan " + d.physical.info.Name + ", " + d.physical.info.Driver
	if d.mixed != nil {
		name += ", " + d.mixed.String()
	}
	return name
}

// LossScaling says that gradients leave the range of the operands of products,
// which are float16 in mixed precision where there is no bfloat16.
func (d *Device) LossScaling() bool { return d.mixed != nil && !d.mixed.bfloat16 }

// Info describes the device as [Devices] does.
func (d *Device) Info() Info { return d.physical.info }

// Lanes is two: one program computes while the next batch is made ready.
func (d *Device) Lanes() int { return 2 }

// ForwardTokens is the number of tokens that keep a large device busy in a forward
// pass.
func (d *Device) ForwardTokens() int { return 1 << 16 }

// Messages returns what the validation layer has said since the last call:
// nothing, if there is nothing wrong or SFTSEQ_VK_VALIDATE is not 1.
// After Close it has what came up until the end.
func (d *Device) Messages() []string {
	said := d.said
	if d.said = nil; d.instance != nil {
		said = append(said, d.instance.messages()...)
	}
	return said
}

// Close frees the device.
func (d *Device) Close() error {
	if d.instance == nil {
		return nil
	}
	if d.shim != nil {
		d.settle()
		d.mu.Lock()
		for _, r := range d.recordings {
			r.free()
		}
		d.recordings = nil
		d.mu.Unlock()
		d.pipelines.close()
		d.transfers.close()
		d.memory.close()
		if d.pool != 0 {
			C.shim_pool_destroy(d.shim, d.pool)
		}
		C.shim_close(d.shim)
		d.shim = nil
	}
	d.said = d.instance.messages()
	d.instance.close()
	d.instance = nil
	return nil
}

// settle sends what waits and returns when the device has nothing left to do.
func (d *Device) settle() {
	_ = d.transfers.flush() // a device that is lost has nothing left either
	d.queue.Lock()
	defer d.queue.Unlock()
	C.shim_wait_idle(d.shim)
}

// check turns a VkResult into an error.
func (d *Device) check(what string, r C.result) error {
	switch {
	case r == 0:
		return nil
	case r == deviceLost:
		return &LostError{Device: d.physical.info.Name}
	case r == 2: // VK_TIMEOUT
		return fmt.Errorf("the device %s has not finished within %v", d.physical.info.Name, timeout)
	}
	return fmt.Errorf("the device %s: %s: %w", d.physical.info.Name, what, resultError(int32(r)))
}
