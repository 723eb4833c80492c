package seq

import (
	"fmt"
	"math"
	"strconv"

	"github.com/apache/arrow/go/v15/arrow"
)

// layout is the representation of ids in a file: the number id − first, in the smallest type that
// holds all these numbers.
type layout struct {
	first int32
	item  arrow.DataType
}

// layout returns the layout of written files. If the pad id is 0, no sequence contains the id 0.
// Ids are then stored minus 1 if this allows a smaller type: the ids 1 … 256 of bytes need one byte
// each.
func (s *Spec) layout() layout {
	plain := layout{0, tokenType(s.VocabSize)}
	if s.PadID == nil || *s.PadID != 0 || s.VocabSize < 2 {
		return plain
	}
	if shifted := (layout{1, tokenType(s.VocabSize - 1)}); shifted.width() < plain.width() {
		return shifted
	}
	return plain
}

// width returns the number of bytes per token.
func (l layout) width() int { return l.item.(arrow.FixedWidthDataType).Bytes() }

// tokenType returns the smallest type that holds the ids below vocab. A vocab of 0 means an unknown
// vocabulary, which allows any id.
func tokenType(vocab int) arrow.DataType {
	switch {
	case vocab >= 1 && vocab <= 1<<8:
		return arrow.PrimitiveTypes.Uint8
	case vocab >= 1 && vocab <= 1<<16:
		return arrow.PrimitiveTypes.Uint16
	default:
		return arrow.PrimitiveTypes.Int32
	}
}

// FirstTokenID returns the id that a stored 0 represents, from a schema's metadata. Every id is the
// stored number plus this id. If the metadata do not state the id, FirstTokenID returns an error for
// VersionShifted, and otherwise 0.
func FirstTokenID(schema *arrow.Schema) (int32, error) {
	text, ok := schema.Metadata().GetValue(KeyFirstTokenID)
	if version, _ := schema.Metadata().GetValue(KeyVersion); !ok && version == VersionShifted {
		return 0, fmt.Errorf("%s is missing: required for %s %q", KeyFirstTokenID, KeyVersion, version)
	}
	if !ok {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%s: expected 0 to %d, found %.40q", KeyFirstTokenID, math.MaxInt32, text)
	}
	return int32(n), nil
}
