package seq

import (
	"fmt"
	"math"
	"strconv"

	"github.com/apache/arrow/go/v15/arrow"
)

// A layout is how ids are stored: id − first, in the smallest type that holds them.
type layout struct {
	first int32
	item  arrow.DataType
}

// layout is the one of files that are written. A pad id of 0 is in no sequence: where a
// smaller type holds the ids from 1 on, they are stored minus 1. So bytes, which are the
// ids 1 … 256, take a byte each.
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

// width is the bytes of a token.
func (l layout) width() int { return l.item.(arrow.FixedWidthDataType).Bytes() }

// tokenType is the smallest type that holds the ids below vocab. Where the
// vocabulary is not stated any id may come.
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

// FirstTokenID returns the id that a stored 0 stands for, according to a schema's
// metadata: ids are what is stored plus it.
func FirstTokenID(schema *arrow.Schema) (int32, error) {
	text, ok := schema.Metadata().GetValue(KeyFirstTokenID)
	if version, _ := schema.Metadata().GetValue(KeyVersion); !ok && version == VersionShifted {
		return 0, fmt.Errorf("%s: it is missing, where %s is %q", KeyFirstTokenID, KeyVersion, version)
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
