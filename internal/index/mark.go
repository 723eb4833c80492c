package index

import (
	"bytes"
	"encoding/binary"

	"github.com/sftseq/sftseq/internal/arrowipc"
)

// markBytes is the size of a mark: arrowipc.EndMarker and an offset.
const markBytes = 8 + 8

// mark returns the mark for an offset: the end marker of an Arrow stream and the offset. The mark
// is written after a synchronised group, and the next group overwrites it. A group before a mark
// may have been acknowledged, so a broken group there is damage. A broken group without a mark may
// have been torn by a power cut. Only Close and a rewrite synchronise the mark; if a power cut loses it,
// it is unknown whether the group was acknowledged.
func mark(at int64) []byte {
	return binary.LittleEndian.AppendUint64([]byte(arrowipc.EndMarker), uint64(at))
}

// marked reports whether data has the mark for the offset at.
func marked(data []byte, at int64) bool {
	return at >= 0 && at+markBytes <= int64(len(data)) && bytes.Equal(data[at:at+markBytes], mark(at))
}
