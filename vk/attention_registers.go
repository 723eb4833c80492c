//go:build cgo

package vk

import "github.com/sftseq/sftseq/internal/tensor"

// The kernels of attention hold rows and sums of a head's channels in registers. AMD's compiler gives an
// invocation 128 registers on RDNA 3, and up to 256 elsewhere at the cost of concurrency; it spills what is
// beyond to memory. There the kernels read rows again rather than hold them, go over the channels of their
// sums in passes, keep their own rows in shared memory, and share less of it for tiles. No bit depends on any
// of these: TestConformance compares. TestRADV has the registers that result.

// vendorAMD is the vendor of a device that saves registers.
const vendorAMD = 0x1002

// Sizes of two tiles of rows, in vectors of 16 bytes of shared memory: usual, and on a device that saves registers.
const tileVectors, smallTileVectors = 1024, 512

// A saving is how a kernel saves registers.
type saving struct {
	block  int    // channels of a pass
	held   [2]int // most channels of heads for which all own operands are held in registers, and all but the first
	shared int    // bytes of shared memory beside tiles and own rows
}

// savedChannels are those of the largest heads whose kernels save registers.
const savedChannels = 64

// forwardSaving is for the forward, whose long sums take twice the registers.
func forwardSaving(long bool) saving {
	const shared = 64*12 + 128*12 + 2*4*attentionRows*attentionSlices
	s := saving{block: savedChannels, held: [2]int{32, savedChannels}, shared: shared}
	if long {
		s.block = 32
	}
	return s
}

// queriesSaving is for the backward by queries, in one pass.
var queriesSaving = saving{block: savedChannels, held: [2]int{24, 32}, shared: queriesShared}

// keysSaving is for the backward by keys. The standardised score needs more registers than the others.
func keysSaving(score tensor.Score) saving {
	s := saving{block: 32, held: [2]int{16, 24}, shared: 4 * (2*64 + attentionRows*keySlices)}
	if score == tensor.MaxoutStandardized {
		s.block = 16
	}
	return s
}

// saved is the shape for a kernel that saves registers, if the device does. It stages fewer operands where the
// device has little shared memory.
func (a attentionShape) saved(l limits, s saving) attentionShape {
	if !l.savesRegisters || a.channels > savedChannels {
		return a
	}
	a.block, a.tile = s.block, a.tileOf(smallTileVectors)
	for _, held := range s.held {
		if a.channels > held {
			a.staged++
		}
	}
	for a.staged > 0 && a.rowBytes()+s.shared > l.sharedBytes {
		a.staged--
	}
	return a
}

// tileOf returns the rows of a tile: two tiles fit into the vectors.
func (a *attentionShape) tileOf(vectors int) int {
	tile := 64
	for tile*2*blocks(a.channels, 4) > vectors {
		tile /= 2
	}
	return tile
}

// ownBytes are the shared memory of a workgroup's own rows.
func (a *attentionShape) ownBytes() int {
	return 16 * max(1, a.staged*blocks(a.channels, 4)*attentionRows)
}

// rowBytes are the shared memory of tiles and own rows.
func (a *attentionShape) rowBytes() int {
	vectors := tileVectors
	if a.block > 0 {
		vectors = smallTileVectors
	}
	return 16*vectors + a.ownBytes()
}

// passes is the number of passes over the channels of sums.
func (a *attentionShape) passes() int {
	if a.block == 0 {
		return 1
	}
	return blocks(a.channels, a.block)
}
