package vk

import (
	"errors"
	"fmt"
)

// Info describes a device of the machine.
type Info struct {
	Index  int    `json:"-"`                      // what [Open] takes; 0 is the best
	Name   string `json:"name"`                   // of the hardware, as its driver says
	Driver string `json:"driver,omitempty"`       // its name and version
	Kind   string `json:"kind"`                   // discrete, integrated, virtual, cpu or other
	API    string `json:"api,omitempty"`          // version of Vulkan
	Memory int64  `json:"memory_bytes,omitempty"` // of the largest device-local heap

	// Invocations of a subgroup. The last two are equal where it cannot be chosen.
	SubgroupSize int `json:"subgroup_size,omitempty"`
	SubgroupMin  int `json:"subgroup_min,omitempty"`
	SubgroupMax  int `json:"subgroup_max,omitempty"`

	Limits Limits `json:"limits,omitzero"`

	// products that the hardware does as one operation
	Cooperative []CooperativeShape `json:"cooperative_matrices,omitempty"`
	// some of them are what [Options.Mixed] needs
	Mixed bool `json:"mixed"`

	// Missing says why Open would refuse the device; empty where it would not.
	Missing string `json:"missing,omitempty"`
}

// Limits are what a launch may use at most.
type Limits struct {
	SharedBytes    int   `json:"shared_bytes"`    // memory of a workgroup
	MaxInvocations int   `json:"max_invocations"` // size of a workgroup
	MaxBinding     int64 `json:"max_binding"`     // bytes of a buffer that a shader sees as one
}

// CooperativeShape is one kind of product that a subgroup computes together:
// Result = A·B + C, with A of M×K, B of K×N, and types such as float16,
// bfloat16, float32.
type CooperativeShape struct {
	M      int    `json:"m"`
	N      int    `json:"n"`
	K      int    `json:"k"`
	A      string `json:"a"`
	B      string `json:"b"`
	C      string `json:"c"`
	Result string `json:"result"`
}

// String is such as "16×16×16 float16 → float32".
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

// Device is a GPU that models run on, as package sft takes it. [Open] opens one: there are
// no others.
type Device interface {
	// Name describes the device to a person.
	Name() string
	// Kernels names the device and its driver: the same bits are promised for one of each.
	Kernels() string
	// Slots is the number of programs that the device is best given at once.
	Slots() int
	// Info describes the device as [Devices] does.
	Info() Info
	// Messages returns what the validation layer has said since the last call:
	// nothing, if there is nothing wrong or SFTSEQ_VK_VALIDATE is not 1.
	Messages() []string
	// Close frees the device. Of one that went silent nothing is freed: the driver may
	// still be at work, and to wait for it would be to hang. What the validation layer
	// has said that Messages did not return, up to the very end, is an error.
	Close() error
}

// Options say which device is opened, and how it computes.
type Options struct {
	Index int
	Mixed bool // operands of matrix products in half precision
	// Notice is told, if it is there, of what will take a person by surprise: that
	// kernels are compiled as the device is new.
	Notice func(string)
}

// ErrUnavailable is what the errors of [Devices] and [Open] wrap where there is
// no Vulkan at all. Their text says what is missing and what to install.
var ErrUnavailable = errors.New("no Vulkan")

// errNoDriver is the reason where the loader is alone.
var errNoDriver = fmt.Errorf("%w: its loader finds no driver; install that of the graphics card, or Mesa's (Debian, Ubuntu: apt install mesa-vulkan-drivers)", ErrUnavailable)

// errNoLoader is the reason where the loader's library cannot be opened.
func errNoLoader(why string) error {
	return fmt.Errorf("%w: its loader libvulkan.so.1 cannot be opened (%s); install it and a driver (Debian, Ubuntu: apt install libvulkan1 mesa-vulkan-drivers)", ErrUnavailable, why)
}
