package files

import "io"

// Numbers of bytes that [Sample] keeps of a longer file.
const (
	HeadBytes   = 1024
	MiddleBytes = 512
	TailBytes   = 512
	SampleBytes = HeadBytes + MiddleBytes + TailBytes
)

// Sample returns the bytes that represent a file: all bytes of a file of at most SampleBytes,
// otherwise the first HeadBytes, the MiddleBytes around the centre and the last TailBytes.
func Sample(r io.ReaderAt, size int64) ([]byte, error) {
	if size <= SampleBytes {
		return readAt(r, nil, 0, int(size))
	}
	out, err := readAt(r, nil, 0, HeadBytes)
	if err == nil {
		out, err = readAt(r, out, (size-MiddleBytes)/2, MiddleBytes)
	}
	if err == nil {
		out, err = readAt(r, out, size-TailBytes, TailBytes)
	}
	return out, err
}

// SampleFile returns the [Sample] and the size of a regular file.
func SampleFile(path string) (sample []byte, size int64, err error) {
	err = withFile(path, func(r io.ReaderAt, n int64) (err error) {
		size = n
		sample, err = Sample(r, n)
		return err
	})
	return sample, size, err
}

// Offset converts the index i of a byte in a [Sample] to the offset of this byte in the file. size is
// the size of the file in bytes.
func Offset(i int, size int64) int64 {
	switch {
	case size <= SampleBytes || i < HeadBytes:
		return int64(i)
	case i < HeadBytes+MiddleBytes:
		return (size-MiddleBytes)/2 + int64(i-HeadBytes)
	}
	return size - SampleBytes + int64(i)
}

// Fragment returns n adjacent bytes of a file, or the whole file if it is shorter. place, in [0, 1), is
// the position of the fragment relative to the last possible position.
func Fragment(r io.ReaderAt, size int64, n int, place float64) ([]byte, error) {
	if size <= int64(n) {
		return readAt(r, nil, 0, int(size))
	}
	return readAt(r, nil, int64(place*float64(size-int64(n)+1)), n)
}

// Fragments calls visit for the successive fragments of n bytes of a regular file, with their offsets and
// the size of the file. The last fragment may be shorter.
func Fragments(path string, n int, visit func(offset, size int64, fragment []byte) error) error {
	return withFile(path, func(r io.ReaderAt, size int64) error {
		for offset := int64(0); offset < size; offset += int64(n) {
			fragment, err := readAt(r, nil, offset, int(min(int64(n), size-offset)))
			if err == nil {
				err = visit(offset, size, fragment)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// readAt appends n bytes of r at an offset to out. A file that has become shorter is an error.
func readAt(r io.ReaderAt, out []byte, offset int64, n int) ([]byte, error) {
	to := append(out, make([]byte, n)...)
	if read, err := r.ReadAt(to[len(out):], offset); read < n {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	return to, nil
}
