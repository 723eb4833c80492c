package seq

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"sftseq/internal/atomicfile"
)

// ErrExists is in the error for a directory that holds a complete data set.
var ErrExists = errors.New("there is a complete data set already")

// A DatasetBuilder writes a data set directory: the splits, the manifest last. What was
// there before stays as it was until the first split is closed.
type DatasetBuilder struct {
	dir      string
	replace  bool
	manifest Manifest
	open     []*SplitWriter
	replaced []string // files of the data set that was there before
	ids      bool     // rows have them
	made     bool     // dir was not there
}

// CreateDataset begins a data set in dir, which is made if need be; spec's
// Split is ignored. A complete data set in dir is an ErrExists unless replace
// is set.
func CreateDataset(dir string, spec Spec, replace bool) (*DatasetBuilder, error) {
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	_, err := os.Stat(dir)
	made := errors.Is(err, fs.ErrNotExist)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	manifest := filepath.Join(dir, ManifestName)
	if _, err := os.Stat(manifest); err == nil && !replace {
		return nil, fmt.Errorf("%s: %w", dir, ErrExists)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err := atomicfile.CleanAll(dir, ".arrow"); err != nil {
		return nil, err
	}
	var replaced []string
	if old, err := readManifest(dir); err == nil {
		for _, split := range old.Splits {
			replaced = append(replaced, split.File)
		}
	}
	return &DatasetBuilder{dir: dir, replace: replace, replaced: replaced, made: made, ids: spec.IDs, manifest: Manifest{
		Version: ManifestVersion, Name: spec.Name, Task: spec.Task, Tokenizer: spec.Tokenizer,
		VocabSize: spec.VocabSize, PadID: spec.PadID, LabelNames: spec.LabelNames,
		Splits: map[string]SplitInfo{},
	}}, nil
}

// ExtendDataset begins to add splits to the complete data set in dir, or a new
// one if there is none. A split that is there already is an ErrExists unless
// replace is set.
func ExtendDataset(dir string, spec Spec, replace bool) (*DatasetBuilder, error) {
	d, err := OpenDataset(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrIncomplete) {
		return CreateDataset(dir, spec, replace)
	}
	if err != nil {
		return nil, err
	}
	have, want := d.Manifest.Spec(""), spec
	want.Split, want.IDs = "", false // which splits may have or not
	if !have.Schema().Equal(want.Schema()) || !have.sameMetadata(&want) {
		return nil, fmt.Errorf("%s: expected a data set of the same task, vocabulary and labels as %s, found %s", dir, want.Name, have.Name)
	}
	return &DatasetBuilder{dir: dir, replace: replace, ids: spec.IDs, manifest: *d.Manifest}, nil
}

// Split begins the file of a split, which must be closed or aborted. Several may be
// open at once, for a single goroutine.
func (b *DatasetBuilder) Split(name string) (*SplitWriter, error) {
	if name == "" || name != filepath.Base(name) || name[0] == '.' {
		return nil, fmt.Errorf("split %q: expected a name such as train", name)
	}
	if _, ok := b.manifest.Splits[name]; ok && !b.replace {
		return nil, fmt.Errorf("%s: split %s: %w", b.dir, name, ErrExists)
	}
	path := b.path(name)
	if err := atomicfile.Clean(path); err != nil {
		return nil, err
	}
	s := &SplitWriter{builder: b, name: name, summary: NewSummary()}
	if err := s.create(); err != nil {
		return nil, err
	}
	b.open = append(b.open, s)
	return s, nil
}

func (b *DatasetBuilder) path(split string) string { return filepath.Join(b.dir, split+".arrow") }

// Finish writes the manifest and so makes the data set complete. Provenance
// says how to get the same data again; it may be nil. Where splits were added,
// its keys are added, too.
func (b *DatasetBuilder) Finish(provenance map[string]any) (*Dataset, error) {
	if b.manifest.Provenance == nil {
		b.manifest.Provenance = map[string]any{}
	}
	maps.Copy(b.manifest.Provenance, provenance)
	b.manifest.Version = ManifestVersion // of one that was extended, too
	if err := b.manifest.validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", b.dir, err)
	}
	text, err := json.MarshalIndent(&b.manifest, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("%s: provenance: %w", b.dir, err)
	}
	err = atomicfile.Write(filepath.Join(b.dir, ManifestName), func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	})
	if err != nil {
		return nil, err
	}
	return &Dataset{Dir: b.dir, Manifest: &b.manifest}, b.removeReplaced()
}

// removeReplaced removes the splits of the data set that was there before, and is no more.
func (b *DatasetBuilder) removeReplaced() error {
	for _, split := range b.manifest.Splits {
		b.replaced = slices.DeleteFunc(b.replaced, func(file string) bool { return file == split.File })
	}
	for _, file := range b.replaced {
		if err := os.Remove(filepath.Join(b.dir, file)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// A SplitWriter is a Writer that keeps the books for the manifest.
type SplitWriter struct {
	builder *DatasetBuilder
	name    string
	writer  *Writer
	hash    hash.Hash
	size    byteCount
	summary *Summary
}

// create begins the file.
func (s *SplitWriter) create() (err error) {
	s.hash, s.size = checksums[checksumKind](), 0
	spec := s.builder.manifest.Spec(s.name)
	spec.IDs = s.builder.ids
	w, err := create(s.builder.path(s.name), spec, io.MultiWriter(s.hash, &s.size))
	if err == nil {
		s.writer = w
	}
	return err
}

// Write appends one row.
func (s *SplitWriter) Write(e Example) error {
	if err := s.writer.Write(e); err != nil {
		return s.explain(err)
	}
	s.summary.Add(e.Length(), e.Label)
	return nil
}

// WriteBlock appends the rows of a block, as [Writer.WriteBlock] does.
func (s *SplitWriter) WriteBlock(b *Block) error {
	s.summary.addBlock(b)
	if err := s.writer.WriteBlock(b); err != nil {
		return s.explain(err)
	}
	return nil
}

func (s *SplitWriter) explain(err error) error {
	return fmt.Errorf("%s: %w", s.builder.path(s.name), err)
}

// Rows returns the number of rows written so far.
func (s *SplitWriter) Rows() int64 { return s.writer.Rows() }

// Prepare does all of Close but what replaces a data set that was there before: where
// there are several splits, what may fail then fails before the first is closed. No row
// may follow.
func (s *SplitWriter) Prepare() error {
	if err := s.writer.prepare(); err != nil {
		return s.explain(err)
	}
	return nil
}

// Close completes the file and enters it into the manifest.
func (s *SplitWriter) Close() error {
	if err := s.Prepare(); err != nil {
		s.Abort()
		return err
	}
	// From here to Finish the manifest would not describe the file.
	if err := os.Remove(filepath.Join(s.builder.dir, ManifestName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := s.writer.Close(); err != nil {
		return s.explain(err)
	}
	s.builder.manifest.Splits[s.name] = SplitInfo{
		File:     filepath.Base(s.builder.path(s.name)),
		Bytes:    int64(s.size),
		Checksum: checksumOf(checksumKind, s.hash),
		Rows:     s.summary.Rows(),
		Lengths:  s.summary.Lengths(),
		Labels:   s.summary.Labels(s.builder.manifest.LabelNames),
	}
	s.builder.forget(s)
	return nil
}

// Abort drops the file. After Close it does nothing.
func (s *SplitWriter) Abort() {
	s.writer.Abort()
	s.builder.forget(s)
	if b := s.builder; b.made && len(b.open) == 0 && len(b.manifest.Splits) == 0 {
		os.Remove(b.dir) // which fails if something else is there
	}
}

func (b *DatasetBuilder) forget(s *SplitWriter) {
	b.open = slices.DeleteFunc(b.open, func(other *SplitWriter) bool { return other == s })
}

// A byteCount is an io.Writer that only counts.
type byteCount int64

func (b *byteCount) Write(p []byte) (int, error) {
	*b += byteCount(len(p))
	return len(p), nil
}
