package arrowipc

import (
	"encoding/binary"
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// Codecs of compressed bodies, numbered as in Arrow.
const (
	codecNone = -1
	codecLZ4  = 0
	codecZSTD = 1
)

// maxWindow is the maximum window of a ZSTD frame in bytes. Decompression needs this memory in addition
// to the result.
const maxWindow = 128 << 20

// compression returns the codec of a batch's buffers, or codecNone if they are not compressed.
func compression(batch flatTable) (int64, error) {
	table, ok, err := batch.table(3)
	if !ok || err != nil {
		return codecNone, err
	}
	codec, err := table.int(0, 1)
	if err == nil && codec != codecLZ4 && codec != codecZSTD {
		err = fmt.Errorf("expected no compression, LZ4 or ZSTD, found codec %d", codec)
	}
	return codec, err
}

// decompressedSize returns the size that the first eight bytes of a compressed buffer state, or the
// number of the remaining bytes if they are not compressed. It returns an error if the compressed data
// cannot have this size. LZ4 compresses by at most 255 to 1. For ZSTD, the headers of blocks and frames
// limit the size and the memory.
func decompressedSize(buffer []byte, codec int64) (int64, error) {
	if len(buffer) < 8 {
		return 0, fmt.Errorf("expected at least the 8 bytes of the decompressed size, found %d", len(buffer))
	}
	size := int64(binary.LittleEndian.Uint64(buffer))
	compressed := int64(len(buffer) - 8)
	if size == -1 { // stored uncompressed
		return compressed, nil
	}
	if size < 0 || size > MaxBody || codec == codecLZ4 && size > 255*compressed {
		return 0, fmt.Errorf("the stated size of %d bytes exceeds the maximum for %d compressed bytes", size, compressed)
	}
	if codec == codecZSTD {
		maxSize, err := maxZSTDSize(buffer[8:], size)
		if err != nil {
			return 0, err
		}
		if size > maxSize {
			return 0, fmt.Errorf("the stated size of %d bytes exceeds the %d bytes of the compressed blocks", size,
				maxSize)
		}
	}
	return size, nil
}

// maxZSTDSize returns the maximum size of ZSTD frames that the headers of their blocks allow (RFC
// 8878, section 3.1.1.2). size is the stated size of all frames together. Truncated or damaged
// frames count up to the damage. maxZSTDSize returns an error if the first frame header is damaged, a
// frame's window exceeds maxWindow, or the size in a frame's header contradicts size.
func maxZSTDSize(frames []byte, size int64) (maxSize int64, err error) {
	const (
		blockHeader = 3
		maxBlock    = 128 << 10
		raw         = 0
		repeated    = 1 // a single byte that is repeated
		reserved    = 3
	)
	for first := true; ; first = false {
		var head zstd.Header
		if err := head.Decode(frames); err != nil && first {
			return 0, err
		} else if err != nil {
			return maxSize, nil
		}
		content := head.FrameContentSize
		if head.WindowSize > maxWindow || head.HasFCS && (content > uint64(size) || first && content != uint64(size)) {
			return 0, fmt.Errorf("the stated size of %d bytes contradicts the frame (size %d, window %d), "+
				"or the window is too large", size, head.FrameContentSize, head.WindowSize)
		}
		frames = frames[head.HeaderSize:]
		if head.Skippable {
			frames = frames[min(int64(len(frames)), int64(head.SkippableSize)):]
			continue
		}
		for last := false; !last; {
			if len(frames) < blockHeader {
				return maxSize, nil
			}
			h := uint32(frames[0]) | uint32(frames[1])<<8 | uint32(frames[2])<<16
			kind, bytes := h>>1&3, int(h>>3)
			last, frames = h&1 != 0, frames[blockHeader:]
			compressed, content := bytes, maxBlock
			switch kind {
			case raw:
				content = min(bytes, maxBlock)
			case repeated:
				compressed, content = 1, min(bytes, maxBlock)
			case reserved:
				return maxSize, nil
			}
			maxSize += int64(content)
			if compressed > len(frames) {
				return maxSize, nil
			}
			frames = frames[compressed:]
		}
		if head.HasCheckSum {
			frames = frames[min(4, len(frames)):]
		}
	}
}
