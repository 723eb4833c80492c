//go:build cgo

package vk

/*
#include "shim.h"
*/
import "C"

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"unsafe"

	vulkan "github.com/vulkan-go/vulkan"
)

// limits holds the limits and properties of a device on which kernels and their launches depend.
type limits struct {
	maxRange       int64   // maximum bytes per operand
	maxBlock       int64   // maximum bytes per allocation
	maxGroups      [2]int  // maximum workgroups per dispatch in x and y
	maxInvocations int     // maximum invocations per workgroup
	sharedBytes    int     // maximum bytes of shared memory per workgroup
	alignment      int     // alignment of an operand's offset in bytes
	buffers        int     // maximum operands per shader
	timestamp      float64 // nanoseconds per tick
	timestampBits  int     // valid bits per timestamp; 0 means that the device has no timestamps
	subgroupMin    int     // minimum invocations per subgroup
	subgroupMax    int     // maximum invocations per subgroup
	savesRegisters bool    // true if kernels save registers, see saving
}

// physical is a physical device that the loader lists.
type physical struct {
	vk         vulkan.PhysicalDevice
	info       Info
	api        uint32
	limits     limits
	features   C.shim_features
	extensions []string
	cache      string // key of the pipeline cache: hardware and driver version
	memory     vulkan.PhysicalDeviceMemoryProperties
	family     uint32 // index of the queue family
	queues     int    // number of queues
}

// kinds maps VkPhysicalDeviceType to names and ranks. Rank 0 is the best.
var kinds = []struct {
	name string
	rank int
}{{"other", 3}, {"integrated", 1}, {"discrete", 0}, {"virtual", 2}, {"cpu", 4}}

// physicals returns the devices of an instance, best first: discrete, integrated, virtual, other,
// CPU. Devices of the same kind are sorted by memory, largest first.
func (i *instance) physicals() ([]*physical, error) {
	instances.Lock()
	defer instances.Unlock()
	var n uint32
	switch r := vulkan.EnumeratePhysicalDevices(i.vk, &n, nil); {
	case r == vulkan.ErrorInitializationFailed || r == vulkan.Success && n == 0: // no driver supports the hardware
		return nil, errNoDriver
	case r != vulkan.Success:
		return nil, fmt.Errorf("list Vulkan devices: %w", resultError(int32(r)))
	}
	handles := make([]vulkan.PhysicalDevice, n)
	if r := vulkan.EnumeratePhysicalDevices(i.vk, &n, handles); r != vulkan.Success {
		return nil, fmt.Errorf("list Vulkan devices: %w", resultError(int32(r)))
	}
	var list []*physical
	for _, h := range handles[:n] {
		list = append(list, i.query(h))
	}
	rank := func(p *physical) int {
		for _, k := range kinds {
			if k.name == p.info.Kind {
				return k.rank
			}
		}
		return len(kinds)
	}
	slices.SortStableFunc(list, func(a, b *physical) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(b.info.Memory, a.info.Memory))
	})
	for index, p := range list {
		p.info.Index = index
	}
	return list, nil
}

// groupCount converts a limit to an int, capped at the maximum of a 32-bit int.
func groupCount(n uint32) int { return int(min(n, math.MaxInt32)) }

func (i *instance) query(h vulkan.PhysicalDevice) *physical {
	p := &physical{vk: h}
	var properties vulkan.PhysicalDeviceProperties
	vulkan.GetPhysicalDeviceProperties(h, &properties)
	properties.Deref()
	properties.Limits.Deref()
	l := properties.Limits
	p.api = properties.ApiVersion
	p.info.Name = vulkan.ToString(properties.DeviceName[:])
	p.info.API = vulkan.Version(properties.ApiVersion).String()
	p.info.Kind = "other"
	if t := int(properties.DeviceType); t < len(kinds) {
		p.info.Kind = kinds[t].name
	}
	p.limits = limits{
		maxRange:  int64(l.MaxStorageBufferRange),
		maxGroups: [2]int{groupCount(l.MaxComputeWorkGroupCount[0]), groupCount(l.MaxComputeWorkGroupCount[1])},

		maxInvocations: int(min(l.MaxComputeWorkGroupInvocations, l.MaxComputeWorkGroupSize[0])),
		sharedBytes:    int(l.MaxComputeSharedMemorySize),
		alignment:      int(l.MinStorageBufferOffsetAlignment), buffers: int(l.MaxPerStageDescriptorStorageBuffers),
		timestamp:      float64(l.TimestampPeriod),
		savesRegisters: properties.VendorID == vendorAMD,
	}
	p.cache = fmt.Sprintf("%x-%x-%x-%x", properties.VendorID, properties.DeviceID, properties.DriverVersion,
		properties.PipelineCacheUUID)
	properties.Free()

	var extended C.shim_properties
	C.shim_query_properties(unsafe.Pointer(i.vk), unsafe.Pointer(h), C.uint32_t(p.api), &extended)
	p.info.Driver = C.GoString(&extended.driver_name[0]) + " " + C.GoString(&extended.driver_info[0])
	p.info.SubgroupSize, p.info.SubgroupMin, p.info.SubgroupMax = int(extended.subgroup_size),
		int(extended.subgroup_min), int(extended.subgroup_max)
	p.limits.subgroupMin, p.limits.subgroupMax = p.info.SubgroupMin, p.info.SubgroupMax
	p.limits.maxBlock = p.maxBlock(uint64(extended.max_allocation), uint64(extended.max_buffer))

	vulkan.GetPhysicalDeviceMemoryProperties(h, &p.memory)
	p.memory.Deref()
	for n := range p.memory.MemoryHeapCount {
		p.memory.MemoryHeaps[n].Deref()
		heap := p.memory.MemoryHeaps[n]
		if heap.Flags&vulkan.MemoryHeapFlags(vulkan.MemoryHeapDeviceLocalBit) != 0 {
			p.info.Memory = max(p.info.Memory, int64(heap.Size))
		}
	}
	for n := range p.memory.MemoryTypeCount {
		p.memory.MemoryTypes[n].Deref()
	}
	p.memory.Free() // free the C copies of the properties
	p.extensions = lines(C.shim_extensions(unsafe.Pointer(i.vk), unsafe.Pointer(h)))
	supports := func(extension string) C.int { return C.int(boolWord(slices.Contains(p.extensions, extension))) }
	C.shim_query_features(unsafe.Pointer(i.vk), unsafe.Pointer(h), C.uint32_t(p.api), supports(cooperativeExtension),
		supports(bfloat16Extension), &p.features)
	if extended.required_stages&computeStage == 0 {
		p.features.subgroup_size_control = 0 // the feature does not cover compute shaders
	}
	if p.features.cooperative != 0 {
		p.queryCooperative(i)
	}
	_, err := p.mixed()
	p.info.Mixed = err == nil
	p.queryQueue(i)
	p.info.Limits = Limits{SharedBytes: p.limits.sharedBytes, MaxInvocations: p.limits.maxInvocations,
		MaxBinding: p.limits.maxRange}
	p.checkRequirements(uint32(extended.subgroup_operations), uint32(extended.subgroup_stages))
	return p
}

// maxBlock returns the maximum size of a block in bytes: the maximum size of a buffer, if the driver
// reports it. A driver may allow larger allocations than it reports, so maxBlock ignores the maximum
// size of an allocation, except for CPUs: lavapipe counts the bytes of a buffer in 31 bits.
func (p *physical) maxBlock(allocation, buffer uint64) int64 {
	limit := uint64(math.MaxInt64)
	if buffer > 0 {
		limit = min(limit, buffer)
	}
	if p.info.Kind == "cpu" && allocation > 0 {
		limit = min(limit, allocation)
	}
	return int64(limit)
}

// componentTypes maps VkComponentTypeKHR to names.
var componentTypes = map[C.uint32_t]string{0: "float16", 1: "float32", 2: "float64", 3: "int8",
	4: "int16", 5: "int32", 6: "int64",
	7: "uint8", 8: "uint16", 9: "uint32", 10: "uint64", 1000141000: "bfloat16", 1000491002: "float8_e4m3",
	1000491003: "float8_e5m2"}

const (
	subgroupScope = 3
	computeStage  = 0x20
)

func (p *physical) queryCooperative(i *instance) {
	var shapes [256]C.shim_cooperative
	n := int(C.shim_query_cooperative(unsafe.Pointer(i.vk), unsafe.Pointer(p.vk), &shapes[0], C.int(len(shapes))))
	for _, s := range shapes[:n] {
		if s.scope == subgroupScope {
			p.info.Cooperative = append(p.info.Cooperative, CooperativeShape{M: int(s.m), N: int(s.n), K: int(s.k),
				A: componentTypes[s.a], B: componentTypes[s.b], C: componentTypes[s.c],
				Result: componentTypes[s.result]})
		}
	}
}

// mixed returns the cooperative matrices for mixed precision.
func (p *physical) mixed() (*mixed, error) {
	f := p.features
	return chooseMixed(p.info.Cooperative, cooperativeFeatures{matrices: f.cooperative != 0,
		memoryModel: f.memory_model != 0,
		float16:     f.float16 != 0, bfloat16: f.bfloat16 != 0})
}

func (p *physical) queryQueue(i *instance) {
	var bits, queues C.uint32_t
	family := C.shim_query_queue(unsafe.Pointer(i.vk), unsafe.Pointer(p.vk), &bits, &queues)
	p.family, p.limits.timestampBits, p.queues = uint32(family), int(bits), int(queues)
	if family < 0 {
		p.info.Missing = "it has no compute queue"
	}
}

// checkRequirements sets info.Missing to the first requirement of the shaders that the device does not meet.
func (p *physical) checkRequirements(operations, stages uint32) {
	const basicAndArithmeticAndBallot = 0x1 | 0x4 | 0x8
	switch {
	case p.info.Missing != "":
	case p.api < uint32(vulkan.MakeVersion(1, 2, 0)):
		p.info.Missing = "it supports Vulkan " + p.info.API + ", expected at least 1.2"
	case operations&basicAndArithmeticAndBallot != basicAndArithmeticAndBallot || stages&computeStage == 0:
		p.info.Missing = "its subgroups do not support arithmetic and ballots in compute shaders"
	case p.limits.maxInvocations < 256:
		p.info.Missing = fmt.Sprintf("its workgroups have at most %d invocations, expected at least 256",
			p.limits.maxInvocations)
	case p.limits.sharedBytes < 32<<10:
		p.info.Missing = fmt.Sprintf("its workgroups share at most %d KiB of memory, expected at least 32 KiB",
			p.limits.sharedBytes>>10)
	case p.limits.buffers < 19:
		p.info.Missing = fmt.Sprintf("its shaders have at most %d storage buffers, expected at least 19",
			p.limits.buffers)
	}
}

// memoryType returns the first allowed memory type with the required and the preferred properties.
// Without such a type, it returns the first allowed type with the required properties, or else the
// first allowed type.
func (p *physical) memoryType(allowed uint32, required, preferred vulkan.MemoryPropertyFlagBits) uint32 {
	for _, flags := range []vulkan.MemoryPropertyFlagBits{required | preferred, required} {
		for n := range p.memory.MemoryTypeCount {
			if allowed&(1<<n) != 0 &&
				vulkan.MemoryPropertyFlagBits(p.memory.MemoryTypes[n].PropertyFlags)&flags == flags {
				return n
			}
		}
	}
	return uint32(bits.TrailingZeros32(allowed))
}

// heapOf returns the heap index of a memory type.
func (p *physical) heapOf(memoryType uint32) uint32 {
	return p.memory.MemoryTypes[memoryType].HeapIndex
}

// heapBytes returns the size in bytes of a memory type's heap.
func (p *physical) heapBytes(memoryType uint32) int64 {
	return int64(p.memory.MemoryHeaps[p.heapOf(memoryType)].Size)
}

// freeBytes returns the number of free bytes in a memory type's heap. It returns false if the driver
// does not report them.
func (p *physical) freeBytes(i *instance, memoryType uint32) (bytes int64, ok bool) {
	if !slices.Contains(p.extensions, "VK_EXT_memory_budget") {
		return 0, false
	}
	var heaps [16]C.shim_heap
	C.shim_query_budget(unsafe.Pointer(i.vk), unsafe.Pointer(p.vk), &heaps[0], C.int(len(heaps)))
	h := heaps[p.heapOf(memoryType)]
	return max(0, int64(h.budget)-int64(h.usage)), true
}

// Devices lists the Vulkan devices, best first. [Info.Index] is the value for [Options.Index].
func Devices() ([]Info, error) {
	i, err := openInstance()
	if err != nil {
		return nil, err
	}
	defer i.close()
	list, err := i.physicals()
	if err != nil {
		return nil, err
	}
	var infos []Info
	for _, p := range list {
		infos = append(infos, p.info)
	}
	return infos, nil
}
