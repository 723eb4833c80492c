package safetensors

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/sftseq/sftseq/internal/atomicfile"
)

// Write atomically replaces path with a file that has the tensors in the given order, the metadata sorted
// by key, and a checksum of the whole file. The bytes depend only on the arguments. The data begin
// at a multiple of 8 bytes.
func Write(path string, tensors []Tensor, metadata map[string]string) error {
	header, err := encodeHeader(tensors, metadata)
	if err == nil {
		header, err = withChecksum(header, tensors)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return atomicfile.Write(path, func(w io.Writer) error {
		if _, err := w.Write(header); err != nil {
			return err
		}
		return writeData(w, tensors)
	})
}

// writeData writes the numbers of all tensors.
func writeData(w io.Writer, tensors []Tensor) error {
	buffer := make([]byte, 0, 1<<16)
	for _, t := range tensors {
		err := writeNumbers(w, t.Data, math.Float32bits, buffer)
		if err == nil {
			err = writeNumbers(w, t.Ints, func(n int32) uint32 { return uint32(n) }, buffer)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func writeNumbers[T any](w io.Writer, data []T, bits func(T) uint32, buffer []byte) error {
	for chunk := range slices.Chunk(data, cap(buffer)/4) {
		buffer = buffer[:0]
		for _, x := range chunk {
			buffer = binary.LittleEndian.AppendUint32(buffer, bits(x))
		}
		if _, err := w.Write(buffer); err != nil {
			return err
		}
	}
	return nil
}

// encodeHeader returns the part of the file before the data: the header's length and the padded
// JSON, with noDigits as the checksum.
func encodeHeader(tensors []Tensor, metadata map[string]string) ([]byte, error) {
	header := append(make([]byte, 8), '{') // the length is filled in at the end
	for key, value := range metadata {
		if !utf8.ValidString(key) || !utf8.ValidString(value) {
			return nil, fmt.Errorf("metadata %q: expected UTF-8, found %q", key, value)
		}
	}
	all := map[string]string{checksumKey: noDigits}
	maps.Copy(all, metadata)
	if len(all) != len(metadata)+1 {
		return nil, fmt.Errorf("metadata %q: the key is reserved", checksumKey)
	}
	header = appendJSON(header, metadataKey)
	header = append(header, ':')
	header = appendJSON(header, all) // encoding/json sorts the keys of a map
	header = append(header, ',')
	seen := map[string]bool{metadataKey: true}
	offset := int64(0)
	for _, t := range tensors {
		if !utf8.ValidString(t.Name) {
			return nil, fmt.Errorf("tensor %q: expected a name in UTF-8", t.Name)
		}
		if seen[t.Name] {
			return nil, fmt.Errorf("tensor %q: the name is reserved or occurs twice", t.Name)
		}
		seen[t.Name] = true
		n, err := elements(t.Shape)
		if err != nil {
			return nil, fmt.Errorf("tensor %q: %w", t.Name, err)
		}
		kind, held, other := F32, len(t.Data), len(t.Ints)
		if t.Type == I32 {
			kind, held, other = I32, other, held
		}
		if n != int64(held) || other > 0 {
			return nil, fmt.Errorf("tensor %q: expected %d elements of %s for shape %v, found %d, and %d of another type", t.Name, n, kind, t.Shape, held, other)
		}
		shape := t.Shape
		if shape == nil {
			shape = []int{} // null is not a valid shape
		}
		header = appendJSON(header, t.Name)
		header = append(header, ':')
		header = appendJSON(header, struct {
			Dtype   string   `json:"dtype"`
			Shape   []int    `json:"shape"`
			Offsets [2]int64 `json:"data_offsets"`
		}{kind, shape, [2]int64{offset, offset + 4*n}})
		header = append(header, ',')
		offset += 4 * n
	}
	header = append(bytes.TrimSuffix(header, []byte(",")), '}')
	for len(header)%8 != 0 {
		header = append(header, ' ')
	}
	if len(header)-8 > maxHeader {
		return nil, fmt.Errorf("header: expected at most %d bytes, found %d", maxHeader, len(header)-8)
	}
	binary.LittleEndian.PutUint64(header, uint64(len(header)-8))
	return header, nil
}

// appendJSON appends the JSON text of a value that cannot fail to marshal: a string, an integer, or a map,
// list or struct of strings and integers.
func appendJSON(b []byte, value any) []byte {
	buffer := bytes.NewBuffer(b)
	encoder := json.NewEncoder(buffer)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value) // neither the value nor a bytes.Buffer can fail
	return bytes.TrimSuffix(buffer.Bytes(), []byte("\n"))
}
