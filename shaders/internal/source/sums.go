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

// SumsFile is the name of the file with the checksums.
const SumsFile = "sources.sum"

// Sums maps the name of each shader to its checksums.
type Sums map[string]Pair

// Pair holds the [Shader.Sum] of a source and the [Sum] of its SPIR-V.
type Pair struct{ Source, SPIRV string }

// Sum returns the SHA-256 of a file's content in hexadecimal digits.
func Sum(file []byte) string {
	sum := sha256.Sum256(file)
	return hex.EncodeToString(sum[:])
}

var line = regexp.MustCompile(`^([0-9a-f]{64})  ([0-9a-f]{64})  (\S+)$`)

// ParseSums parses the content of SumsFile: a line for each shader with both checksums and the
// name.
func ParseSums(text string) (Sums, error) {
	sums := Sums{}
	n := 0
	for l := range strings.Lines(text) {
		n++
		m := line.FindStringSubmatch(strings.TrimSuffix(l, "\n"))
		if m == nil {
			return nil, fmt.Errorf("%s:%d: expected the sums of a source and its SPIR-V, and the shader's name, found %q",
				SumsFile, n, l)
		}
		if _, twice := sums[m[3]]; twice {
			return nil, fmt.Errorf("%s:%d: %s occurs twice", SumsFile, n, m[3])
		}
		sums[m[3]] = Pair{m[1], m[2]}
	}
	return sums, nil
}

// String returns the content of SumsFile, sorted by name.
func (s Sums) String() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(s)) {
		fmt.Fprintf(&b, "%s  %s  %s\n", s[name].Source, s[name].SPIRV, name)
	}
	return b.String()
}
