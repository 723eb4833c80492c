package safetensors

import (
	"bytes"
	"fmt"
	"hash"
	"strings"

	"github.com/sftseq/sftseq/internal/atomicfile"
)

// checksumKey is the metadata key of the checksum of the whole file. The checksum is computed with
// zeros instead of its own digits. Other programs ignore the key and usually drop it.
const checksumKey = "sftseq.checksum"

// noDigits is the placeholder in the header while the checksum is computed.
var noDigits = atomicfile.ChecksumKind + ":" + strings.Repeat("0", 32)

// statedChecksum compares the checksum that a file states with the checksum of the bytes read.
type statedChecksum struct {
	text, kind string
	hash       hash.Hash
}

// newStatedChecksum returns the checksum that a file's metadata states, or nil for a file without a
// checksum. The slice start is the part of the file before the data.
func newStatedChecksum(start []byte, metadata map[string]string) (*statedChecksum, error) {
	text, ok := metadata[checksumKey]
	if !ok {
		return nil, nil
	}
	kind, hash, err := atomicfile.ChecksumLike(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", metadataKey, checksumKey, err)
	}
	digits := []byte(text[len(kind)+1:])
	if n := bytes.Count(start, digits); n != 1 {
		return nil, fmt.Errorf("%s: %s: expected %s once in the header, found it %d times",
			metadataKey, checksumKey, digits, n)
	}
	hash.Write(bytes.Replace(start, digits, bytes.Repeat([]byte("0"), len(digits)), 1))
	return &statedChecksum{text, kind, hash}, nil
}

// compare returns an error if the checksum of the bytes read differs from the stated checksum. The
// whole file must have been read.
func (s *statedChecksum) compare() error {
	if s == nil {
		return nil
	}
	if found := atomicfile.ChecksumText(s.kind, s.hash); found != s.text {
		return fmt.Errorf("expected the checksum %s stated in the file, found %s: the file is damaged, or another program changed it and kept %q in its %s",
			s.text, found, checksumKey, metadataKey)
	}
	return nil
}

// withChecksum computes the checksum of a file with this header and these tensors. It returns the
// header with the checksum in place of noDigits.
func withChecksum(header []byte, tensors []Tensor) ([]byte, error) {
	hash := atomicfile.NewChecksum()
	hash.Write(header)
	if err := writeData(hash, tensors); err != nil {
		return nil, err
	}
	// The text with quotes is unique, because quotes in other metadata are escaped.
	value := func(text string) []byte { return fmt.Appendf(nil, `"%s":"%s"`, checksumKey, text) }
	return bytes.Replace(header, value(noDigits), value(atomicfile.ChecksumText(atomicfile.ChecksumKind, hash)), 1), nil
}

// Stated reports whether a file states its checksum. Files written by [Write] do. Another program that
// loads such a file and saves it again usually drops the checksum.
func Stated(path string) (bool, error) {
	file, err := atomicfile.OpenRegular(path)
	if err != nil {
		return false, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return false, err
	}
	start, err := readHeader(file, info.Size())
	if err != nil {
		return false, fmt.Errorf("%s: %w", path, err)
	}
	_, metadata, err := parseHeader(start[8:], info.Size()-int64(len(start)), F32, I32)
	if err != nil {
		return false, fmt.Errorf("%s: %w", path, err)
	}
	_, stated := metadata[checksumKey]
	return stated, nil
}
