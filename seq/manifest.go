package seq

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/sftseq/sftseq/internal/atomicfile"
	"github.com/sftseq/sftseq/internal/jsonlines"
)

// ManifestName is the name of the manifest, whose presence marks a data set directory as complete.
const ManifestName = "dataset.json"

// ManifestVersion is the version of written manifests.
const ManifestVersion = "2"

// ErrIncomplete is wrapped by errors about a directory without a manifest.
var ErrIncomplete = errors.New("the data set is incomplete: dataset.json, which is written last, is missing " +
	"(check the path, or create the data set again)")

// maxManifest is the maximum size of a manifest in bytes. A typical manifest has a few kilobytes.
const maxManifest = 16 << 20

// Manifest is the content of dataset.json.
type Manifest struct {
	Version     string          `json:"version"`
	Name        string          `json:"name"`
	Task        string          `json:"task"`
	Tokenizer   json.RawMessage `json:"tokenizer,omitempty"`
	VocabSize   int             `json:"vocab_size"`
	PadID       *int32          `json:"pad_token_id"`
	LabelNames  []string        `json:"label_names,omitempty"`
	NumberNames []string        `json:"number_names,omitempty"`
	// FeatureNames are the names of the numbers of each token. They are absent if the data have
	// token ids.
	FeatureNames []string `json:"feature_names,omitempty"`
	// EdgeFeatureNames are the names of the numbers of each edge. They may be empty, and are absent
	// if the data have no edges.
	EdgeFeatureNames []string             `json:"edge_feature_names,omitzero"`
	Splits           map[string]SplitInfo `json:"splits"`
	Provenance       map[string]any       `json:"provenance,omitempty"` // any keys, such as seed, generator, source
}

// SplitInfo describes one file of a data set.
type SplitInfo struct {
	File     string           `json:"file"`
	Bytes    int64            `json:"bytes"`
	Checksum string           `json:"checksum"`         // "xxh128:" and 32 hexadecimal digits, or "sha256:" and 64
	SHA256   string           `json:"sha256,omitempty"` // only in manifests of version 1
	Rows     int64            `json:"rows"`
	Lengths  Quantiles        `json:"lengths"`
	Labels   map[string]int64 `json:"labels"`            // number of tokens per tag, or of rows per label
	Numbers  []NumberSummary  `json:"numbers,omitempty"` // for the task regression
}

// upgradeChecksum moves the SHA-256 of a version 1 manifest to Checksum.
func (s *SplitInfo) upgradeChecksum() {
	if s.Checksum == "" && s.SHA256 != "" {
		s.Checksum = "sha256:" + s.SHA256
	}
	s.SHA256 = ""
}

// Spec returns the specification of a split's file.
func (m *Manifest) Spec(split string) Spec {
	return Spec{
		Task: m.Task, Name: m.Name, Tokenizer: m.Tokenizer, VocabSize: m.VocabSize,
		PadID: m.PadID, LabelNames: m.LabelNames, NumberNames: m.NumberNames, FeatureNames: m.FeatureNames,
		EdgeFeatureNames: m.EdgeFeatureNames, Split: split,
	}
}

// readManifest reads and validates dir/dataset.json.
func readManifest(dir string) (*Manifest, error) {
	path := filepath.Join(dir, ManifestName)
	text, err := atomicfile.ReadRegular(path, maxManifest)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(dir); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("%s: %w", dir, ErrIncomplete)
	}
	if err != nil {
		return nil, err
	}
	m := &Manifest{}
	decoder := json.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(m); err != nil {
		return nil, fmt.Errorf("%s: %w: restore %s from a copy, or create the data set again (sftseq data convert, "+
			"sftseq data generate)", path, malformedManifest(len(text), err), ManifestName)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, fmt.Errorf("%s: expected one JSON object, found more data after byte %d", path,
			decoder.InputOffset())
	}
	if m.Tokenizer != nil {
		// Compact the JSON, because it must equal the metadata of the Arrow files, which are not
		// indented.
		var compact bytes.Buffer
		if err := json.Compact(&compact, m.Tokenizer); err != nil {
			return nil, fmt.Errorf("%s: tokenizer: %w", path, err)
		}
		m.Tokenizer = compact.Bytes()
	}
	for name, split := range m.Splits {
		split.upgradeChecksum()
		m.Splits[name] = split
	}
	if err := m.validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

// malformedManifest returns the error for a manifest that cannot be decoded. size is the manifest's
// size in bytes.
func malformedManifest(size int, err error) error {
	const expected = "expected the JSON object of a data set"
	if size == 0 {
		return errors.New(expected + ", found an empty file")
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%s, found a truncated or damaged file that ends within it, after %d bytes", expected, size)
	}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("%s, found malformed JSON at byte %d: %w", expected, syntax.Offset, err)
	}
	return fmt.Errorf("%s: %w", expected, jsonlines.TypeError(err))
}

// validate returns an error if a field is invalid.
func (m *Manifest) validate() error {
	if m.Version != ManifestVersion && m.Version != "1" { // version 1 has SHA-256 checksums
		return fmt.Errorf("version: expected \"1\" or %q, found %.40q", ManifestVersion, m.Version)
	}
	spec := m.Spec("")
	if err := spec.Validate(); err != nil {
		return err
	}
	if len(m.Splits) == 0 {
		return errors.New("expected at least one split with rows, found none")
	}
	for name, split := range m.Splits {
		// A file name must not be a path to another directory.
		if !filepath.IsLocal(split.File) || split.File != filepath.Base(split.File) || split.File == "." {
			return fmt.Errorf("splits.%s.file: expected a file name, found %q", name, split.File)
		}
		if _, _, err := atomicfile.ChecksumLike(split.Checksum); err != nil {
			return fmt.Errorf("splits.%s.%w", name, err)
		}
		if split.Rows < 0 || split.Bytes < 0 {
			return fmt.Errorf("splits.%s: expected rows and bytes ≥ 0, found %d and %d", name, split.Rows, split.Bytes)
		}
		if err := m.checkLabels(split); err != nil {
			return fmt.Errorf("splits.%s.labels: %w", name, err)
		}
		if l := split.Lengths; !slices.IsSorted([]int64{0, l.Min, l.P25, l.P50, l.P75, l.P95, l.Max}) ||
			!(l.Mean >= 0 && l.Mean <= float64(l.Max)) {
			return fmt.Errorf("splits.%s.lengths: expected ascending quantiles ≥ 0 and a mean between 0 and max, found %+v", name, l)
		}
		if err := m.checkNumbers(split); err != nil {
			return fmt.Errorf("splits.%s.numbers: %w", name, err)
		}
	}
	return nil
}

// checkLabels returns an error if a label count is negative or exceeds the number of rows or, for
// tagging, the number of rows times the maximum length. The sum of the counts has the same maximum,
// except for multi-label.
func (m *Manifest) checkLabels(split SplitInfo) error {
	maxCount, sum := float64(split.Rows), 0.0
	if m.Task == Tagging {
		maxCount *= float64(max(1, split.Lengths.Max))
	}
	for name, n := range split.Labels {
		if n < 0 || float64(n) > maxCount {
			return fmt.Errorf("%.40q: expected a count from 0 to %.0f (the split has %d rows), found %d",
				name, maxCount, split.Rows, n)
		}
		sum += float64(n)
	}
	if m.Task != MultiLabel && sum > maxCount {
		return fmt.Errorf("expected counts with a sum of at most %.0f (the split has %d rows), found %.0f", maxCount,
			split.Rows, sum)
	}
	return nil
}

// checkNumbers returns an error unless the split has a valid summary of each number.
func (m *Manifest) checkNumbers(split SplitInfo) error {
	var names []string
	for _, n := range split.Numbers {
		if !(n.Deviation >= 0) || math.IsInf(n.Deviation, 0) || n.Rows < 0 || n.Rows > split.Rows {
			return fmt.Errorf("%.40q: expected a deviation ≥ 0 and 0 to %d rows, found %v and %d", n.Name,
				split.Rows, n.Deviation, n.Rows)
		}
		names = append(names, n.Name)
	}
	if !slices.Equal(names, m.NumberNames) {
		return fmt.Errorf("expected the numbers %s, found %s", jsonlines.QuoteNames(m.NumberNames),
			jsonlines.QuoteNames(names))
	}
	return nil
}

// SplitNames returns the names of the splits: train, val and test first, then others in alphabetical
// order.
func (m *Manifest) SplitNames() []string {
	var names, others []string
	for _, name := range []string{"train", "val", "test"} {
		if _, ok := m.Splits[name]; ok {
			names = append(names, name)
		}
	}
	for name := range m.Splits {
		if !slices.Contains(names, name) {
			others = append(others, name)
		}
	}
	slices.Sort(others)
	return append(names, others...)
}
