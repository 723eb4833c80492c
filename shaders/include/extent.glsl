// The rows of a launch: all rows of the tensors, or a block of rows if more would not fit into a
// binding. See vk/extent.go.
#ifndef EXTENT_GLSL
#define EXTENT_GLSL

// EXTENT declares the first push constants: axis and capacity of the whole tensors, first row and
// number of rows of the block, and the width.
#define EXTENT uint axis, capacity, first, rows, width

// usedRows returns the number of rows in use of the block.
uint usedRows(uint axis, uint capacity, uint first, uint rows) {
    uint n = used(axis, capacity);
    return n > first ? min(n - first, rows) : 0;
}

#endif
