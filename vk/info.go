package vk

import (
	"errors"
	"fmt"
)

// Info describes a Vulkan device of the machine.
type Info struct {
	Index  int    `json:"-"`                      // value of Options.Index; 0 is the best
	Name   string `json:"name"`                   // name of the hardware as the driver reports it
	Driver string `json:"driver,omitempty"`       // name and version of the driver
	Kind   string `json:"kind"`                   // discrete, integrated, virtual, cpu or other
	API    string `json:"api,omitempty"`          // version of Vulkan
	Memory int64  `json:"memory_bytes,omitempty"` // size of the largest device-local heap, in bytes

	// Invocations per subgroup: the default, the minimum and the maximum. Minimum and maximum are
	// equal if the size is fixed.
	SubgroupSize int `json:"subgroup_size,omitempty"`
	SubgroupMin  int `json:"subgroup_min,omitempty"`
	SubgroupMax  int `json:"subgroup_max,omitempty"`

	Limits Limits `json:"limits,omitzero"`

	// Cooperative lists the matrix products that the hardware computes as one operation.
	Cooperative []CooperativeShape `json:"cooperative_matrices,omitempty"`
	// Mixed reports whether some of these products are suitable for [Options.Mixed].
	Mixed bool `json:"mixed"`

	// Missing states which required feature the device lacks, or is empty if Open accepts the
	// device.
	Missing string `json:"missing,omitempty"`
}

// Limits are the maximum sizes in a dispatch.
type Limits struct {
	SharedBytes    int   `json:"shared_bytes"`    // shared memory per workgroup, in bytes
	MaxInvocations int   `json:"max_invocations"` // invocations per workgroup
	MaxBinding     int64 `json:"max_binding"`     // bytes of a buffer that a shader accesses
}

// CooperativeShape is a matrix product that the invocations of a subgroup compute together:
// Result = A·B + C, where A is M×K and B is K×N. The fields A, B, C and Result are the names of the
// element types, such as float16, bfloat16 and float32.
type CooperativeShape struct {
	M      int    `json:"m"`
	N      int    `json:"n"`
	K      int    `json:"k"`
	A      string `json:"a"`
	B      string `json:"b"`
	C      string `json:"c"`
	Result string `json:"result"`
}

// String returns a description such as "16×16×16 float16 → float32".
func (s CooperativeShape) String() string {
	in, out := s.A, s.Result
	if s.B != s.A {
		in += "·" + s.B
	}
	if s.C != s.Result {
		out = s.C + " → " + out
	}
	return fmt.Sprintf("%d×%d×%d %s → %s", s.M, s.N, s.K, in, out)
}

// Device is a Vulkan device that package sft runs models on. Only [Open] creates devices.
type Device interface {
	// Name returns the device's name for messages.
	Name() string
	// Kernels returns the names of the device and its driver and, in mixed precision, of its matrices.
	// Runs on devices with the same Kernels value produce bitwise identical results.
	Kernels() string
	// Slots returns the number of programs that the device can run efficiently at a time.
	Slots() int
	// Info returns the device's entry in the list of [Devices].
	Info() Info
	// Messages returns the messages of the validation layer since the last call. There are none
	// unless SFTSEQ_VK_VALIDATE is 1.
	Messages() []string
	// Close frees the device. It frees nothing if a submission timed out, because the driver may
	// still use the objects, and waiting for the driver would hang. Close returns an error if the
	// validation layer has further messages.
	Close() error
}

// Options select a device and its precision.
type Options struct {
	Index int  // index of the device in the list of [Devices]; 0 is the best
	Mixed bool // matrix products with 16-bit operands
	// Notice, if set, receives messages for the user, such as that the first run on a device
	// compiles kernels.
	Notice func(string)
}

// ErrUnavailable is wrapped by the errors of [Devices] and [Open] on a machine without Vulkan, or in a
// program built without cgo. Their texts name the missing component and state how to add it.
var ErrUnavailable = errors.New("no Vulkan device is available")

// errNoDriver is the error if the Vulkan loader finds no driver.
var errNoDriver = fmt.Errorf("%w: the loader found no driver; "+
	"install the driver of the GPU, or Mesa's (Debian, Ubuntu: apt install mesa-vulkan-drivers)", ErrUnavailable)

// errNoLoader returns the error for a Vulkan loader whose library cannot be opened. The reason is
// the message of the system's dynamic linker.
func errNoLoader(loader, reason string) error {
	return fmt.Errorf("%w: cannot open the loader %s: %s; "+
		"install a loader and a driver (Debian, Ubuntu: apt install libvulkan1 mesa-vulkan-drivers)",
		ErrUnavailable, loader, reason)
}
