package table

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// maxDeltaBlock is the maximum number of values of a block. Usual values are 128 and 2,048.
const maxDeltaBlock = 1 << 16

// checkDelta checks the structure of at most maxValues delta-encoded integers: a header, then blocks of
// miniblocks. Each miniblock has its own bit width. The result is the size of the encoded integers in bytes.
func checkDelta(data []byte, maxValues int) (size int, err error) {
	var header [4]uint64 // values per block, miniblocks per block, total values, first value
	for i := range header {
		v, n := binary.Uvarint(data[size:])
		if n <= 0 {
			return 0, errDelta
		}
		header[i] = v
		size += n
	}
	block, miniblocks, total := header[0], header[1], header[2]
	if block == 0 || block > maxDeltaBlock || miniblocks == 0 || miniblocks > block || block%miniblocks != 0 ||
		block/miniblocks%8 != 0 || total > uint64(maxValues) {
		return 0, fmt.Errorf("delta encoding: blocks of %d values in %d miniblocks, %d values in total: "+
			"expected blocks of at most %d values, miniblocks of a multiple of 8 values, and at most %d values "+
			"in total", block, miniblocks, total, maxDeltaBlock, maxValues)
	}
	for remaining := int(total) - 1; remaining > 0; {
		_, n := binary.Uvarint(data[size:])
		if n <= 0 || len(data)-size-n < int(miniblocks) {
			return 0, errDelta
		}
		widths := data[size+n:][:miniblocks]
		size += n + int(miniblocks)
		for _, width := range widths {
			if remaining <= 0 {
				break
			}
			bytes := int(block/miniblocks) / 8 * int(width)
			if width > 64 || bytes > len(data)-size {
				return 0, errDelta
			}
			size += bytes
			remaining -= int(block / miniblocks)
		}
	}
	return size, nil
}

var errDelta = errors.New("delta encoding: the page is truncated or damaged")
