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

// Values of VkResult.
const (
	timedOut           = 2
	outOfHostMemory    = -1
	outOfDeviceMemory  = -2
	deviceLost         = -4
	incompatibleDriver = -9
)

var (
	errOutOfMemory = errors.New("out of memory")
	errClosed      = errors.New("vk: the device was closed")
)

// Other packages discover optional capabilities by type assertion. This assignment makes a renamed
// method a compile error.
var _ interface {
	Device
	tensor.Device
	tensor.Profiler
	tensor.Measurer
	tensor.OwnMemory
	tensor.PreferredBatch
	tensor.ConcurrentRunner
	tensor.MixedPrecision
	tensor.LossScaler
} = (*gpu)(nil)

// gpu implements [Device].
type gpu struct {
	instance      *instance
	physical      *physical
	limits        limits
	mixed         *mixed // nil for float32 throughout
	shim          *C.shim_device
	queue         sync.Mutex // guards the queues and the pool
	pool          C.handle
	flushing      sync.Mutex // guards flushCommands
	flushCommands *commands  // empty; its fence signals after all earlier submissions to the same queue
	heap          heap
	memory        allocator
	transfers     transfers
	pipelines     pipelines
	dummy         *memory // memory bound for operands that are nil

	closed atomic.Bool
	lost   atomic.Pointer[LostError]             // nil while the device works
	fault  func(call string, result int32) int32 // replaces the driver's results in tests; otherwise nil

	mu         sync.Mutex
	profile    *tensor.KernelTimes // nil if programs are not timed
	recordings []*recording        // most recently used last
	arenas     int                 // number of arenas with a queue
	constants  map[string]*memory  // constants of all programs, by content
}

// Open opens a device. It fails if the device does not exist or lacks a required feature, see
// [Info.Missing]. Without Vulkan the error wraps [ErrUnavailable].
func Open(o Options) (Device, error) {
	d, err := openGPU(o)
	if err != nil {
		return nil, err // an untyped nil: a nil *gpu would be a non-nil Device
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
	if d.flushCommands, err = d.newCommands(); err != nil {
		return err
	}
	if err := d.flushCommands.record(nil, 0); err != nil {
		return err
	}
	d.heap = heap{device: d, blocks: map[*block]bool{}}
	d.memory.allocateBlock = func(bytes int64) (*block, error) { return d.heap.allocate(bytes, false) }
	d.memory.releaseBlock = func(b *block) {
		if d.idle() { // uploads may still use the block; if waiting fails, it stays until Close
			d.heap.release(b)
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
	features := C.shim_features{}
	if d.mixed != nil {
		// The shaders for float16 and for bfloat16 both declare the capability Float16.
		features.cooperative, features.memory_model, features.float16 = 1, 1, 1
		features.subgroup_size_control = p.features.subgroup_size_control
		features.bfloat16 = C.uint32_t(boolWord(d.mixed.bfloat16()))
	}
	return d.check("create the logical device", C.shim_open(unsafe.Pointer(d.instance.vk), unsafe.Pointer(p.vk),
		C.uint32_t(p.api), &features, C.uint32_t(p.family), C.uint32_t(p.queues), &d.shim))
}

// Name returns the device's index and name, its driver and its precision.
func (d *gpu) Name() string {
	precision := "fp32"
	if d.mixed != nil {
		precision = d.mixed.String()
	}
	return fmt.Sprintf("vulkan:%d (%s, %s, %s)", d.physical.info.Index, d.physical.info.Name,
		d.physical.info.Driver, precision)
}

// Kernels returns the device's name, its driver and, for mixed precision, the matrices. Runs
// with the same value produce bitwise identical results.
func (d *gpu) Kernels() string {
	name := "vulkan " + d.physical.info.Name + ", " + d.physical.info.Driver
	if d.mixed != nil {
		name += ", " + d.mixed.String()
	}
	return name
}

// Mixed reports whether matrix products have operands of 16 bits.
func (d *gpu) Mixed() bool { return d.mixed != nil }

// LossScaling reports whether the backward pass multiplies in float16, whose range gradients may
// exceed. It does so in mixed precision without bfloat16.
func (d *gpu) LossScaling() bool { return d.mixed != nil && !d.mixed.backward.bfloat16 }

// Info returns the device's entry in the list of [Devices].
func (d *gpu) Info() Info { return d.physical.info }

// Slots returns two: while one program runs, the next batch is prepared, or runs concurrently if
// there are enough queues.
func (d *gpu) Slots() int { return 2 }

// ConcurrentRuns returns the number of concurrent micro-batches that keep the device busy: 8 for
// discrete and virtual devices, and 1 for all others, such as devices that share memory with the CPU.
func (d *gpu) ConcurrentRuns() int {
	if kind := d.Info().Kind; kind == "discrete" || kind == "virtual" {
		return 8
	}
	return 1
}

// queueOf returns the index of the queue for programs that run in an arena. The first queue is for
// programs without an arena, such as sums of gradients, because other programs wait for their
// results.
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

// ForwardTokens returns the number of tokens that keep a large device busy in a forward pass.
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
		d.flushCommands.free()
		if d.pool != 0 {
			C.shim_pool_destroy(d.shim, d.pool)
		}
		C.shim_close(d.shim)
	}
	messages := d.instance.messages()
	d.instance.close()
	if len(messages) > 0 {
		return fmt.Errorf("validation: %s", strings.Join(messages, "\nvalidation: "))
	}
	return nil
}

// idle flushes pending uploads, waits for all submissions and reports whether they are complete.
// Submissions to a lost device count as complete, unless one timed out. Other goroutines may use the
// device meanwhile.
func (d *gpu) idle() bool {
	_, err := d.transfers.flush()
	if err == nil {
		err = d.finish()
	}
	return err == nil || d.checkOpen() != nil && !d.silent()
}

// finish waits until all submissions are complete. While it waits, it holds no lock that a running
// program needs.
func (d *gpu) finish() error {
	if d.flushCommands == nil { // nothing was submitted
		return nil
	}
	d.flushing.Lock()
	defer d.flushing.Unlock()
	r := C.result(0)
	for queue := C.uint32_t(0); queue < C.SHIM_QUEUES && r == 0; queue++ {
		d.queue.Lock()
		r = C.shim_submit(d.shim, queue, d.flushCommands.buffer, d.flushCommands.fence, 0, 0)
		d.queue.Unlock()
		if r == 0 {
			r = C.shim_wait(d.shim, d.flushCommands.fence, C.uint64_t(timeout))
		}
	}
	return d.check("finish", r)
}

// objectNames holds the names of the kinds of driver objects.
var objectNames = [C.SHIM_KINDS]string{C.SHIM_BLOCKS: "blocks of memory", C.SHIM_SETS: "descriptor pools",
	C.SHIM_COMMANDS: "command buffers",
	C.SHIM_FENCES:   "fences", C.SHIM_QUERIES: "query pools"}

// liveObjects returns the number of existing driver objects of each kind.
func (d *gpu) liveObjects() map[string]int {
	n := map[string]int{}
	for kind, name := range objectNames {
		n[name] = int(C.shim_live(d.shim, C.int(kind)))
	}
	return n
}

// silent reports whether a submission to the device timed out.
func (d *gpu) silent() bool {
	e := d.lost.Load()
	return e != nil && e.Silent
}

// checkOpen returns an error if the device is lost or closed, and nil otherwise.
func (d *gpu) checkOpen() error {
	if e := d.lost.Load(); e != nil {
		return e
	}
	if d.closed.Load() {
		return errClosed
	}
	return nil
}

// check converts the VkResult of the named call to an error. Once the device is lost, every later
// call fails, too, as its results are not reliable.
func (d *gpu) check(call string, r C.result) error {
	if d.fault != nil {
		r = C.result(d.fault(call, int32(r)))
	}
	if r == deviceLost || r == timedOut {
		d.lost.CompareAndSwap(nil, &LostError{Device: d.physical.info.Name, Silent: r == timedOut})
	}
	if err := d.checkOpen(); err != nil {
		return err
	}
	switch r {
	case 0:
		return nil
	case outOfHostMemory, outOfDeviceMemory:
		return fmt.Errorf("the device %s: %s: %w", d.physical.info.Name, call, errOutOfMemory)
	}
	return fmt.Errorf("the device %s: %s: %w", d.physical.info.Name, call, resultError(int32(r)))
}

// resultError returns the error for a VkResult that is a failure.
func resultError(r int32) error {
	if err := vulkan.Error(vulkan.Result(r)); err != nil {
		return fmt.Errorf("%w (VkResult %d)", err, r)
	}
	return fmt.Errorf("VkResult %d", r)
}
