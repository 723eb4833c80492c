//go:build cgo

package vk

/*
#include "shim.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	vulkan "github.com/vulkan-go/vulkan"

	"github.com/sftseq/sftseq/internal/tensor"
)

// Some of VkResult.
const (
	timedOut           = 2
	outOfHostMemory    = -1
	outOfDeviceMemory  = -2
	deviceLost         = -4
	incompatibleDriver = -9
)

var (
	errFull   = errors.New("out of memory")
	errClosed = errors.New("vk: the device was closed")
)

// What a device can do beside what every one must is found by its methods' names: a
// change of one of them would otherwise go unnoticed.
var _ interface {
	Device
	tensor.Device
	tensor.Profiler
	tensor.Measurer
	tensor.OwnMemory
	tensor.PreferredBatch
	tensor.Together
	tensor.MixedPrecision
	tensor.LossScaler
} = (*gpu)(nil)

// gpu is the [Device].
type gpu struct {
	instance  *instance
	physical  *physical
	limits    limits
	mixed     *mixed // nil: float32 throughout
	shim      *C.shim_device
	queue     sync.Mutex // guards the queues and the pool
	pool      C.handle
	finishing sync.Mutex // guards last
	last      *commands  // of nothing: done when all before it is
	heap      heap
	memory    allocator
	transfers transfers
	pipelines pipelines
	dummy     *memory // what an operand that is nil is bound to

	closed atomic.Bool
	lost   atomic.Pointer[LostError]             // nil while it computes
	fault  func(what string, result int32) int32 // a test may answer for the driver; otherwise nil

	mu         sync.Mutex
	profile    *tensor.KernelTimes // nil: programs are not timed
	recordings []*recording        // the most recent last
	arenas     int                 // that have queues
	constants  map[string]*memory  // by their bytes: programs share them
}

// Open opens a device. Errors say why there is no such device or what it lacks, see
// [Info.Missing]; where there is no Vulkan at all they wrap [ErrUnavailable].
func Open(o Options) (Device, error) {
	d, err := openGPU(o)
	if err != nil {
		return nil, err // not a nil *gpu, which would be a Device
	}
	return d, nil
}

func openGPU(o Options) (*gpu, error) {
	i, err := openInstance()
	if err != nil {
		return nil, err
	}
	d := &gpu{instance: i, constants: map[string]*memory{}}
	if err := d.open(o); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

func (d *gpu) open(o Options) error {
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
		if d.mixed, err = d.physical.mixed(); err != nil {
			return fmt.Errorf("mixed precision on the device %s: %w; use fp32", d.physical.info.Name, err)
		}
	}
	if err := d.create(); err != nil {
		return err
	}
	if err := d.check("create a command pool", C.shim_pool_create(d.shim, &d.pool)); err != nil {
		return err
	}
	if d.last, err = d.newCommands(); err != nil {
		return err
	}
	if err := d.last.record(nil, 0); err != nil {
		return err
	}
	d.heap = heap{device: d, given: map[*block]bool{}}
	d.memory.get = func(bytes int64) (*block, error) { return d.heap.get(bytes, false) }
	d.memory.drop = func(b *block) {
		if d.settled() { // an upload may still be under way; otherwise the block stays until Close
			d.heap.drop(b)
		}
	}
	if err := d.transfers.open(d); err != nil {
		return err
	}
	d.pipelines.notice = o.Notice
	if err := d.pipelines.open(d); err != nil {
		return err
	}
	d.dummy, err = d.allocate(nothingRead.Words() + nothingWritten.Words())
	if err != nil {
		return err
	}
	return d.transfers.fill(d.dummy, 0)
}

// create creates the logical device with its queues.
func (d *gpu) create() error {
	p := d.physical
	wanted := C.shim_features{}
	if d.mixed != nil {
		// Both shaders of such products declare Float16.
		wanted.cooperative, wanted.memory_model, wanted.float16 = 1, 1, 1
		wanted.subgroup_size_control = p.features.subgroup_size_control
		wanted.bfloat16 = C.uint32_t(word(d.mixed.bfloat16()))
	}
	return d.check("create the logical device", C.shim_open(unsafe.Pointer(d.instance.vk), unsafe.Pointer(p.vk),
		C.uint32_t(p.api), &wanted, C.uint32_t(p.family), C.uint32_t(p.queues), &d.shim))
}

// Name describes the device.
func (d *gpu) Name() string {
	precision := "fp32"
	if d.mixed != nil {
		precision = d.mixed.String()
	}
	return fmt.Sprintf("vulkan:%d (%s, %s, %s)", d.physical.info.Index, d.physical.info.Name,
		d.physical.info.Driver, precision)
}

// Kernels names the device and its driver: bits are promised for one.
func (d *gpu) Kernels() string {
	name := "vulkan " + d.physical.info.Name + ", " + d.physical.info.Driver
	if d.mixed != nil {
		name += ", " + d.mixed.String()
	}
	return name
}

// Mixed says that products of matrices take operands of 16 bits.
func (d *gpu) Mixed() bool { return d.mixed != nil }

// LossScaling says that gradients leave the range of the operands of their products,
// which are float16 in mixed precision where there is no bfloat16.
func (d *gpu) LossScaling() bool { return d.mixed != nil && !d.mixed.backward.bfloat16 }

// Info describes the device as [Devices] does.
func (d *gpu) Info() Info { return d.physical.info }

// Slots is two: one program computes while the next batch is made ready, or beside it where
// there are queues enough.
func (d *gpu) Slots() int { return 2 }

// Together is the number of runs that keep a large device busy, of a program that computes
// as much as a micro-batch. A device that shares memory with the processor is not as large.
func (d *gpu) Together() int {
	if kind := d.Info().Kind; kind == "discrete" || kind == "virtual" {
		return 8
	}
	return 1
}

// queueOf is the queue of the programs that run in an arena. The first one is for what has
// none, such as sums of gradients, which others wait for.
func (d *gpu) queueOf(arena *memory) int {
	if arena == nil {
		return 0
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if arena.queue == 0 {
		arena.queue = 1 + d.arenas%(C.SHIM_QUEUES-1)
		d.arenas++
	}
	return arena.queue
}

// ForwardTokens is the number of tokens that keep a large device busy in a forward
// pass.
func (d *gpu) ForwardTokens() int { return 1 << 16 }

// Messages implements [Device].
func (d *gpu) Messages() []string {
	if d.instance == nil {
		return nil
	}
	return d.instance.messages()
}

// Close implements [Device].
func (d *gpu) Close() error {
	if d.instance == nil {
		return nil
	}
	defer func() {
		d.closed.Store(true)
		d.instance, d.shim = nil, nil
	}()
	if d.silent() {
		return nil
	}
	if d.shim != nil {
		if _ = d.finish(); d.silent() {
			return nil
		}
		d.dropRecordings(func(*recording) bool { return true })
		d.pipelines.close()
		d.transfers.close()
		d.heap.close()
		d.last.free()
		if d.pool != 0 {
			C.shim_pool_destroy(d.shim, d.pool)
		}
		C.shim_close(d.shim)
	}
	said := d.instance.messages()
	d.instance.close()
	if len(said) > 0 {
		return fmt.Errorf("validation: %s", strings.Join(said, "\nvalidation: "))
	}
	return nil
}

// settled sends what waits, and reports whether all that was sent is done, as it
// also is on a device that is lost. Others go on meanwhile.
func (d *gpu) settled() bool {
	_, err := d.transfers.flush()
	if err == nil {
		err = d.finish()
	}
	return err == nil || d.gone() != nil && !d.silent()
}

// finish returns when all that was sent is done. Nothing is held meanwhile that a
// running program would need.
func (d *gpu) finish() error {
	if d.last == nil { // nothing was sent
		return nil
	}
	d.finishing.Lock()
	defer d.finishing.Unlock()
	r := C.result(0)
	for queue := C.uint32_t(0); queue < C.SHIM_QUEUES && r == 0; queue++ {
		d.queue.Lock()
		r = C.shim_submit(d.shim, queue, d.last.buffer, d.last.fence, 0, 0)
		d.queue.Unlock()
		if r == 0 {
			r = C.shim_wait(d.shim, d.last.fence, C.uint64_t(timeout))
		}
	}
	return d.check("finish", r)
}

// objects are those that come and go.
var objects = [C.SHIM_KINDS]string{C.SHIM_BLOCKS: "blocks of memory", C.SHIM_SETS: "descriptor pools",
	C.SHIM_COMMANDS: "command buffers",
	C.SHIM_FENCES:   "fences", C.SHIM_QUERIES: "query pools"}

// live counts the driver's objects that the device has.
func (d *gpu) live() map[string]int {
	n := map[string]int{}
	for kind, name := range objects {
		n[name] = int(C.shim_live(d.shim, C.int(kind)))
	}
	return n
}

// silent says that the device has not answered in time.
func (d *gpu) silent() bool {
	e := d.lost.Load()
	return e != nil && e.Silent
}

// gone is the error of a device that is lost or closed.
func (d *gpu) gone() error {
	if e := d.lost.Load(); e != nil {
		return e
	}
	if d.closed.Load() {
		return errClosed
	}
	return nil
}

// check turns a VkResult into an error. A device that is lost stays so: nothing
// should build on what it answers afterwards.
func (d *gpu) check(what string, r C.result) error {
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
