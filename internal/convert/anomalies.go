package convert

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sftseq/sftseq/internal/source"
	"github.com/sftseq/sftseq/internal/table"
	"github.com/sftseq/sftseq/seq"
)

// anomalies is a bit set of indications that a row was misinterpreted.
type anomalies uint8

// Indications of misinterpretation.
const (
	anomalySpan    anomalies = 1 << iota // a span begins or ends within a word or with white space
	anomalyLost                          // the text contains U+FFFD, the replacement character
	anomalyRounded                       // differences of large numbers are close to the resolution of float32
	anomalyNormal                        // a normal whose length is neither 0 nor about 1
	anomalyPadded                        // a list of tokens ends in three equal tokens
	anomalyMissing                       // a number is a common placeholder for a missing value
	anomalyPath                          // the text is a file name
	anomalyBytes                         // the text is a Python bytes literal
	anomalyKinds   = iota
)

// anomalyTexts holds the note for the rows with each anomaly, including the next step.
var anomalyTexts = [anomalyKinds]string{
	"have a span that begins or ends within a word or with white space: expected offsets in characters from 0 (not bytes), with an exclusive end",
	"have U+FFFD in their text, which replaces bytes that could not be decoded: write the table again from its source",
	"have large numbers whose differences are too small for float32: subtract a constant (the first number, for example)",
	"have normals (nx, ny, nz) whose length is not 1: expected unit vectors (rename features that are not normals)",
	"of tokens end in a repeated token, and all have the same length: padding is read as tokens: remove it",
	"have numbers that often mark a missing value, such as -999 or 1e20: remove these rows, or replace the numbers with real values",
	"have a file name as their text, but the named files are not read: pass a folder of CLASS/FILE (--from FOLDER)",
	"have a Python bytes literal (b'x') as their text: write the decoded text (bytes.decode())",
}

// oneRow changes a text of anomalyTexts for a single row.
var oneRow = strings.NewReplacer("have ", "has ", "their text", "its text", "end in", "ends in", "these rows",
	"this row")

// anomalyCounts counts the rows with each anomaly.
type anomalyCounts struct {
	kinds [anomalyKinds]source.SkippedKind
}

// add counts a row with the anomalies a.
func (c *anomalyCounts) add(a anomalies, position func() string) {
	for kind := range c.kinds {
		if a&(1<<kind) != 0 {
			c.kinds[kind].Add(position)
		}
	}
}

// note adds a note to the report for each anomaly that occurred: for anomalyPadded only if
// padded is set, for anomalyPath and anomalyBytes only if most of the kept rows have them.
func (c *anomalyCounts) note(left *source.Skipped, padded bool) {
	for kind := range c.kinds {
		k := &c.kinds[kind]
		common := 2*k.Rows > left.Read-left.Left()
		if report := k.Rows > 0 && (1<<kind != anomalyPadded || padded) &&
			(1<<kind&(anomalyPath|anomalyBytes) == 0 || common); report {
			text := anomalyTexts[kind]
			if k.Rows == 1 {
				text = oneRow.Replace(text)
			}
			left.Note(fmt.Sprintf("%d of %d rows %s; the first is %s", k.Rows, left.Read, text, k.Places[0]))
		}
	}
}

// normalAt returns the index of the first component of a normal among the features; -1 without
// normals.
func normalAt(names []string) int {
	at := slices.Index(names, seq.NormalNames[0])
	if at < 0 || at+len(seq.NormalNames) > len(names) ||
		!slices.Equal(names[at:at+len(seq.NormalNames)], seq.NormalNames) {
		return -1
	}
	return at
}

// detectAnomalies adds the anomalies of a converted row to w.anomalies, except anomalySpan.
func (w *worker) detectAnomalies(row *table.Row, e *seq.Example) {
	if slices.ContainsFunc(e.Numbers, isMissing) ||
		slices.ContainsFunc(e.Features, func(f []float32) bool { return slices.ContainsFunc(f, isMissing) }) {
		w.anomalies |= anomalyMissing
	}
	switch {
	case w.options.Features != "":
		if at := normalAt(w.options.FeatureNames); at >= 0 &&
			slices.ContainsFunc(e.Features, func(f []float32) bool { return !unitOrZero(f[at : at+3]) }) {
			w.anomalies |= anomalyNormal
		}
		if isRounded(e.Features) {
			w.anomalies |= anomalyRounded
		}
	case w.tokenizer == nil:
		if isPadded(e.A) {
			w.anomalies |= anomalyPadded
		}
	default:
		text := row.Values[firstText].Text
		if namesFile.MatchString(text[:min(len(text), maxPath)]) {
			w.anomalies |= anomalyPath
		}
		if len(text) > 2 && text[0] == 'b' && (text[1] == '\'' || text[1] == '"') && text[len(text)-1] == text[1] {
			w.anomalies |= anomalyBytes
		}
		if slices.ContainsFunc(w.texts(row), func(v table.Value) bool {
			return strings.Contains(v.Text, "\uFFFD") &&
				utf8.ValidString(v.Text)
		}) {
			w.anomalies |= anomalyLost
		}
	}
}

// namesFile matches a name with a common extension of documents, audio, images, arrays or 3D shapes.
var namesFile = regexp.MustCompile(`^[^\s"'<>{}]+\.(?i:txt|html?|json|pdf|docx?|png|jpe?g|gif|bmp|tiff?|webp|wav|mp3|flac|ogg|npy|obj|off|ply|xyz|pts)$`)

// maxPath is the number of bytes at the beginning of a text that are tested as a file name.
const maxPath = 1 << 10

// unitOrZero reports whether the length of a vector is 0, or 1 within 10%.
func unitOrZero(v []float32) bool {
	length := math.Sqrt(float64(v[0])*float64(v[0]) + float64(v[1])*float64(v[1]) + float64(v[2])*float64(v[2]))
	return length == 0 || length > 0.9 && length < 1.1
}

// isRounded reports whether all values of some feature lie within a hundred steps of float32 at
// their magnitude. Equal values count only from 2²⁴ on, where float32 cannot represent every integer.
func isRounded(features [][]float32) bool {
	const step, whole = 1.0 / (1 << 23), 1 << 24
	if len(features) < 2 {
		return false
	}
	for c := range features[0] {
		lowest, highest := float64(features[0][c]), float64(features[0][c])
		for _, f := range features {
			lowest, highest = min(lowest, float64(f[c])), max(highest, float64(f[c]))
		}
		size := max(-lowest, highest)
		if highest-lowest < 100*step*size && (highest > lowest || size >= whole) {
			return true
		}
	}
	return false
}

// isMissing reports whether x is a number that programs write for a missing value.
func isMissing(x float32) bool {
	return x <= -999 && (x == -999 || x == -9999 || x == -99999 || x == -999999) || x >= 1e20 &&
		(x == 1e20 || x == 1e30 || x == 9.96921e36) || x == -1e30
}

// isPadded reports whether a list of more than three tokens ends in three equal tokens.
func isPadded(tokens []int32) bool {
	n := len(tokens)
	return n > 3 && tokens[n-1] == tokens[n-2] && tokens[n-2] == tokens[n-3]
}
