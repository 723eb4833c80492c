package device

import (
	"fmt"

	"github.com/sftseq/sftseq/vk"
)

// Info describes a device of this machine.
type Info struct {
	Device string `json:"device"` // what [Options.Name] takes
	vk.Info
}

// Vulkan reports whether this program has it, which needs cgo; [List] tells whether the
// machine has.
const Vulkan = vk.Built

// cpuName is what the CPU device is called.
const cpuName = "cpu"

// List lists the devices of this machine: what Vulkan offers, the best first,
// then the CPU, of which little is known. It returns why Vulkan offers nothing
// where that is so.
func List() (devices []Info, unavailable error) {
	offered, unavailable := vk.Devices()
	for _, i := range offered {
		devices = append(devices, Info{fmt.Sprint(vulkanPrefix, i.Index), i})
	}
	self := vk.Info{Name: cpuName, Kind: "cpu"}
	if d, err := openCPU(Options{}); err != nil {
		self.Missing = err.Error()
	} else {
		self.Name = d.Name()
	}
	return append(devices, Info{cpuName, self}), unavailable
}
