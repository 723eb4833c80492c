package seq

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// The values of Arrow's message header type that matter here.
const (
	headerSchema     = 1
	headerDictionary = 2
	headerBatch      = 3
)

// maxColumns and maxDepth bound a schema: its tables may share children, so
// that a small message can stand for an exponential number of fields.
const (
	maxColumns = 64
	maxDepth   = 8
)

// codecs of compressed bodies, as Arrow numbers them.
const (
	codecNone = -1
	codecLZ4  = 0
	codecZSTD = 1
)

// maxWindow bounds the memory that a ZSTD frame asks for beside its result.
const maxWindow = 128 << 20

// parseHeader reads what every message states: its kind and the length of the
// body behind it.
func parseHeader(meta []byte) (kind int, header flatTable, bodyLength int64, err error) {
	message, err := flatRoot(meta)
	if err != nil {
		return 0, flatTable{}, 0, err
	}
	number, err := message.int(1, 1)
	if err != nil {
		return 0, flatTable{}, 0, err
	}
	header, ok, err := message.table(2)
	if err != nil {
		return 0, flatTable{}, 0, err
	}
	if !ok {
		return 0, flatTable{}, 0, errors.New("metadata is damaged: the message has no header")
	}
	bodyLength, err = message.int(3, 8)
	return int(number), header, bodyLength, err
}

// checkSchema walks the schema as Arrow will, counting what it will build.
func checkSchema(schema flatTable) error {
	endianness, err := schema.int(0, 2)
	if err != nil {
		return err
	}
	if endianness != 0 {
		return errors.New("expected a little-endian file, found a big-endian one")
	}
	w := schemaWalk{columns: maxColumns, bytes: maxMetadata}
	if err := w.fields(schema, 1, maxDepth); err != nil {
		return err
	}
	return w.keyValues(schema, 2)
}

// A schemaWalk spends a budget of fields and of bytes of text.
type schemaWalk struct{ columns, bytes int }

func (w *schemaWalk) fields(parent flatTable, slot, depth int) error {
	start, count, err := parent.vector(slot, 4)
	if err != nil {
		return err
	}
	if depth == 0 && count > 0 {
		return fmt.Errorf("schema is nested more than %d deep", maxDepth)
	}
	if w.columns -= count; w.columns < 0 {
		return fmt.Errorf("schema has more than %d fields", maxColumns)
	}
	for i := range count {
		field, err := flatTableAt(parent.buf, start+4*i)
		if err != nil {
			return err
		}
		if err := w.text(field, 0); err != nil {
			return err
		}
		if err := w.fields(field, 5, depth-1); err != nil {
			return err
		}
		if err := w.keyValues(field, 6); err != nil {
			return err
		}
	}
	return nil
}

func (w *schemaWalk) keyValues(parent flatTable, slot int) error {
	start, count, err := parent.vector(slot, 4)
	if err != nil {
		return err
	}
	for i := range count {
		pair, err := flatTableAt(parent.buf, start+4*i)
		if err != nil {
			return err
		}
		for part := range 2 {
			if err := w.text(pair, part); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *schemaWalk) text(t flatTable, slot int) error {
	_, length, err := t.vector(slot, 1)
	if err != nil {
		return err
	}
	if w.bytes -= length; w.bytes < 0 {
		return fmt.Errorf("schema has more than %d bytes of text", maxMetadata)
	}
	return nil
}

// checkBatch compares what a record batch says about its buffers with the body
// that is really there. It returns the bytes that decoding will take.
func checkBatch(batch flatTable, body []byte) (size int64, err error) {
	rows, err := batch.int(0, 8)
	if err != nil {
		return 0, err
	}
	if rows < 0 || rows > maxBody {
		return 0, fmt.Errorf("expected 0 to %d rows, found %d", maxBody, rows)
	}
	start, count, err := batch.vector(1, 16)
	if err != nil {
		return 0, err
	}
	for i := range count {
		length, nulls := batch.int64At(start+16*i), batch.int64At(start+16*i+8)
		if length < 0 || length > maxBody || nulls < 0 || nulls > length {
			return 0, fmt.Errorf("field %d: impossible length %d with %d nulls", i, length, nulls)
		}
	}
	codec, err := compression(batch)
	if err != nil {
		return 0, err
	}
	start, count, err = batch.vector(2, 16)
	if err != nil {
		return 0, err
	}
	if err := checkViews(batch, count); err != nil {
		return 0, err
	}
	var stored int64
	for i := range count {
		offset, length := batch.int64At(start+16*i), batch.int64At(start+16*i+8)
		if offset < 0 || length < 0 || length > int64(len(body)) || offset > int64(len(body))-length {
			return 0, fmt.Errorf("buffer %d: offset %d and length %d exceed the body of %d bytes", i, offset, length, len(body))
		}
		// Buffers that overlap would let a small file stand for a large one.
		if stored += length; stored > int64(len(body)) {
			return 0, fmt.Errorf("the buffers together exceed the body of %d bytes", len(body))
		}
		if codec != codecNone && length > 0 {
			if length, err = inflated(body[offset:offset+length], codec); err != nil {
				return 0, fmt.Errorf("buffer %d: %w", i, err)
			}
		}
		if size += (length + 63) &^ 63; size > maxBody {
			return 0, fmt.Errorf("the buffers take more than the limit of %d bytes", maxBody)
		}
	}
	return size, nil
}

// checkViews expects the columns of a view type to have no more buffers of text than
// there are buffers: Arrow sizes a slice by these counts without asking.
func checkViews(batch flatTable, buffers int) error {
	start, count, err := batch.vector(4, 8)
	if err != nil {
		return err
	}
	left := int64(buffers)
	for i := range count {
		n := batch.int64At(start + 8*i)
		if n < 0 || n > left {
			return fmt.Errorf("view %d: %d buffers, where %d of %d are left", i, n, left, buffers)
		}
		left -= n
	}
	return nil
}

// checkDictionary is checkBatch for the values of a dictionary.
func checkDictionary(dictionary flatTable, body []byte) (size int64, err error) {
	batch, ok, err := dictionary.table(1)
	if err == nil && !ok {
		err = errors.New("metadata is damaged: a dictionary has no values")
	}
	if err != nil {
		return 0, err
	}
	return checkBatch(batch, body)
}

// compression is the codec of a batch's buffers.
func compression(batch flatTable) (int64, error) {
	table, ok, err := batch.table(3)
	if !ok || err != nil {
		return codecNone, err
	}
	codec, err := table.int(0, 1)
	if err == nil && codec != codecLZ4 && codec != codecZSTD {
		err = fmt.Errorf("compressed with codec %d: expected no compression, LZ4 or ZSTD", codec)
	}
	return codec, err
}

// inflated returns the size that a compressed buffer states in its first eight
// bytes, as far as the codec can reach it: LZ4 packs at most 255 to 1, frames of ZSTD
// hold what their blocks do, and what they need beside that is in their heads.
func inflated(buffer []byte, codec int64) (int64, error) {
	if len(buffer) < 8 {
		return 0, fmt.Errorf("expected at least the 8 bytes of its size, found %d", len(buffer))
	}
	size := int64(binary.LittleEndian.Uint64(buffer))
	packed := int64(len(buffer) - 8)
	if size == -1 { // stored as it is
		return packed, nil
	}
	if size < 0 || size > maxBody || codec == codecLZ4 && size > 255*packed {
		return 0, fmt.Errorf("states %d bytes after decompression, which %d bytes cannot hold", size, packed)
	}
	if codec == codecZSTD {
		most, err := zstdMost(buffer[8:], size)
		if err != nil {
			return 0, err
		}
		if size > most {
			return 0, fmt.Errorf("states %d bytes after decompression, its blocks hold at most %d", size, most)
		}
	}
	return size, nil
}

// zstdMost is the most that frames of ZSTD can hold, by the heads of their blocks (RFC 8878,
// section 3.1.1.2), where size is stated for all together. What is cut off or damaged holds
// no more than what is in front of it. A frame that needs more memory than that is refused.
func zstdMost(frames []byte, size int64) (most int64, err error) {
	const (
		blockHead = 3
		blockMost = 128 << 10
		raw       = 0
		repeated  = 1 // one byte, so often
		reserved  = 3
	)
	for first := true; ; first = false {
		var head zstd.Header
		if err := head.Decode(frames); err != nil && first {
			return 0, err
		} else if err != nil {
			return most, nil
		}
		holds := head.FrameContentSize
		if head.WindowSize > maxWindow || head.HasFCS && (holds > uint64(size) || first && holds != uint64(size)) {
			return 0, fmt.Errorf("states %d bytes after decompression, its frame %d and a window of %d", size, head.FrameContentSize, head.WindowSize)
		}
		frames = frames[head.HeaderSize:]
		if head.Skippable {
			frames = frames[min(int64(len(frames)), int64(head.SkippableSize)):]
			continue
		}
		for last := false; !last; {
			if len(frames) < blockHead {
				return most, nil
			}
			h := uint32(frames[0]) | uint32(frames[1])<<8 | uint32(frames[2])<<16
			kind, bytes := h>>1&3, int(h>>3)
			last, frames = h&1 != 0, frames[blockHead:]
			packed, holds := bytes, blockMost
			switch kind {
			case raw:
				holds = min(bytes, blockMost)
			case repeated:
				packed, holds = 1, min(bytes, blockMost)
			case reserved:
				return most, nil
			}
			most += int64(holds)
			if packed > len(frames) {
				return most, nil
			}
			frames = frames[packed:]
		}
		if head.HasCheckSum {
			frames = frames[min(4, len(frames)):]
		}
	}
}
