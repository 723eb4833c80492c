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

// Encodings of values. Arrow's reader supports the encodings up to encodingDictionary.
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

// maxPage is the maximum decompressed size of a page in bytes.
const maxPage = 256 << 20

// chunk reads the pages of a column in a row group. It checks and decompresses them, and presents
// them as an uncompressed chunk, because Arrow's reader allocates whatever size a page header
// claims.
type chunk struct {
	name        string // name of the column
	codec       int
	kind        parquet.Type
	width       int // result of widthOf
	definitions int // maximum definition level
	repetitions int // maximum repetition level

	r          *bufio.Reader
	remaining  int64 // remaining bytes before the footer
	values     int64 // remaining values
	dictionary int   // number of dictionary values; -1 before the dictionary
	inflater   inflater
	ready      [2][]byte // header and page that are ready to be read
	at         int64     // bytes read so far
	page       int       // index of the current page
}

// Read reads the checked, decompressed pages.
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

// next reads the next page into ready.
func (c *chunk) next() error {
	h, size, err := readPageHeader(c.r, c.remaining)
	if err != nil {
		return fmt.Errorf("header: %w", err)
	}
	c.remaining -= size
	if err := c.check(&h); err != nil {
		return err
	}
	levels := 0 // bytes of levels, which precede the compressed values
	if h.kind == pageDataV2 {
		levels = int(h.definitions) + int(h.repetitions)
	}
	raw := make([]byte, h.compressed) // the file has at least this many bytes
	if _, err := io.ReadFull(c.r, raw); err != nil {
		return err
	}
	c.remaining -= int64(h.compressed)
	if h.crc != nil {
		if sum := crc32.ChecksumIEEE(raw); *h.crc != sum {
			return fmt.Errorf("expected the checksum %08x, found %08x", *h.crc, sum)
		}
	}
	data := raw
	// a page of nulls only: some programs do not compress the empty values
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
	c.ready = [2][]byte{h.encode(), data}
	return nil
}

// check returns an error if a page header is invalid. Otherwise, it sets the size of the dictionary or
// reduces the number of remaining values.
func (c *chunk) check(h *pageHeader) error {
	switch {
	case h.typeHeaders != 1 || h.kind != pageData && h.kind != pageDictionary && h.kind != pageDataV2:
		return fmt.Errorf("kind %d: expected data or a dictionary, with one type-specific header", h.kind)
	case h.compressed < 0 || int64(h.compressed) > c.remaining:
		return fmt.Errorf("expected at most the remaining %d bytes, found a length of %d", c.remaining, h.compressed)
	case h.uncompressed < 0 || h.uncompressed > maxPage:
		return fmt.Errorf("expected at most %d bytes, found %d", maxPage, h.uncompressed)
	case h.values < 0 || h.kind != pageDictionary && int64(h.values) > c.values:
		return fmt.Errorf("expected at most the remaining %d values of the row group, found %d", c.values, h.values)
	case h.kind == pageDictionary && c.page > 0:
		return errors.New("expected a dictionary only as the first page")
	case h.kind == pageDictionary && h.values > h.uncompressed:
		return fmt.Errorf("dictionary: expected at most %d values, found %d", h.uncompressed, h.values)
	case h.kind == pageDictionary:
		if h.encoding != encodingPlain && h.encoding != encodingPlainDictionary {
			return fmt.Errorf("dictionary encoding: expected PLAIN, found %s", nameOf(encodingNames, h.encoding))
		}
		c.dictionary = int(h.values)
		return nil
	case h.kind == pageDataV2:
		levels := int64(h.definitions) + int64(h.repetitions)
		if h.definitions < 0 || h.repetitions < 0 || levels > int64(h.uncompressed) || levels > int64(h.compressed) ||
			h.nulls < 0 || h.nulls > h.values || h.rows < 0 {
			return fmt.Errorf("inconsistent header: levels of %d and %d bytes in a page of %d bytes, "+
				"%d nulls in %d values", h.definitions, h.repetitions, h.compressed, h.nulls, h.values)
		}
	case c.definitions > 0 && h.definitions != encodingRLE || c.repetitions > 0 && h.repetitions != encodingRLE:
		return fmt.Errorf("level encodings: expected RLE, found %s and %s", nameOf(encodingNames, h.definitions),
			nameOf(encodingNames, h.repetitions))
	}
	c.values -= int64(h.values)
	return nil
}

// checkData checks the encoded values of a page where Arrow's decoders do not, and returns the page in
// an encoding that these decoders support.
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
		return data, c.checkIndices(values)
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
	return nil, fmt.Errorf("encoding %s is not supported for %s", nameOf(encodingNames, h.encoding), c.kind)
}

// levels returns the index of the first byte of a page's values.
func (c *chunk) levels(h *pageHeader, data []byte) (int, error) {
	if h.kind == pageDataV2 {
		return int(h.definitions) + int(h.repetitions), nil
	}
	at := 0
	for _, maxLevel := range []int{c.repetitions, c.definitions} {
		if maxLevel == 0 {
			continue
		}
		if len(data)-at < 4 {
			return 0, errors.New("the page ends within its levels")
		}
		size := int64(binary.LittleEndian.Uint32(data[at:]))
		if at += 4; size > int64(len(data)-at) {
			return 0, fmt.Errorf("expected levels of at most the remaining %d bytes, found a length of %d", len(data)-at, size)
		}
		at += int(size)
	}
	return at, nil
}

// maxUncheckedWidth is the maximum bit width of dictionary indices that is valid for any dictionary,
// because Arrow's decoder allocates little memory for it.
const maxUncheckedWidth = 16

// checkIndices checks the bit width of a page's dictionary indices, because Arrow's decoder
// allocates as many values as the width can address.
func (c *chunk) checkIndices(values []byte) error {
	if c.dictionary < 0 {
		return errors.New("the dictionary is missing")
	}
	if len(values) == 0 {
		return nil
	}
	if width := int(values[0]); width > max(maxUncheckedWidth, bits.Len(uint(c.dictionary))) {
		return fmt.Errorf("found indices of %d bits, too wide for a dictionary of %d values", width, c.dictionary)
	}
	return nil
}

// joinStreams decodes BYTE_STREAM_SPLIT: values holds the first bytes of all values, then the
// second bytes, and so on.
func joinStreams(values []byte, width int) ([]byte, error) {
	n := len(values) / width
	if n*width != len(values) {
		return nil, fmt.Errorf("expected a multiple of the value size, found %d bytes for values of %d bytes",
			len(values), width)
	}
	out := make([]byte, 0, len(values))
	for i := range n {
		for k := range width {
			out = append(out, values[k*n+i])
		}
	}
	return out, nil
}
