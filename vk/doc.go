// Package vk runs recorded programs of kernels through Vulkan 1.2 on GPUs of any vendor, and on
// Mesa's lavapipe, which computes on the CPU.
//
// [Devices] lists the available devices, and [Open] opens one. A program is prepared once for a
// device: its memory is bound, the shaders of package shaders are specialised, and its commands are
// recorded, so that a run only submits them. Several runs may be active concurrently.
//
// Without cgo there is no Vulkan: the package compiles, but finds no devices.
package vk
