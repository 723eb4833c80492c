// The rows of a launch: of whole tensors, or of a block of them if more would not fit into a
// binding. See vk/extent.go.
#ifndef EXTENT_GLSL
#define EXTENT_GLSL

// EXTENT begins the push constants: the axis and the capacity of the whole
// tensors, the first row and the number of rows of the block, and their width.
#define EXTENT uint axis, capacity, first, rows, width

// usedRows is the number of a block's rows in use.
uint usedRows(uint axis, uint capacity, uint first, uint rows) {
    uint n = used(axis, capacity);
    return n > first ? min(n - first, rows) : 0;
}

#endif
