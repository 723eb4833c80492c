// Package shaders has the kernels of the Vulkan device: for each the GLSL source, NAME.comp, and
// the SPIR-V that the program embeds, NAME.spv. Shared code is in include.
//
// SPIR-V is committed, so that only changes of shaders require a compiler. make shaders calls it
// and records in sources.sum the source of each file. This package's tests find a source that is
// newer than its SPIR-V. Shaders with cooperative matrices need a newer compiler, glslang 15, or 16
// for bfloat16, which newer-tools.sh installs with apt.
package shaders
