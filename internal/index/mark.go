package index

import (
	"bytes"
	"encoding/binary"

	"github.com/sftseq/sftseq/internal/arrowipc"
)

// markBytes is the size of a mark: arrowipc.EndMarker and a number.
const markBytes = 8 + 8

// mark is what is written behind a group once it is synchronised, and what the next group
// is written over: the end of an Arrow stream, and where it is. So it tells a group that
// may have been acknowledged, and is whole unless the disk has damaged it, from one that a
// power cut has torn. It is not synchronised itself. Where it is lost, nothing is known.
func mark(at int64) []byte {
	return binary.LittleEndian.AppendUint64([]byte(arrowipc.EndMarker), uint64(at))
}

// marked reports whether data has its mark at a place.
func marked(data []byte, at int64) bool {
	return at >= 0 && at+markBytes <= int64(len(data)) && bytes.Equal(data[at:at+markBytes], mark(at))
}
