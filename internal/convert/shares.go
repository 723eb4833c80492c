package convert

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"regexp"

	"github.com/sftseq/sftseq/internal/table"
	"github.com/sftseq/sftseq/seq"
)

// splitName matches valid names of splits, which are also file names.
var splitName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

func validSplit(name string) bool { return splitName.MatchString(name) }

// splitOf returns the canonical name of a split, for instance "val" for "validation".
func splitOf(name string) string {
	split, ok := seq.KnownSplit(name)
	if !ok {
		return name
	}
	return split
}

// CheckShares returns an error for invalid shares.
func CheckShares(shares []Share) error {
	sum := 0.0
	for _, s := range shares {
		if !validSplit(s.Split) || !(s.Part >= 0 && s.Part <= 1) {
			return fmt.Errorf("split %q with fraction %v: expected a valid name and a fraction from 0 to 1", s.Split, s.Part)
		}
		sum += s.Part
	}
	if math.Abs(sum-1) > 1e-9 {
		return fmt.Errorf("fractions of the splits: expected a sum of 1, found %.6g", sum)
	}
	return nil
}

// digestOf returns the SHA-256 of a seed and the bytes of a text. It uses buf as scratch memory.
func digestOf(seed uint64, text table.Value, buf *[]byte) [sha256.Size]byte {
	*buf = appendBytes(binary.LittleEndian.AppendUint64((*buf)[:0], seed), text)
	return sha256.Sum256(*buf)
}

// shareOf returns the split of a text. The first 64 bits of its digest, read as a fraction, select
// the split.
func shareOf(shares []Share, sum [sha256.Size]byte) string {
	u := float64(binary.BigEndian.Uint64(sum[:])) / (1 << 64)
	for _, s := range shares {
		if u < s.Part {
			return s.Split
		}
		u -= s.Part
	}
	for i := len(shares) - 1; ; i-- { // rounding may leave the sum of the shares below 1
		if shares[i].Part > 0 {
			return shares[i].Split
		}
	}
}

// appendBytes appends the bytes of a value.
func appendBytes(to []byte, v table.Value) []byte {
	if v.Tokens == nil && v.Features == nil {
		return append(to, v.Text...)
	}
	for _, token := range v.Features {
		for _, x := range token {
			to = binary.LittleEndian.AppendUint32(to, math.Float32bits(x))
		}
	}
	for _, id := range v.Tokens {
		to = binary.LittleEndian.AppendUint32(to, uint32(id))
	}
	return to
}
