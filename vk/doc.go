// Package vk runs recorded programs of kernels through Vulkan 1.2, on GPUs of any vendor and on
// Mesa's lavapipe, a Vulkan driver for CPUs.
//
// [Devices] lists the available devices, and [Open] opens one. A program is prepared once for a
// device: the package specialises the shaders, binds the memory and records the commands. A run
// then only submits the commands. Several runs may be active concurrently.
//
// Without cgo the package compiles, but [Devices] and [Open] return [ErrUnavailable].
package vk
