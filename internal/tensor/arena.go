package tensor

import (
	"cmp"
	"slices"
)

// alignment is the alignment of tensors in the arena, in words. It is a multiple of a cache line, and the
// largest alignment of storage buffers that a Vulkan device may require (256 bytes).
const alignment = 64

// place sets the offset of each tensor so that tensors with overlapping lifetimes share no memory.
// Kept tensors live until the launch with index end. Tensors that no launch touches get no memory. place
// returns the required number of words. It places large tensors first, each at the lowest offset where it
// shares no memory with placed tensors of overlapping lifetimes.
func place(ts []*Tensor, end int) int {
	var used []*Tensor
	for _, t := range ts {
		if t.first < 0 {
			continue
		}
		if t.kept {
			t.last = end
		}
		used = append(used, t)
	}
	slices.SortStableFunc(used, func(a, b *Tensor) int { return cmp.Compare(b.Words(), a.Words()) })

	var placed []*Tensor // sorted by offset
	total := 0
	for _, t := range used {
		offset := 0
		for _, o := range placed {
			if o.last < t.first || t.last < o.first {
				continue
			}
			if o.Offset >= offset+t.Words() {
				break
			}
			offset = max(offset, align(o.Offset+o.Words()))
		}
		t.Offset = offset
		total = max(total, align(offset+t.Words()))
		i, _ := slices.BinarySearchFunc(placed, offset,
			func(o *Tensor, offset int) int { return cmp.Compare(o.Offset, offset) })
		placed = slices.Insert(placed, i, t)
	}
	return total
}

// extendLifetime makes a narrow tensor (one word per row) live during all launches with the indices from … to,
// if it lives during any of them. Without the extension, the tensor could be placed across the rows of dead
// wide tensors, which would prevent launches from running together row by row.
func (t *Tensor) extendLifetime(from, to int) {
	if t.Rows == Fixed || t.Width() > 1 || t.first < 0 || t.first > to || t.last < from {
		return
	}
	t.first, t.last = min(t.first, from), max(t.last, to)
}

// align returns n words, rounded up to the alignment.
func align(n int) int { return (n + alignment - 1) / alignment * alignment }
