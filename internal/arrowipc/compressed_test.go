package arrowipc

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/klauspost/compress/zstd"

	"github.com/sftseq/sftseq/internal/must"
)

// TestCompressed checks that bodies of both codecs are read, and that a buffer is refused if its
// compressed bytes are too few for its stated size.
func TestCompressed(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "tokens", Type: arrow.ListOf(arrow.PrimitiveTypes.Int32)}}, nil)
	json := `[{"tokens":[` + strings.Repeat("7,", 5000) + `8]}]`
	for name, codec := range map[string]ipc.Option{"LZ4": ipc.WithLZ4(), "ZSTD": ipc.WithZstd()} {
		record, _ := must.Get2(array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(json)))(t)
		data := writeRecords(t, false, []arrow.Record{record}, codec)
		if got, err := readAll(data); err != nil || len(got) != 1 || !array.RecordEqual(got[0], record) {
			t.Errorf("%s: got %d records, error %v, want a copy of the written record", name, len(got), err)
		}
		at := bytes.Index(data, binary.LittleEndian.AppendUint64(nil, 4*5001))
		if at < 0 {
			t.Fatal("the stated size is not in the file")
		}
		for _, size := range []uint64{1 << 63, 1 << 40, 1 << 29} {
			binary.LittleEndian.PutUint64(data[at:], size)
			must.Fail(t, "the stated size of", name, "size", size)(readAll(data))
		}
	}
}

// TestZSTDWindow checks that a frame is refused if its window is too large, its size contradicts the
// stated size, or its header is truncated or invalid.
func TestZSTDWindow(t *testing.T) {
	for text, want := range map[string]string{
		"\x28\xb5\x2f\xfd\x00\xc8":                          "window 34359738368)", // 2^35
		"\x28\xb5\x2f\xfd\xa0\x00\x00\x00\x10":              "frame (size 268435456",
		"\x28\xb5\x2f\xfd\xa0\x05\x00\x00\x00\x23\x03\x00x": "contradicts the frame (size 5,", // a block of 100 bytes
		"\x28\xb5\x2f":       "",
		"not a frame at all": "",
	} {
		buffer := append(binary.LittleEndian.AppendUint64(nil, 100), text...)
		must.Fail(t, want, text)(decompressedSize(buffer, codecZSTD))
	}
}

// TestZSTDBlocks checks that maxZSTDSize is at least the decompressed size of the frames. Frames
// with a larger stated size must be refused before memory is allocated for them.
func TestZSTDBlocks(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 300<<10)
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	skippable := append([]byte("\x50\x2a\x4d\x18"), 3, 0, 0, 0, 1, 2, 3)
	for name, text := range map[string][]byte{"nothing": nil, "a byte": {7}, "zeros": make([]byte, 1<<20),
		"noise": noise, "text": []byte(strings.Repeat("a few words, ", 40000))} {
		for _, checksum := range []bool{false, true} {
			w := must.Get(zstd.NewWriter(nil, zstd.WithEncoderCRC(checksum), zstd.WithZeroFrames(true)))(t)
			frame := w.EncodeAll(text, nil)
			w.Close()
			maxOf := func(frames []byte) int64 {
				n, err := maxZSTDSize(frames, int64(len(text)))
				if err != nil && len(frames) > 20 {
					t.Errorf("%s: %v", name, err)
				}
				return n
			}
			one := maxOf(frame)
			if size := int64(len(text)); one < size || one > size+128<<10 {
				t.Errorf("%s: got a maximum of %d bytes, want %d to %d", name, one, size, size+128<<10)
			}
			if several := maxOf(slices.Concat(frame, skippable, frame, frame[:len(frame)-1])); several < 2*one ||
				several > 3*one {
				t.Errorf("%s: got a maximum of %d bytes for three frames, want %d to %d", name, several, 2*one, 3*one)
			}
			for n := range min(len(frame), 1000) {
				if maxOf(frame[:n]) > one {
					t.Errorf("%s: the first %d bytes of the frame have a larger maximum than the frame", name, n)
				}
			}
		}
	}
	// A single-segment frame that states 512 MiB, with a raw block of five bytes.
	const size = 512 << 20
	const frame = "\x28\xb5\x2f\xfd\xa0\x00\x00\x00\x20\x29\x00\x00abcde"
	buffer := append(binary.LittleEndian.AppendUint64(nil, size), frame...)
	must.Fail(t, "the stated size of 536870912 bytes exceeds the 5 bytes of the compressed blocks")(decompressedSize(buffer, codecZSTD))
	// The same frame after a skippable frame or an empty frame.
	for _, front := range []string{"\x50\x2a\x4d\x18\x00\x00\x00\x00", "\x28\xb5\x2f\xfd\x00\x00\x01\x00\x00"} {
		buffer := append(binary.LittleEndian.AppendUint64(nil, 5), front+frame...)
		must.Fail(t, "frame (size 536870912", "behind", front)(decompressedSize(buffer, codecZSTD))
	}
}
