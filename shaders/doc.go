// Package shaders contains the kernels of the Vulkan device. A kernel has a GLSL source, NAME.comp,
// and the SPIR-V that the program embeds, NAME.spv. Shared code is in include.
//
// SPIR-V is committed, so that only changes of shaders require a compiler. "make shaders" compiles
// the changed shaders, and records the checksums of source and SPIR-V in sources.sum. The tests
// fail if a source has changed since then. Shaders with cooperative matrices need newer tools than the
// packages of Debian 12: newer-tools.sh downloads these tools with apt.
package shaders
