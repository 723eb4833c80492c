package index

import (
	"bytes"
	"encoding/binary"

	"github.com/sftseq/sftseq/internal/arrowipc"
)

// markBytes is the size of a mark: arrowipc.EndMarker and a number.
const markBytes = 8 + 8

// mark is written behind a group once the group is synchronised, and overwritten by the next group: the end of an Arrow
// stream and its offset. It distinguishes a group that may have been acknowledged, which is whole unless the disk has
// damaged it, from a group that a power cut has torn. The mark itself is not synchronised; if it is lost, the state of
// the group is unknown.
func mark(at int64) []byte {
	return binary.LittleEndian.AppendUint64([]byte(arrowipc.EndMarker), uint64(at))
}

// marked reports whether data has its mark at a place.
func marked(data []byte, at int64) bool {
	return at >= 0 && at+markBytes <= int64(len(data)) && bytes.Equal(data[at:at+markBytes], mark(at))
}
