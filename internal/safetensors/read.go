package safetensors

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/sftseq/sftseq/internal/atomicfile"
)

// Read returns the tensors of a file in the order of their data, and its metadata, which may be
// nil. It returns an error for tensors with types other than F32 and for a wrong checksum. Files of
// other programs may lack a checksum.
func Read(path string) ([]Tensor, map[string]string, error) { return readFile(path, F32) }

// ReadMixed is like Read but also accepts tensors of type I32.
func ReadMixed(path string) ([]Tensor, map[string]string, error) { return readFile(path, F32, I32) }

func readFile(path string, kinds ...string) ([]Tensor, map[string]string, error) {
	file, err := atomicfile.OpenRegular(path)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, nil, err
	}
	return readNamed(file, info.Size(), path, kinds...)
}

// ReadShapes returns the tensors of a file without their data. It reads only the header, so it does not
// compare the checksum.
func ReadShapes(path string) ([]Tensor, error) { return readShapes(path, F32) }

// ReadMixedShapes is like ReadShapes but also accepts tensors of type I32.
func ReadMixedShapes(path string) ([]Tensor, error) { return readShapes(path, F32, I32) }

func readShapes(path string, kinds ...string) ([]Tensor, error) {
	file, err := atomicfile.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	start, err := readHeader(file, info.Size())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	entries, _, err := parseHeader(start[8:], info.Size()-int64(len(start)), kinds...)
	if err == nil {
		err = checkStored(file, info.Size())
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	tensors := make([]Tensor, len(entries))
	for i, e := range entries {
		tensors[i] = Tensor{Name: e.name, Shape: e.shape, Type: e.tensorType()}
	}
	return tensors, nil
}

// ReadMixedFrom is like ReadMixed for a file that r reads. size is the file's size in bytes, and name
// replaces the path in errors.
func ReadMixedFrom(r io.ReaderAt, size int64, name string) ([]Tensor, map[string]string, error) {
	return readNamed(r, size, name, F32, I32)
}

func readNamed(r io.ReaderAt, size int64, name string, kinds ...string) ([]Tensor, map[string]string, error) {
	tensors, metadata, err := read(r, size, kinds...)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	return tensors, metadata, nil
}

// readHeader returns the part of a file before the data: the header's length and the header.
func readHeader(r io.ReaderAt, size int64) (start []byte, err error) {
	if size < 8 {
		return nil, fmt.Errorf("expected a safetensors file of at least 8 bytes, found %d: the file is truncated "+
			"(restore it from a copy)", size)
	}
	var length [8]byte
	if err := readAt(r, length[:], 0); err != nil {
		return nil, err
	}
	headerSize := binary.LittleEndian.Uint64(length[:])
	if headerSize > uint64(size-8) {
		return nil, fmt.Errorf("header: expected a length of at most the remaining %d bytes, found %d: the file is "+
			"truncated, or not a safetensors file (restore it from a copy)", size-8, headerSize)
	}
	if headerSize > maxHeader {
		return nil, fmt.Errorf("header: expected at most %d bytes, found a length of %d", maxHeader, headerSize)
	}
	start = make([]byte, 8+headerSize)
	return start, readAt(r, start, 0)
}

func read(r io.ReaderAt, size int64, kinds ...string) ([]Tensor, map[string]string, error) {
	start, err := readHeader(r, size)
	if err != nil {
		return nil, nil, err
	}
	dataStart := int64(len(start))
	entries, metadata, err := parseHeader(start[8:], size-dataStart, kinds...)
	if file, ok := r.(*os.File); ok && err == nil {
		err = checkStored(file, size)
	}
	if err != nil {
		return nil, nil, err
	}
	stated, err := newStatedChecksum(start, metadata)
	if err != nil {
		return nil, nil, err
	}

	tensors := make([]Tensor, len(entries))
	buffer := make([]byte, min(1<<18, (size-dataStart+3)&^3))
	for i, e := range entries {
		t := Tensor{Name: e.name, Shape: e.shape, Type: e.tensorType()}
		n := int(e.end-e.begin) / 4
		var err error
		if e.kind == I32 {
			t.Ints = make([]int32, n)
			err = readNumbers(r, t.Ints, func(bits uint32) int32 { return int32(bits) },
				dataStart+e.begin, buffer, stated)
		} else {
			t.Data = make([]float32, n)
			err = readNumbers(r, t.Data, math.Float32frombits, dataStart+e.begin, buffer, stated)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("tensor %q: %w", e.name, err)
		}
		tensors[i] = t
	}
	if err := stated.compare(); err != nil {
		return nil, nil, err
	}
	if delete(metadata, checksumKey); stated != nil && len(metadata) == 0 {
		metadata = nil // Write has added the only key
	}
	return tensors, metadata, nil
}

// tensorType returns the value of Tensor.Type: I32, or "" for F32.
func (e *entry) tensorType() string {
	if e.kind == I32 {
		return I32
	}
	return ""
}

// readNumbers fills data with the numbers at an offset of r. It reads through buffer, whose length must
// be a multiple of 4, and hashes the bytes for the parameter stated unless it is nil.
func readNumbers[T any](r io.ReaderAt, data []T, decode func(uint32) T, offset int64, buffer []byte,
	stated *statedChecksum) error {
	for len(data) > 0 {
		chunk := buffer[:min(len(buffer), 4*len(data))]
		if err := readAt(r, chunk, offset); err != nil {
			return err
		}
		if stated != nil {
			stated.hash.Write(chunk)
		}
		n := len(chunk) / 4
		for i := range data[:n] {
			data[i] = decode(binary.LittleEndian.Uint32(chunk[4*i:]))
		}
		data, offset = data[n:], offset+int64(len(chunk))
	}
	return nil
}

// readAt fills p. An early end means that the file was truncated after its size was read.
func readAt(r io.ReaderAt, p []byte, offset int64) error {
	n, err := r.ReadAt(p, offset)
	if n == len(p) {
		return nil
	}
	return fmt.Errorf("expected %d bytes at offset %d, found %d: %w", len(p), offset, n, err)
}
