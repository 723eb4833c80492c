package table

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// maxDeltaBlock is the maximum number of values of a block. Programs write 128 or 2,048.
const maxDeltaBlock = 1 << 16

// checkDelta checks delta-encoded integers, at most most values: a header, then blocks of
// miniblocks, each with its bit width. It returns their size in bytes.
func checkDelta(data []byte, most int) (size int, err error) {
	var head [4]uint64 // values per block, miniblocks per block, total values, first value
	for i := range head {
		v, n := binary.Uvarint(data[size:])
		if n <= 0 {
			return 0, errDelta
		}
		head[i] = v
		size += n
	}
	block, minis, total := head[0], head[1], head[2]
	if block == 0 || block > maxDeltaBlock || minis == 0 || minis > block || block%minis != 0 ||
		block/minis%8 != 0 || total > uint64(most) {
		return 0, fmt.Errorf("delta encoding: blocks of %d values in %d miniblocks, %d values in total: "+
			"expected miniblocks of a multiple of 8 values, and at most %d values", block, minis, total, most)
	}
	for left := int(total) - 1; left > 0; {
		_, n := binary.Uvarint(data[size:])
		if n <= 0 || len(data)-size-n < int(minis) {
			return 0, errDelta
		}
		widths := data[size+n:][:minis]
		size += n + int(minis)
		for _, width := range widths {
			if left <= 0 {
				break
			}
			bytes := int(block/minis) / 8 * int(width)
			if width > 64 || bytes > len(data)-size {
				return 0, errDelta
			}
			size += bytes
			left -= int(block / minis)
		}
	}
	return size, nil
}

var errDelta = errors.New("delta encoding: the page is truncated or damaged")
