// Package device lists and opens the devices that models run on: the processor,
// and what Vulkan offers.
package device

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/simd"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/vk"
)

// Precision is what matrix products are computed in. All else is float32 in
// any case.
type Precision string

const (
	FP32  Precision = "fp32"  // the default
	Mixed Precision = "mixed" // operands in half precision, sums in float32
	// Fastest is Mixed where the device multiplies matrices so (Vulkan calls them
	// cooperative), otherwise FP32.
	Fastest Precision = "auto"
)

// Precisions lists them.
func Precisions() []string { return []string{string(FP32), string(Mixed), string(Fastest)} }

// MostThreads is how many of a processor's threads can be asked for: each takes memory.
const MostThreads = 4096

// Options say which device is opened, and how it computes. The zero value is
// the best device in float32.
type Options struct {
	// Name is one of [Names]. auto, the default, is a graphics processor if there
	// is one and otherwise the CPU; vulkan is the best that Vulkan offers, even if
	// that is a driver which computes on the CPU; vulkan:N is device N of [List].
	Name    string
	Threads int // that the CPU device uses at most; 0: all
	// Turn spreads the processes of a machine over its devices, where Name leaves the
	// choice: the process of turn 1 takes the second graphics processor, and so on, around.
	Turn      int
	Precision Precision
	// Notice is told, if it is there, of what will take a person by surprise.
	Notice func(string)
}

// Names lists what [Options.Name] may be.
func Names() []string { return []string{"auto", cpuName, "vulkan", "vulkan:N"} }

const vulkanPrefix = "vulkan:"

// Validate says what is wrong with the options on any machine.
func (o Options) Validate() error {
	_, known := o.index()
	switch {
	case !known && !slices.Contains([]string{"", "auto", cpuName, "vulkan"}, o.Name):
		return fmt.Errorf("unknown device %q, expected one of: %s", o.Name, strings.Join(Names(), ", "))
	case o.Threads < 0 || o.Threads > MostThreads:
		return fmt.Errorf("%d threads, expected 0 (all) to %d", o.Threads, MostThreads)
	case o.Precision != "" && !slices.Contains(Precisions(), string(o.Precision)):
		return fmt.Errorf("unknown precision %q, expected one of: %s", o.Precision, strings.Join(Precisions(), ", "))
	case o.Name == cpuName && o.Precision == Mixed:
		return errMixedCPU
	}
	return nil
}

// auto says that the choice is ours.
func (o Options) auto() bool { return o.Name == "" || o.Name == "auto" }

// index is N of vulkan:N.
func (o Options) index() (n int, ok bool) {
	digits, ok := strings.CutPrefix(o.Name, vulkanPrefix)
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(digits)
	return n, err == nil && n >= 0
}

var errMixedCPU = errors.New("precision mixed: the CPU computes in fp32; choose fp32 or auto")

// Device is what models run on.
type Device = sft.Device

// Open opens a device.
func Open(o Options) (Device, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if o.Name == cpuName {
		return openCPU(o)
	}
	found, err := vk.Devices()
	info, err := o.choose(found, err)
	switch {
	case err != nil:
		return nil, err
	case info == nil:
		return openCPU(o)
	}
	mixed := o.Precision == Mixed || o.Precision == Fastest && info.Mixed
	d, err := vk.Open(vk.Options{Index: info.Index, Mixed: mixed, Notice: o.Notice})
	if err != nil {
		return nil, o.refusal(err)
	}
	return d, nil
}

// refusal is the error of a device that was not opened; where it was not asked for,
// with a way out.
func (o Options) refusal(err error) error {
	if o.auto() {
		return fmt.Errorf("%w; --device cpu does without it", err)
	}
	return err
}

// Lost says that an error is that of a device which computes no more: its driver
// crashed, was reset or hangs.
func Lost(err error) bool {
	var lost *vk.LostError
	return errors.As(err, &lost)
}

// Full says that an error is that of a device which has no room left.
func Full(err error) bool {
	var full *vk.MemoryError
	return errors.As(err, &full)
}

func openCPU(o Options) (Device, error) {
	if o.Precision == Mixed {
		return nil, errMixedCPU
	}
	level, err := simd.Best()
	if err != nil {
		return nil, err
	}
	return cpu.NewLevel(o.Threads, level), nil
}

// choose picks one of the devices that Vulkan offers, nil for the CPU. Where
// there are none, the error says why.
func (o Options) choose(offered []vk.Info, unavailable error) (*vk.Info, error) {
	usable := func(i vk.Info) bool { return i.Missing == "" }
	graphics := those(offered, func(i vk.Info) bool {
		return usable(i) &&
			(i.Kind == "discrete" || i.Kind == "integrated")
	})
	if o.auto() {
		return o.turn(graphics), nil
	}
	if unavailable != nil {
		return nil, fmt.Errorf("device %s: %w", o.Name, unavailable)
	}
	if n, ok := o.index(); ok {
		if n >= len(offered) {
			return nil, fmt.Errorf("device %s: Vulkan offers %d (sftseq devices lists them)", o.Name, len(offered))
		}
		return &offered[n], nil
	}
	processors := func(i vk.Info) bool { return usable(i) && i.Kind == "cpu" }
	others := those(offered, func(i vk.Info) bool { return usable(i) && !processors(i) })
	for _, devices := range [][]vk.Info{others, those(offered, processors)} {
		if found := o.turn(devices); found != nil {
			return found, nil
		}
	}
	err := errors.New("device vulkan: none can be used")
	for _, i := range offered {
		err = fmt.Errorf("%w; %s: %s", err, i.Name, i.Missing)
	}
	return nil, err
}

// turn is the device of the process's turn, nil where there is none.
func (o Options) turn(devices []vk.Info) *vk.Info {
	if len(devices) == 0 {
		return nil
	}
	return &devices[o.Turn%len(devices)]
}

// those are the devices of a kind.
func those(offered []vk.Info, kind func(vk.Info) bool) (out []vk.Info) {
	for _, i := range offered {
		if kind(i) {
			out = append(out, i)
		}
	}
	return out
}
