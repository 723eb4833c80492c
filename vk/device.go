//go:build cgo

package vk

/*
#include "shim.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"

	vulkan "github.com/vulkan-go/vulkan"
)

// Some of VkResult.
const (
	timedOut           = 2
	outOfHostMemory    = -1
	outOfDeviceMemory  = -2
	deviceLost         = -4
	incompatibleDriver = -9
)

var errFull = errors.New("out of memory")

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
	heap      heap
	memory    allocator
	transfers transfers
	pipelines pipelines
	dummy     *memory // what an operand that is nil is bound to

	lost  atomic.Pointer[LostError]             // nil while it computes
	fault func(what string, result int32) int32 // a test may answer for the driver; otherwise nil

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
	d.heap = heap{device: d, given: map[*block]bool{}}
	d.memory.get = func(bytes int64) (*block, error) { return d.heap.get(bytes, false) }
	d.memory.drop = func(b *block) {
		d.settle() // an upload may still be under way
		d.heap.drop(b)
	}
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
	p := d.physical
	wanted := C.shim_features{}
	if d.mixed != nil {
		// Both shaders of such products declare Float16.
		wanted.cooperative, wanted.memory_model, wanted.float16 = 1, 1, 1
		wanted.subgroup_size_control = p.features.subgroup_size_control
		wanted.bfloat16 = C.uint32_t(word(d.mixed.bfloat16))
	}
	return d.check("create the logical device", C.shim_open(unsafe.Pointer(d.instance.vk), unsafe.Pointer(p.vk), C.uint32_t(p.api), &wanted, C.uint32_t(p.family), &d.shim))
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

// Close frees the device. Of one that went silent nothing is freed: the driver may
// still be at work, and to wait for it would be to hang.
func (d *Device) Close() error {
	if d.instance == nil {
		return nil
	}
	defer func() { d.instance, d.shim = nil, nil }()
	if d.silent() {
		return nil
	}
	if d.shim != nil {
		d.settle()
		d.mu.Lock()
		d.dropRecordings(func(*recording) bool { return true })
		d.mu.Unlock()
		d.pipelines.close()
		d.transfers.close()
		d.heap.close()
		if d.pool != 0 {
			C.shim_pool_destroy(d.shim, d.pool)
		}
		C.shim_close(d.shim)
	}
	d.said = d.instance.messages()
	d.instance.close()
	return nil
}

// settle sends what waits and returns when the device has nothing left to do.
func (d *Device) settle() {
	_ = d.transfers.flush() // a device that is lost has nothing left either
	d.queue.Lock()
	defer d.queue.Unlock()
	C.shim_wait_idle(d.shim)
}

// silent says that the device has not answered in time.
func (d *Device) silent() bool {
	e := d.lost.Load()
	return e != nil && e.Silent
}

// gone is the error of a device that is lost.
func (d *Device) gone() error {
	if e := d.lost.Load(); e != nil {
		return e
	}
	return nil
}

// check turns a VkResult into an error. A device that is lost stays so: nothing
// should build on what it answers afterwards.
func (d *Device) check(what string, r C.result) error {
	if d.fault != nil {
		r = C.result(d.fault(what, int32(r)))
	}
	if r == deviceLost || r == timedOut {
		d.lost.CompareAndSwap(nil, &LostError{Device: d.physical.info.Name, Silent: r == timedOut})
	}
	if err := d.gone(); err != nil {
		return err
	}
	switch r {
	case 0:
		return nil
	case outOfHostMemory, outOfDeviceMemory:
		return fmt.Errorf("the device %s: %s: %w", d.physical.info.Name, what, errFull)
	}
	return fmt.Errorf("the device %s: %s: %w", d.physical.info.Name, what, resultError(int32(r)))
}

// resultError names a VkResult that is an error.
func resultError(r int32) error {
	if err := vulkan.Error(vulkan.Result(r)); err != nil {
		return fmt.Errorf("%w (VkResult %d)", err, r)
	}
	return fmt.Errorf("VkResult %d", r)
}
