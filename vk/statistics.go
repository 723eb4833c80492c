//go:build cgo

package vk

/*
#include "shim.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"slices"
	"unsafe"
)

const statisticsExtension = "VK_KHR_pipeline_executable_properties"

// compiler is a device that compiles pipelines and reports their statistics. It cannot run them,
// because drivers that compile for missing hardware have no queues or semaphores.
type compiler struct{ *gpu }

// openCompiler opens the best device, with the features for mixed precision if mixed is set.
func openCompiler(mixed bool) (*compiler, error) {
	i, err := openInstance()
	if err != nil {
		return nil, err
	}
	c := &compiler{&gpu{instance: i}}
	if err := c.open(mixed); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (c *compiler) open(mixed bool) error {
	list, err := c.instance.physicals()
	if err != nil {
		return err
	}
	p := list[0]
	c.physical, c.limits = p, p.limits
	c.pipelines = pipelines{device: c.gpu, layouts: map[int]layout{}, built: map[string]*pipeline{}}
	switch {
	case p.info.Missing != "":
		return fmt.Errorf("the device %s cannot be used: %s", p.info.Name, p.info.Missing)
	case !slices.Contains(p.extensions, statisticsExtension):
		return fmt.Errorf("the device %s does not support %s", p.info.Name, statisticsExtension)
	}
	features := C.shim_features{statistics: 1, subgroup_size_control: p.features.subgroup_size_control}
	if mixed {
		if c.mixed, err = p.mixed(); err != nil {
			return fmt.Errorf("the device %s: %w", p.info.Name, err)
		}
		features.cooperative, features.memory_model, features.float16 = 1, 1, 1
		features.bfloat16 = C.uint32_t(boolWord(c.mixed.bfloat16()))
	}
	r := C.shim_open(unsafe.Pointer(c.instance.vk), unsafe.Pointer(p.vk), C.uint32_t(p.api), &features,
		C.uint32_t(p.family), 1, &c.shim)
	return c.check("create the logical device", r)
}

// compile compiles the pipeline of a dispatch and returns the compiler's statistics. The keys are
// the driver's names of the statistics.
func (c *compiler) compile(d dispatch) (map[string]uint64, error) {
	p, err := c.pipelines.get(d.shader, d.constants, d.subgroup, len(d.operands))
	if err != nil {
		return nil, err
	}
	var list [64]C.shim_statistic
	n := int(C.shim_pipeline_statistics(c.shim, p.handle, &list[0], C.int(len(list))))
	if n <= 0 {
		return nil, fmt.Errorf("the device %s reports no statistics of %s", c.physical.info.Name, d.shader)
	}
	out := map[string]uint64{}
	for _, s := range list[:n] {
		out[C.GoString(&s.name[0])] = uint64(s.value)
	}
	return out, nil
}

// Close frees the pipelines and the device.
func (c *compiler) Close() error {
	if c.shim != nil {
		c.pipelines.close()
		C.shim_close(c.shim)
	}
	c.instance.close()
	return nil
}
