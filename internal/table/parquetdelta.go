package table

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// maxDeltaBlock is the maximum number of values of a block. Programs write 128 or 2,048.
const maxDeltaBlock = 1 << 16

// checkDelta checks delta-encoded integers, at most maxValues: a header, then blocks of miniblocks,
// each with its bit width. It returns their size in bytes.
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
			"expected miniblocks of a multiple of 8 values, and at most %d values", block, miniblocks, total, maxValues)
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
