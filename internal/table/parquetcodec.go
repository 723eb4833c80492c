package table

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/sftseq/sftseq/internal/source"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// Compression codecs of pages, with Parquet's numbers.
const (
	codecNone   = 0
	codecSnappy = 1
	codecGzip   = 2
	codecBrotli = 4
	codecZstd   = 6
	codecLZ4Raw = 7
)

var (
	codecNames    = []string{"none", "snappy", "gzip", "LZO", "brotli", "LZ4 in Hadoop's frames", "zstd", "LZ4"}
	encodingNames = []string{"PLAIN", "GROUP_VAR_INT", "PLAIN_DICTIONARY", "RLE", "BIT_PACKED", "DELTA_BINARY_PACKED",
		"DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY", "RLE_DICTIONARY", "BYTE_STREAM_SPLIT"}
)

// nameOf returns names[n], or a text with the number if the name is unknown.
func nameOf[T ~int | ~int32](names []string, n T) string {
	if n >= 0 && int(n) < len(names) {
		return names[n]
	}
	return "number " + strconv.Itoa(int(n))
}

// Maximum decompressed bytes per compressed byte.
const (
	snappyRatio = 64
	lz4Ratio    = 255
)

// inflater decompresses pages.
type inflater struct {
	zstd *zstd.Decoder
}

// inflate decompresses src to size bytes, or fewer with LZ4. Its memory is bounded by the compressed and
// the decoded data, not by the claimed size.
func (f *inflater) inflate(codec int, src []byte, size int) ([]byte, error) {
	var r io.Reader
	var err error
	switch codec {
	case codecSnappy:
		n, err := snappy.DecodedLen(src)
		if err == nil && (n != size || size > snappyRatio*len(src)) {
			err = fmt.Errorf("expected %d bytes, found %d", size, n)
		}
		if err != nil {
			return nil, err
		}
		return snappy.Decode(nil, src)
	case codecLZ4Raw:
		if size == 0 && len(src) <= 1 {
			return nil, nil
		}
		if size > lz4Ratio*len(src) {
			return nil, fmt.Errorf("%d compressed bytes are too few for %d bytes", len(src), size)
		}
		out := make([]byte, size)
		n, err := lz4.UncompressBlock(src, out)
		return out[:max(n, 0)], err
	case codecGzip:
		r, err = gzip.NewReader(bytes.NewReader(src))
	case codecBrotli:
		r = brotli.NewReader(bytes.NewReader(src))
	case codecZstd:
		if f.zstd == nil {
			f.zstd, err = zstd.NewReader(nil, zstd.WithDecoderMaxWindow(source.MaxWindow),
				zstd.WithDecoderConcurrency(1))
		}
		if err == nil {
			err = f.zstd.Reset(bytes.NewReader(src))
		}
		r = f.zstd
	default:
		err = fmt.Errorf("codec %d", codec)
	}
	if err != nil {
		return nil, err
	}
	out, err := readBytes(r, int64(size), len(src))
	if err != nil {
		return nil, err
	}
	if n, err := io.ReadFull(r, make([]byte, 1)); err != io.EOF {
		return nil, errors.Join(fmt.Errorf("expected %d bytes, found at least %d more", size, n), err)
	}
	return out, nil
}

// usualRatio is a compression ratio that pages seldom exceed.
const usualRatio = 16

// readBytes reads n decompressed bytes. The parameter packed is the compressed size, which determines the
// initial buffer; the buffer then grows with the bytes read.
func readBytes(r io.Reader, n int64, packed int) ([]byte, error) {
	buf := make([]byte, 0, min(n, 1<<20+usualRatio*int64(packed)))
	for int64(len(buf)) < n {
		if len(buf) == cap(buf) {
			grown := make([]byte, len(buf), min(n, 2*int64(cap(buf))))
			copy(grown, buf)
			buf = grown
		}
		got, err := io.ReadFull(r, buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+got]
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return nil, fmt.Errorf("found %d of %d bytes: %w", len(buf), n, io.ErrUnexpectedEOF)
		}
		if err != nil {
			return nil, err
		}
	}
	return buf, nil
}
