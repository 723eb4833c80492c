// Package shaders holds the kernels of the Vulkan device: for each the GLSL
// source, NAME.comp, and beside it the SPIR-V that the program embeds, NAME.spv.
// What several share is in include.
//
// SPIR-V is committed, so that only who changes a shader needs a compiler; make
// shaders calls it and records in sources.sum which source a file was compiled
// from. This package's tests find a source that is newer than its SPIR-V.
// Shaders for cooperative matrices need a newer one than the others, glslang 15,
// and 16 for bfloat16: newer-tools.sh brings it where apt is.
package shaders
