package source

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// SumsFile is the file name of the record.
const SumsFile = "sources.sum"

// Sums has the checksums of each shader, by name.
type Sums map[string]Pair

// Pair is the [Shader.Sum] of a source, and the [Sum] of its SPIR-V.
type Pair struct{ Source, SPIRV string }

// Sum returns the SHA-256 of a file.
func Sum(file []byte) string {
	sum := sha256.Sum256(file)
	return hex.EncodeToString(sum[:])
}

var line = regexp.MustCompile(`^([0-9a-f]{64})  ([0-9a-f]{64})  (\S+)$`)

// ParseSums reads the record: a line for each shader with both checksums and its name.
func ParseSums(text string) (Sums, error) {
	sums := Sums{}
	n := 0
	for l := range strings.Lines(text) {
		n++
		m := line.FindStringSubmatch(strings.TrimSuffix(l, "\n"))
		if m == nil {
			return nil, fmt.Errorf("%s:%d: expected the sums of a source and its SPIR-V and their name, found %q",
				SumsFile, n, l)
		}
		if _, twice := sums[m[3]]; twice {
			return nil, fmt.Errorf("%s:%d: %s occurs twice", SumsFile, n, m[3])
		}
		sums[m[3]] = Pair{m[1], m[2]}
	}
	return sums, nil
}

// String returns the record, sorted by name.
func (s Sums) String() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(s)) {
		fmt.Fprintf(&b, "%s  %s  %s\n", s[name].Source, s[name].SPIRV, name)
	}
	return b.String()
}
