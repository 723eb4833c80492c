package table

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/bits"

	"github.com/apache/arrow/go/v15/parquet"
)

// Encodings of values. Arrow reads those up to deltaText, and dictionary.
const (
	encodingPlain           = 0
	encodingPlainDictionary = 2
	encodingRLE             = 3
	encodingDelta           = 5
	encodingDeltaLengths    = 6
	encodingDeltaText       = 7
	encodingDictionary      = 8
	encodingByteStreamSplit = 9
)

// maxPage bounds what a page takes when it is decompressed.
const maxPage = 256 << 20

// chunk is what a row group has of a column: pages, which are checked, decompressed and
// read as such a chunk that is not compressed. Arrow's reader believes whatever a page
// says of itself, and allocates it.
type chunk struct {
	name        string // name of the column
	codec       int
	kind        parquet.Type
	width       int // bytes of a value, where that is fixed
	definitions int // the highest level
	repetitions int

	r          *bufio.Reader
	left       int64 // bytes of the file
	values     int64 // remaining values
	dictionary int   // values of it; -1 before it
	inflater   inflater
	ready      [2][]byte // to be read: a header and a page
	at         int64     // bytes that were read
	page       int
}

// Read reads the pages.
func (c *chunk) Read(b []byte) (int, error) {
	for len(c.ready[0])+len(c.ready[1]) == 0 {
		if c.values == 0 {
			return 0, io.EOF
		}
		if err := c.next(); err != nil {
			return 0, fmt.Errorf("column %q: page %d: %w", c.name, c.page, err)
		}
		c.page++
	}
	n := copy(b, c.ready[0])
	c.ready[0] = c.ready[0][n:]
	more := copy(b[n:], c.ready[1])
	if c.ready[1] = c.ready[1][more:]; len(c.ready[1]) == 0 {
		c.ready[1] = nil // Arrow's reader has a copy
	}
	c.at += int64(n + more)
	return n + more, nil
}

// next makes the next page ready.
func (c *chunk) next() error {
	h, size, err := readPageHeader(c.r, c.left)
	if err != nil {
		return fmt.Errorf("its header: %w", err)
	}
	c.left -= size
	if err := c.check(&h); err != nil {
		return err
	}
	levels := 0 // bytes before what is compressed
	if h.kind == pageDataV2 {
		levels = int(h.definitions) + int(h.repetitions)
	}
	raw := make([]byte, h.compressed) // the file has this many bytes
	if _, err := io.ReadFull(c.r, raw); err != nil {
		return err
	}
	c.left -= int64(h.compressed)
	if h.crc != nil {
		if sum := crc32.ChecksumIEEE(raw); *h.crc != sum {
			return fmt.Errorf("its checksum is %08x, expected %08x", sum, *h.crc)
		}
	}
	data := raw
	// of nulls alone: not every program compresses nothing
	empty := h.kind == pageDataV2 && int(h.uncompressed) == levels
	if !(h.kind == pageDataV2 && h.plain) && c.codec != codecNone && !empty {
		data, err = c.inflater.inflate(c.codec, raw[levels:], int(h.uncompressed)-levels)
		if levels > 0 {
			data = append(raw[:levels:levels], data...)
		}
	}
	if empty {
		data = raw[:levels]
	}
	if err == nil && len(data) != int(h.uncompressed) {
		err = fmt.Errorf("expected %d bytes, found %d", h.uncompressed, len(data))
	}
	if err != nil {
		return err
	}
	if data, err = c.checkData(&h, data); err != nil {
		return err
	}
	c.ready = [2][]byte{h.write(), data}
	return nil
}

// check looks at what a header says.
func (c *chunk) check(h *pageHeader) error {
	switch {
	case h.parts != 1 || h.kind != pageData && h.kind != pageDictionary && h.kind != pageDataV2:
		return fmt.Errorf("kind %d: expected data or a dictionary", h.kind)
	case h.compressed < 0 || int64(h.compressed) > c.left:
		return fmt.Errorf("expected at most the %d bytes that the file has, found a length of %d", c.left, h.compressed)
	case h.uncompressed < 0 || h.uncompressed > maxPage:
		return fmt.Errorf("expected at most %d bytes, found %d", maxPage, h.uncompressed)
	case h.values < 0 || h.kind != pageDictionary && int64(h.values) > c.values:
		return fmt.Errorf("expected at most the %d values of the row group, found %d", c.values, h.values)
	case h.kind == pageDictionary && (c.page > 0 || h.values > h.uncompressed):
		return fmt.Errorf("expected a dictionary as the first page, of at most %d values, found %d",
			h.uncompressed, h.values)
	case h.kind == pageDictionary:
		if h.encoding != encodingPlain && h.encoding != encodingPlainDictionary {
			return fmt.Errorf("a dictionary encoded by %s: expected PLAIN", nameOf(encodingNames, h.encoding))
		}
		c.dictionary = int(h.values)
		return nil
	case h.kind == pageDataV2:
		levels := int64(h.definitions) + int64(h.repetitions)
		if h.definitions < 0 || h.repetitions < 0 || levels > int64(h.uncompressed) || levels > int64(h.compressed) ||
			h.nulls < 0 || h.nulls > h.values || h.rows < 0 {
			return fmt.Errorf("impossible: levels of %d and %d bytes of %d, %d nulls in %d values", h.definitions,
				h.repetitions, h.compressed, h.nulls, h.values)
		}
	case c.definitions > 0 && h.definitions != encodingRLE || c.repetitions > 0 && h.repetitions != encodingRLE:
		return fmt.Errorf("levels encoded by %s and %s: expected RLE", nameOf(encodingNames, h.definitions),
			nameOf(encodingNames, h.repetitions))
	}
	c.values -= int64(h.values)
	return nil
}

// checkData looks at what Arrow's decoders would believe of the values of a page, and
// returns the page as they read it.
func (c *chunk) checkData(h *pageHeader, data []byte) ([]byte, error) {
	if h.kind == pageDictionary {
		return data, nil
	}
	start, err := c.levels(h, data)
	if err != nil {
		return nil, err
	}
	values := data[start:]
	integer, text := c.kind == parquet.Types.Int32 || c.kind == parquet.Types.Int64, c.kind == parquet.Types.ByteArray
	switch {
	case h.encoding == encodingPlain, h.encoding == encodingRLE && c.kind == parquet.Types.Boolean:
		return data, nil
	case h.encoding == encodingPlainDictionary || h.encoding == encodingDictionary:
		return data, c.checkNumbers(values)
	case h.encoding == encodingDelta && integer, h.encoding == encodingDeltaLengths && text:
		_, err := checkDelta(values, int(h.values))
		return data, err
	case h.encoding == encodingDeltaText && (text || c.kind == parquet.Types.FixedLenByteArray):
		size, err := checkDelta(values, int(h.values))
		if err == nil {
			_, err = checkDelta(values[size:], int(h.values))
		}
		return data, err
	case h.encoding == encodingByteStreamSplit && c.width > 0:
		h.encoding = encodingPlain
		joined, err := joinStreams(values, c.width)
		return append(data[:start:start], joined...), err
	}
	return nil, fmt.Errorf("encoded by %s, which is not known of %s", nameOf(encodingNames, h.encoding), c.kind)
}

// levels is where the values of a page begin.
func (c *chunk) levels(h *pageHeader, data []byte) (int, error) {
	if h.kind == pageDataV2 {
		return int(h.definitions) + int(h.repetitions), nil
	}
	at := 0
	for _, highest := range []int{c.repetitions, c.definitions} {
		if highest == 0 {
			continue
		}
		if len(data)-at < 4 {
			return 0, errors.New("it ends within its levels")
		}
		size := int64(binary.LittleEndian.Uint32(data[at:]))
		if at += 4; size > int64(len(data)-at) {
			return 0, fmt.Errorf("levels of %d bytes, where %d are left", size, len(data)-at)
		}
		at += int(size)
	}
	return at, nil
}

// freeWidth is of numbers that Arrow's decoder may make room for without asking.
const freeWidth = 16

// checkNumbers looks at the numbers of values of a dictionary: Arrow's decoder makes
// room for as many values as the largest number needs.
func (c *chunk) checkNumbers(values []byte) error {
	if c.dictionary < 0 {
		return errors.New("its dictionary is missing")
	}
	if len(values) == 0 {
		return nil
	}
	if width := int(values[0]); width > max(freeWidth, bits.Len(uint(c.dictionary))) {
		return fmt.Errorf("numbers of %d bits for a dictionary of %d values", width, c.dictionary)
	}
	return nil
}

// joinStreams puts together the bytes of values, of which first all first bytes are
// written, then all second ones, and so on.
func joinStreams(values []byte, width int) ([]byte, error) {
	n := len(values) / width
	if n*width != len(values) {
		return nil, fmt.Errorf("%d bytes are no values of %d", len(values), width)
	}
	out := make([]byte, 0, len(values))
	for i := range n {
		for k := range width {
			out = append(out, values[k*n+i])
		}
	}
	return out, nil
}
