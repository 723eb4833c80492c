package vk

import (
	"errors"
	"fmt"
)

// Info describes a device of the machine.
type Info struct {
	Index  int    `json:"-"`                      // argument of [Open]; 0 is the best
	Name   string `json:"name"`                   // name of the hardware, from its driver
	Driver string `json:"driver,omitempty"`       // name and version of the driver
	Kind   string `json:"kind"`                   // discrete, integrated, virtual, cpu or other
	API    string `json:"api,omitempty"`          // version of Vulkan
	Memory int64  `json:"memory_bytes,omitempty"` // size of the largest device-local heap

	// Invocations per subgroup. The last two are equal if the size is fixed.
	SubgroupSize int `json:"subgroup_size,omitempty"`
	SubgroupMin  int `json:"subgroup_min,omitempty"`
	SubgroupMax  int `json:"subgroup_max,omitempty"`

	Limits Limits `json:"limits,omitzero"`

	// products that the hardware computes as one operation
	Cooperative []CooperativeShape `json:"cooperative_matrices,omitempty"`
	// some of them are suitable for [Options.Mixed]
	Mixed bool `json:"mixed"`

	// Missing is the reason why Open would refuse the device; empty if it would not.
	Missing string `json:"missing,omitempty"`
}

// Limits are the maxima of a launch.
type Limits struct {
	SharedBytes    int   `json:"shared_bytes"`    // memory of a workgroup
	MaxInvocations int   `json:"max_invocations"` // size of a workgroup
	MaxBinding     int64 `json:"max_binding"`     // size of a buffer that a shader accesses, in bytes
}

// CooperativeShape is a product that a subgroup computes together: Result = A·B + C, with A of M×K,
// B of K×N, and types such as float16, bfloat16, float32.
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

// Device is a GPU that models run on, as package sft uses it. Only [Open] creates devices.
type Device interface {
	// Name describes the device to a person.
	Name() string
	// Kernels identifies the device and its driver: results are bitwise reproducible for the same
	// pair.
	Kernels() string
	// Slots returns the number of programs that the device can run efficiently at a time.
	Slots() int
	// Info describes the device like [Devices].
	Info() Info
	// Messages returns the messages of the validation layer since the last call: none if all is
	// well or SFTSEQ_VK_VALIDATE is not 1.
	Messages() []string
	// Close frees the device. A device that did not answer in time keeps its objects: the driver
	// may still use them, and waiting for it would hang. Messages of the validation layer that
	// Messages did not return, up to the very end, are an error.
	Close() error
}

// Options select a device and its precision.
type Options struct {
	Index int
	Mixed bool // operands of matrix products in half precision
	// Notice, if set, receives messages about surprising circumstances, such as the compilation of
	// kernels on a new device.
	Notice func(string)
}

// ErrUnavailable is wrapped by the errors of [Devices] and [Open] on a machine without Vulkan.
// Their text says what is missing and what to install.
var ErrUnavailable = errors.New("no Vulkan")

// errNoDriver is the error if there is a loader but no driver.
var errNoDriver = fmt.Errorf("%w: its loader finds no driver; "+
	"install the driver of the GPU, or Mesa's (Debian, Ubuntu: apt install mesa-vulkan-drivers)", ErrUnavailable)

// errNoLoader is the error if the loader's library cannot be opened.
func errNoLoader(why string) error {
	return fmt.Errorf("%w: its loader libvulkan.so.1 cannot be opened (%s); "+
		"install it and a driver (Debian, Ubuntu: apt install libvulkan1 mesa-vulkan-drivers)", ErrUnavailable, why)
}
