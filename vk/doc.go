// Package vk runs recorded programs of kernels through Vulkan 1.2, on GPUs of any vendor and on
// Mesa's lavapipe, a Vulkan driver for CPUs.
//
// [Devices] lists the available devices, and [Open] opens one. Preparing a program specialises and
// compiles its shaders. The first run with given memories binds them and records the commands;
// later runs only submit the commands. Several runs may be active concurrently.
//
// Without cgo the package compiles, but [Devices] and [Open] return [ErrUnavailable].
package vk
