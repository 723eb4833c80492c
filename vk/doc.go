// Package vk runs recorded programs of kernels on graphics processors through Vulkan 1.2,
// whoever made them, and on Mesa's lavapipe, which computes on the processor.
//
// [Devices] lists what there is, and [Open] opens one. A program is prepared once for a
// device: its memory is bound, the shaders of package shaders are specialized, and its
// commands are recorded, so that a run submits what is there already. Several runs may be
// under way at once.
//
// Without cgo there is no Vulkan: the package compiles, and has no devices.
package vk
