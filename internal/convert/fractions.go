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

// validSplit reports whether the name of a split is valid.
func validSplit(name string) bool { return splitName.MatchString(name) }

// splitOf returns the canonical name of a split, for instance "val" for "validation".
func splitOf(name string) string {
	split, ok := seq.KnownSplit(name)
	if !ok {
		return name
	}
	return split
}

// CheckSplitFractions returns an error unless the names are valid and the fractions are from 0 to 1
// with a sum of 1.
func CheckSplitFractions(fractions []SplitFraction) error {
	sum := 0.0
	for _, s := range fractions {
		if !validSplit(s.Split) || !(s.Fraction >= 0 && s.Fraction <= 1) {
			return fmt.Errorf("split %q with fraction %v: expected a valid name and a fraction from 0 to 1", s.Split,
				s.Fraction)
		}
		sum += s.Fraction
	}
	if math.Abs(sum-1) > 1e-9 {
		return fmt.Errorf("fractions of the splits: expected a sum of 1, found %.6g", sum)
	}
	return nil
}

// digestOf returns the SHA-256 of a seed and the bytes of a value. It uses buf as scratch memory.
func digestOf(seed uint64, text table.Value, buf *[]byte) [sha256.Size]byte {
	*buf = appendBytes(binary.LittleEndian.AppendUint64((*buf)[:0], seed), text)
	return sha256.Sum256(*buf)
}

// drawSplit returns the split of a text. The first 64 bits of its digest, as a fraction in [0, 1),
// select the split.
func drawSplit(fractions []SplitFraction, digest [sha256.Size]byte) string {
	u := float64(binary.BigEndian.Uint64(digest[:])) / (1 << 64)
	for _, s := range fractions {
		if u < s.Fraction {
			return s.Split
		}
		u -= s.Fraction
	}
	for i := len(fractions) - 1; ; i-- { // rounding may leave the sum of the fractions below 1
		if fractions[i].Fraction > 0 {
			return fractions[i].Split
		}
	}
}

// appendBytes appends the bytes of a value: its text, tokens or features.
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
