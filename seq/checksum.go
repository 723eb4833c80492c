package seq

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"strings"

	"github.com/zeebo/xxh3"
)

// A checksum finds damage and tells data sets apart. It is XXH3 of 128 bits, which is
// faster than the memory: SHA-256 took a fifth of all work of a conversion. Data sets
// that have SHA-256 were made before and stay valid.
const checksumKind = "xxh128"

// checksums are the kinds that a manifest may have: "KIND:HEX".
var checksums = map[string]func() hash.Hash{
	checksumKind: func() hash.Hash { return &xxh128{} },
	"sha256":     sha256.New,
}

// xxh128 is XXH3 of 128 bits, as xxh128sum writes it.
type xxh128 struct{ xxh3.Hasher }

func (h *xxh128) Size() int { return 16 }

func (h *xxh128) Sum(b []byte) []byte {
	sum := h.Sum128().Bytes()
	return append(b, sum[:]...)
}

// nameChecksum says of which kind the checksum is that a manifest of before has.
func (s *SplitInfo) nameChecksum() {
	if s.Checksum == "" && s.SHA256 != "" {
		s.Checksum = "sha256:" + s.SHA256
	}
	s.SHA256 = ""
}

// checksumOf is what was written to a hash of a kind, as the manifest has it.
func checksumOf(kind string, h hash.Hash) string {
	return kind + ":" + hex.EncodeToString(h.Sum(nil))
}

// checksumHash begins what is to become a checksum of the same kind.
func checksumHash(checksum string) (kind string, h hash.Hash, err error) {
	kind, digits, _ := strings.Cut(checksum, ":")
	if begin := checksums[kind]; begin != nil {
		h = begin()
		if sum, err := hex.DecodeString(digits); err == nil && len(sum) == h.Size() {
			return kind, h, nil
		}
	}
	return "", nil, fmt.Errorf("checksum: expected a kind and hexadecimal digits, such as %s: and 32, found %.80q", checksumKind, checksum)
}
