//go:build cgo

package vk

import "github.com/sftseq/sftseq/internal/tensor"

// The attention kernels hold rows and sums of a head's channels in registers. AMD's compiler gives
// an invocation 128 registers on RDNA 3, and up to 256 elsewhere at the cost of concurrency; it
// spills further registers to memory. On these devices the kernels therefore reread rows, process
// the channels of their sums in several passes, keep their own rows in shared memory, and use
// smaller tiles. The results have the same bits, which TestConformance checks. TestRADV counts the
// registers.

// vendorAMD is the vendor id of devices whose kernels save registers.
const vendorAMD = 0x1002

// Two tiles of rows occupy at most tileVectors vectors of 16 bytes in shared memory, or
// smallTileVectors on devices whose kernels save registers.
const tileVectors, smallTileVectors = 1024, 512

// saving configures how a kernel saves registers.
type saving struct {
	block  int    // channels per pass
	held   [2]int // maximum channels per head with all own operands in registers, and with all but the first
	shared int    // bytes of shared memory besides tiles and own rows
}

// savedChannels is the maximum head size of kernels that save registers.
const savedChannels = 64

// forwardSaving configures the forward pass, whose long sums need twice the registers.
func forwardSaving(long bool) saving {
	const shared = 64*12 + 128*12 + 2*4*attentionRows*attentionSlices
	s := saving{block: savedChannels, held: [2]int{32, savedChannels}, shared: shared}
	if long {
		s.block = 32
	}
	return s
}

// queriesSaving configures the backward pass by queries, in one pass.
var queriesSaving = saving{block: savedChannels, held: [2]int{24, 32}, shared: queriesShared}

// keysSaving configures the backward pass by keys. The standardised score needs more registers than
// the other scores.
func keysSaving(score tensor.Score) saving {
	s := saving{block: 32, held: [2]int{16, 24}, shared: 4 * (2*64 + attentionRows*keySlices)}
	if score == tensor.MaxoutStandardized {
		s.block = 16
	}
	return s
}

// saved returns the shape for a kernel that saves registers, if the device needs it. It stages
// fewer operands if the device has little shared memory.
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

// tileOf returns the number of rows per tile, so that two tiles fit into the given number of
// vectors.
func (a *attentionShape) tileOf(vectors int) int {
	tile := 64
	for tile*2*blocks(a.channels, 4) > vectors {
		tile /= 2
	}
	return tile
}

// ownBytes returns the number of bytes of shared memory for a workgroup's own rows.
func (a *attentionShape) ownBytes() int {
	return 16 * max(1, a.staged*blocks(a.channels, 4)*attentionRows)
}

// rowBytes returns the number of bytes of shared memory for tiles and own rows.
func (a *attentionShape) rowBytes() int {
	vectors := tileVectors
	if a.block > 0 {
		vectors = smallTileVectors
	}
	return 16*vectors + a.ownBytes()
}

// passes returns the number of passes in which a kernel computes the channels of its sums.
func (a *attentionShape) passes() int {
	if a.block == 0 {
		return 1
	}
	return blocks(a.channels, a.block)
}
