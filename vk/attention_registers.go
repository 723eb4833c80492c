//go:build cgo

package vk

import "github.com/sftseq/sftseq/internal/tensor"

// The attention kernels hold rows and sums of a head's channels in registers. On AMD GPUs, they would
// need more registers than an invocation has, and the compiler would spill registers to memory. On
// these devices the kernels therefore reread rows, process the channels of their sums in several
// passes, stage the workgroup's own rows in shared memory, and use smaller tiles. TestConformance checks that
// the results are bitwise identical. TestRADV checks that no registers are spilled.

// vendorAMD is the vendor id of devices whose kernels save registers.
const vendorAMD = 0x1002

// Two tiles of rows occupy at most tileVectors vectors of 16 bytes in shared memory, or
// smallTileVectors in kernels that save registers.
const tileVectors, smallTileVectors = 1024, 512

// saving configures how a kernel saves registers.
type saving struct {
	block   int    // channels per pass
	maxHeld [2]int // maximum channels per head without a staged operand, and with one
	shared  int    // bytes of shared memory in addition to tiles and staged rows
}

// maxSavingChannels is the maximum head size of kernels that save registers.
const maxSavingChannels = 64

// forwardSaving configures the forward pass, whose long sums need twice the registers.
func forwardSaving(long bool) saving {
	const shared = 64*12 + 128*12 + 2*4*attentionRows*attentionSlices
	s := saving{block: maxSavingChannels, maxHeld: [2]int{32, maxSavingChannels}, shared: shared}
	if long {
		s.block = 32
	}
	return s
}

// queriesSaving configures the backward kernel for queries.
var queriesSaving = saving{block: maxSavingChannels, maxHeld: [2]int{24, 32}, shared: queriesShared}

// keysSaving configures the backward kernel for keys. The standardised score needs more registers than
// the other scores.
func keysSaving(score tensor.Score) saving {
	s := saving{block: 32, maxHeld: [2]int{16, 24}, shared: 4 * (2*64 + attentionRows*keySlices)}
	if score == tensor.MaxoutStandardized {
		s.block = 16
	}
	return s
}

// savingRegisters returns the shape with the settings of s if the device needs kernels that save
// registers and the heads have at most maxSavingChannels channels, and the shape unchanged otherwise.
// It stages fewer operands in shared memory if the device has little shared memory.
func (a attentionShape) savingRegisters(l limits, s saving) attentionShape {
	if !l.savesRegisters || a.channels > maxSavingChannels {
		return a
	}
	a.block, a.tile = s.block, a.tileRows(smallTileVectors)
	for _, held := range s.maxHeld {
		if a.channels > held {
			a.staged++
		}
	}
	for a.staged > 0 && a.rowBytes()+s.shared > l.sharedBytes {
		a.staged--
	}
	return a
}

// tileRows returns the number of rows per tile: the largest power of two, at most 64, with which two
// tiles fit into the given number of vectors of 16 bytes.
func (a *attentionShape) tileRows(vectors int) int {
	tile := 64
	for tile*2*blocks(a.channels, 4) > vectors {
		tile /= 2
	}
	return tile
}

// ownBytes returns the bytes of shared memory for the staged rows of a workgroup.
func (a *attentionShape) ownBytes() int {
	return 16 * max(1, a.staged*blocks(a.channels, 4)*attentionRows)
}

// rowBytes returns the bytes of shared memory for two tiles and for the staged rows of the workgroup.
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
