// Package device lists and opens the devices that models run on: the CPU and Vulkan devices.
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

// Precision is the format of the operands of matrix products. All other numbers are float32.
type Precision string

const (
	FP32  Precision = "fp32"  // float32, the default
	Mixed Precision = "mixed" // operands in half precision, sums in float32
	// Fastest is Mixed if the device has Vulkan's cooperative matrices, otherwise FP32.
	Fastest Precision = "auto"
)

// Precisions returns all values of Precision.
func Precisions() []string { return []string{string(FP32), string(Mixed), string(Fastest)} }

// MaxThreads is the maximum number of CPU threads. It is bounded because each thread needs memory.
const MaxThreads = 4096

// Options select a device and its precision. The zero value is the best device in float32.
type Options struct {
	// Name is one of [Names]. The default, auto, selects a GPU if there is one, and otherwise the
	// CPU. The name vulkan selects the best Vulkan device, even if its driver computes on the CPU;
	// vulkan:N selects device N of [List].
	Name    string
	Threads int // maximum number of threads of the CPU device; 0 means all
	// Turn distributes the processes of a machine over its GPUs if Name does not select one. Turn 0
	// takes the first GPU, turn 1 the second, and so on, modulo the number of GPUs.
	Turn      int
	Precision Precision
	// Notice, if set, receives messages for the user, such as that the first run on a device
	// compiles kernels.
	Notice func(string)
}

// Names returns the possible values of [Options.Name].
func Names() []string { return []string{"auto", cpuName, "vulkan", "vulkan:N"} }

const vulkanPrefix = "vulkan:"

// Validate returns an error if the options are invalid on every machine.
func (o Options) Validate() error {
	switch {
	case !o.ValidName():
		return fmt.Errorf("device %q: expected one of: %s", o.Name, strings.Join(Names(), ", "))
	case o.Threads < 0 || o.Threads > MaxThreads:
		return fmt.Errorf("threads %d: expected 0 (all) to %d", o.Threads, MaxThreads)
	case o.Precision != "" && !slices.Contains(Precisions(), string(o.Precision)):
		return fmt.Errorf("precision %q: expected one of: %s", o.Precision, strings.Join(Precisions(), ", "))
	case o.Name == cpuName && o.Precision == Mixed:
		return errMixedCPU
	}
	return nil
}

// ValidName reports whether Name has one of the forms in [Names] or is empty. It does not check that
// the device exists.
func (o Options) ValidName() bool {
	_, indexed := o.index()
	return indexed || slices.Contains([]string{"", "auto", cpuName, "vulkan"}, o.Name)
}

// isAuto reports whether Open chooses between a GPU and the CPU.
func (o Options) isAuto() bool { return o.Name == "" || o.Name == "auto" }

// index returns N if the name is vulkan:N.
func (o Options) index() (n int, ok bool) {
	digits, ok := strings.CutPrefix(o.Name, vulkanPrefix)
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(digits)
	return n, err == nil && n >= 0
}

var errMixedCPU = errors.New(`precision "mixed": expected fp32 or auto, because the CPU computes in fp32`)

// Device is the interface of devices that run models.
type Device = sft.Device

// Open opens the device that the options select. If auto selects a GPU that cannot be opened, Open
// returns an error and does not use the CPU instead.
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
		return nil, o.openError(err)
	}
	return d, nil
}

// openError returns the error of a device that could not be opened. If the user did not name the
// device, it adds a hint to use the CPU.
func (o Options) openError(err error) error {
	if o.isAuto() {
		return fmt.Errorf("%w (use --device cpu to compute on the CPU)", err)
	}
	return err
}

// Lost reports whether an error means that a device no longer computes: its driver has reported it
// as lost, or does not respond.
func Lost(err error) bool {
	var lost *vk.LostError
	return errors.As(err, &lost)
}

// Full reports whether an error means that a device is out of memory.
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

// choose returns the selected Vulkan device, or nil for the CPU. If Vulkan is needed but
// unavailable, the error contains the reason.
func (o Options) choose(offered []vk.Info, unavailable error) (*vk.Info, error) {
	isUsable := func(i vk.Info) bool { return i.Missing == "" }
	gpus := selectDevices(offered, func(i vk.Info) bool {
		return isUsable(i) &&
			(i.Kind == "discrete" || i.Kind == "integrated")
	})
	if o.isAuto() {
		return o.deviceForTurn(gpus), nil
	}
	if unavailable != nil {
		return nil, fmt.Errorf("device %s: %w", o.Name, unavailable)
	}
	if n, ok := o.index(); ok {
		if n >= len(offered) {
			if len(offered) == 1 {
				return nil, fmt.Errorf("device %s: expected vulkan:0, the only Vulkan device found (sftseq devices "+
					"lists it)", o.Name)
			}
			return nil, fmt.Errorf("device %s: expected vulkan:0 to vulkan:%d, the Vulkan devices found "+
				"(sftseq devices lists them)", o.Name, len(offered)-1)
		}
		return &offered[n], nil
	}
	isCPU := func(i vk.Info) bool { return isUsable(i) && i.Kind == "cpu" }
	nonCPUs := selectDevices(offered, func(i vk.Info) bool { return isUsable(i) && !isCPU(i) })
	for _, devices := range [][]vk.Info{nonCPUs, selectDevices(offered, isCPU)} {
		if found := o.deviceForTurn(devices); found != nil {
			return found, nil
		}
	}
	err := errors.New("device vulkan: none can be used")
	for _, i := range offered {
		err = fmt.Errorf("%w; %s: %s", err, i.Name, i.Missing)
	}
	return nil, err
}

// deviceForTurn returns the device for the process's turn, or nil if there are no devices.
func (o Options) deviceForTurn(devices []vk.Info) *vk.Info {
	if len(devices) == 0 {
		return nil
	}
	return &devices[o.Turn%len(devices)]
}

// selectDevices returns the devices for which include returns true.
func selectDevices(devices []vk.Info, include func(vk.Info) bool) (out []vk.Info) {
	for _, i := range devices {
		if include(i) {
			out = append(out, i)
		}
	}
	return out
}

// Info describes a device of this machine.
type Info struct {
	Device string `json:"device"` // value for [Options.Name]
	vk.Info
}

// Vulkan reports whether this program is built with Vulkan support, which needs cgo. [List] shows
// whether the machine has Vulkan devices.
const Vulkan = vk.Built

// cpuName is the name of the CPU device.
const cpuName = "cpu"

// List returns the devices of this machine: the Vulkan devices, best first, then the CPU. If there
// are no Vulkan devices, unavailable states the reason.
func List() (devices []Info, unavailable error) {
	offered, unavailable := vk.Devices()
	for _, i := range offered {
		devices = append(devices, Info{fmt.Sprint(vulkanPrefix, i.Index), i})
	}
	cpuInfo := vk.Info{Name: cpuName, Kind: "cpu"}
	if d, err := openCPU(Options{}); err != nil {
		cpuInfo.Missing = err.Error()
	} else {
		cpuInfo.Name = d.Name()
	}
	return append(devices, Info{cpuName, cpuInfo}), unavailable
}
