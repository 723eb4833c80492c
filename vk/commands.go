//go:build cgo

package vk

/*
#include "shim.h"
*/
import "C"

import "unsafe"

// commands is a command buffer with the fence that signals its completion.
type commands struct {
	device *gpu
	buffer unsafe.Pointer
	fence  C.handle
}

func (d *gpu) newCommands() (*commands, error) {
	c := &commands{device: d}
	d.queue.Lock()
	err := d.check("allocate a command buffer", C.shim_commands_allocate(d.shim, d.pool, &c.buffer))
	d.queue.Unlock()
	if err == nil {
		err = d.check("create a fence", C.shim_fence_create(d.shim, &c.fence))
	}
	if err != nil {
		c.free()
		return nil, err
	}
	return c, nil
}

// free releases the command buffer. The device must have completed it.
func (c *commands) free() {
	if c == nil || c.device.silent() {
		return
	}
	c.device.queue.Lock()
	defer c.device.queue.Unlock()
	if c.buffer != nil {
		C.shim_commands_free(c.device.shim, c.device.pool, c.buffer)
	}
	C.shim_fence_destroy(c.device.shim, c.fence)
}

// record fills the command buffer with the steps. If queries is not 0, it adds a timestamp before the
// first step and after each step; joined steps share a timestamp.
func (c *commands) record(steps []C.shim_step, queries C.handle) error {
	if err := c.device.checkOpen(); err != nil {
		return err
	}
	c.device.queue.Lock()
	defer c.device.queue.Unlock()
	return c.device.check("record commands", C.shim_record(c.device.shim, c.buffer, unsafe.SliceData(steps),
		C.uint32_t(len(steps)), queries))
}

// submit appends the command buffer to a queue. The commands begin when the value of the device's
// timeline is at least the argument wait. When they complete, they set the timeline to the argument
// signal. An argument of 0 means no wait or no signal. After an error nothing is queued.
func (c *commands) submit(queue int, wait, signal uint64) error {
	if err := c.device.checkOpen(); err != nil {
		return err
	}
	c.device.queue.Lock()
	defer c.device.queue.Unlock()
	return c.device.check("submit", C.shim_submit(c.device.shim, C.uint32_t(queue), c.buffer, c.fence,
		C.uint64_t(wait), C.uint64_t(signal)))
}

// run records the steps, submits them to the first queue and waits for their completion.
func (c *commands) run(steps []C.shim_step) error {
	err := c.record(steps, 0)
	if err == nil {
		err = c.submit(0, 0, 0)
	}
	if err == nil {
		err = c.wait()
	}
	return err
}

// wait waits until the submission is complete. If c is nil, it returns immediately.
func (c *commands) wait() error {
	if c == nil {
		return nil
	}
	if c.device.silent() { // another wait would time out, too
		return c.device.checkOpen()
	}
	return c.device.check("wait", C.shim_wait(c.device.shim, c.fence, C.uint64_t(timeout)))
}
