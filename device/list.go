package device

import (
	"fmt"

	"github.com/sftseq/sftseq/vk"
)

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
	self := vk.Info{Name: cpuName, Kind: "cpu"}
	if d, err := openCPU(Options{}); err != nil {
		self.Missing = err.Error()
	} else {
		self.Name = d.Name()
	}
	return append(devices, Info{cpuName, self}), unavailable
}
