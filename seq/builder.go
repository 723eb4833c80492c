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

	"github.com/sftseq/sftseq/internal/atomicfile"
)

// ErrExists is wrapped by the error for a directory that already holds a complete data set, or already
// holds the split that the caller adds.
var ErrExists = errors.New("a complete data set exists already")

// DatasetBuilder writes a data set directory: first the splits, then the manifest. An existing data
// set stays unchanged until all new files are on the disk.
type DatasetBuilder struct {
	dir      string
	replace  bool
	lock     *datasetLock
	manifest Manifest
	open     []*SplitWriter
	closed   []*SplitWriter // complete splits, under their temporary names
	oldFiles []string       // files of the existing data set, kept until Finish
	ids      bool           // true if rows have ids
}

// CreateDataset begins a data set in dir, which it creates if needed; it ignores spec.Split. It
// returns ErrExists for a complete data set in dir unless replace is set, and ErrBusy while another
// program writes a data set there.
func CreateDataset(dir string, spec Spec, replace bool) (_ *DatasetBuilder, err error) {
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	b, err := newBuilder(dir, spec, replace)
	if err != nil {
		return nil, err
	}
	defer b.abortOnError(&err)
	manifest := filepath.Join(dir, ManifestName)
	if _, err := os.Stat(manifest); err == nil && !replace {
		return nil, fmt.Errorf("%s: %w", dir, ErrExists)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err := checkReplaceable(manifest); err != nil {
		return nil, err
	}
	return b, b.clean()
}

// checkReplaceable returns an error if the existing dataset.json is not a manifest: it is not a regular
// file, is too large, or has valid JSON without the keys of a manifest. A damaged manifest can be
// replaced.
func checkReplaceable(manifest string) error {
	info, err := os.Stat(manifest)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || info.Size() > maxManifest {
		return foreignFile(manifest)
	}
	text, err := os.ReadFile(manifest)
	if err != nil {
		return err
	}
	var keys map[string]json.RawMessage
	err = json.Unmarshal(text, &keys)
	if err == nil && (keys["splits"] == nil || keys["version"] == nil) || err != nil && json.Valid(text) {
		return foreignFile(manifest)
	}
	return nil
}

// foreignFile returns the error for an existing file that is not part of a data set of this
// program.
func foreignFile(path string) error {
	return fmt.Errorf("%s: refusing to replace a file that is not part of an sftseq data set: "+
		"move it away, or choose another directory", path)
}

// checkNoRun returns an error if the directory contains a model or a training run, but no data set.
func checkNoRun(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, ManifestName)); err == nil {
		return nil
	}
	for _, name := range []string{"model.safetensors", "last"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return fmt.Errorf("%s: expected a new directory or a data set, found a model or a training run (%s): "+
				"choose another directory", dir, name)
		}
	}
	return nil
}

// newBuilder locks the directory and returns a builder without splits.
func newBuilder(dir string, spec Spec, replace bool) (*DatasetBuilder, error) {
	if err := checkNoRun(dir); err != nil {
		return nil, err
	}
	lock, err := lockDataset(dir)
	if err != nil {
		return nil, err
	}
	return &DatasetBuilder{dir: dir, replace: replace, lock: lock, ids: spec.IDs, manifest: Manifest{
		Version: ManifestVersion, Name: spec.Name, Task: spec.Task, Tokenizer: spec.Tokenizer,
		VocabSize: spec.VocabSize, PadID: spec.PadID, LabelNames: spec.LabelNames, NumberNames: spec.NumberNames,
		FeatureNames:     spec.FeatureNames,
		EdgeFeatureNames: spec.EdgeFeatureNames,
		Splits:           map[string]SplitInfo{},
	}}, nil
}

// clean removes files that killed programs have left behind, except the files of the existing data
// set.
func (b *DatasetBuilder) clean() error {
	if old, err := readManifest(b.dir); err == nil {
		for _, split := range old.Splits {
			b.oldFiles = append(b.oldFiles, split.File)
		}
	}
	return errors.Join(atomicfile.CleanAll(b.dir, ".arrow", b.oldFiles...), atomicfile.CleanAll(b.dir, ".json"))
}

// abortOnError calls Abort if *err is set.
func (b *DatasetBuilder) abortOnError(err *error) {
	if *err != nil {
		b.Abort()
	}
}

// ExtendDataset begins to add splits to the complete data set in dir, or to a new data set. Unless
// replace is set, [DatasetBuilder.Split] returns ErrExists for an existing split.
func ExtendDataset(dir string, spec Spec, replace bool) (_ *DatasetBuilder, err error) {
	if _, err := OpenDataset(dir); errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrIncomplete) {
		return CreateDataset(dir, spec, replace)
	}
	b, err := newBuilder(dir, spec, replace)
	if err != nil {
		return nil, err
	}
	defer b.abortOnError(&err)
	d, err := OpenDataset(dir) // the lock prevents changes until Finish
	if err != nil {
		return nil, err
	}
	existing, want := d.Manifest.Spec(""), spec
	want.Split, want.IDs = "", false // both may differ between splits
	if !existing.Schema().Equal(want.Schema()) || !existing.sameMetadata(&want) {
		return nil, fmt.Errorf("%s: expected a data set with the name, task, vocabulary, labels and features of %s, "+
			"found %s, which differs in one of them (choose another directory)", dir, want.Name, existing.Name)
	}
	b.manifest = *d.Manifest
	return b, b.clean()
}

// Split begins the file of a split, which the caller must close or abort. Several splits may be
// open, but only one goroutine may use them.
func (b *DatasetBuilder) Split(name string) (*SplitWriter, error) {
	if name == "" || name != filepath.Base(name) || name[0] == '.' {
		return nil, fmt.Errorf("split %q: expected a name such as train", name)
	}
	if _, ok := b.manifest.Splits[name]; ok && !b.replace {
		return nil, fmt.Errorf("%s: split %s: %w", b.dir, name, ErrExists)
	}
	if err := b.checkFile(name); err != nil {
		return nil, err
	}
	spec := b.manifest.Spec(name)
	s := &SplitWriter{builder: b, name: name, summary: NewSummary(&spec)}
	if err := s.create(); err != nil {
		return nil, err
	}
	b.open = append(b.open, s)
	return s, nil
}

// checkFile returns an error if the split's file exists, but belongs neither to the existing data
// set nor to an incomplete data set.
func (b *DatasetBuilder) checkFile(split string) error {
	path := b.path(split)
	if slices.Contains(b.oldFiles, filepath.Base(path)) {
		return nil
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return foreignFile(path)
	}
	r, err := Open(path)
	if err != nil {
		return foreignFile(path)
	}
	return r.Close()
}

func (b *DatasetBuilder) path(split string) string { return filepath.Join(b.dir, split+".arrow") }

// Finish completes the data set: it renames the splits to their final names and writes the
// manifest. The provenance describes how to reproduce the data and may be nil. In an extended data
// set, its entries are added to the existing provenance, and replace those with the same keys.
func (b *DatasetBuilder) Finish(provenance map[string]any) (_ *Dataset, err error) {
	defer b.Abort() // Abort does not remove renamed files
	if b.manifest.Provenance == nil {
		b.manifest.Provenance = map[string]any{}
	}
	maps.Copy(b.manifest.Provenance, provenance)
	b.manifest.Version = ManifestVersion // an extended data set may have an older version
	if err := b.manifest.validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", b.dir, err)
	}
	if b.replacesFile() {
		err = b.replaceFiles()
	} else {
		err = b.renameSplits()
	}
	if err != nil {
		return nil, err
	}
	return &Dataset{Dir: b.dir, Manifest: &b.manifest}, b.removeReplaced()
}

// replacesFile reports whether a new split gets the name of a file of the existing data set.
func (b *DatasetBuilder) replacesFile() bool {
	return slices.ContainsFunc(b.closed, func(s *SplitWriter) bool { return slices.Contains(b.oldFiles, s.info.File) })
}

// renameSplits renames the splits to their final names and then writes the manifest. No existing
// manifest refers to these names.
func (b *DatasetBuilder) renameSplits() error {
	for _, s := range b.closed {
		if err := s.writer.Close(); err != nil {
			return s.wrapError(err)
		}
	}
	return b.writeManifest(&b.manifest)
}

// replaceFiles replaces the existing data set so that the directory holds a complete data set at any
// moment. First it writes a manifest with the temporary names of the new files. Then it links the
// files under their final names too, which replaces the old files. Finally it writes a manifest with
// the final names. Abort removes the temporary names.
func (b *DatasetBuilder) replaceFiles() error {
	staged := b.manifest
	staged.Splits = maps.Clone(b.manifest.Splits)
	for _, s := range b.closed {
		info := s.info
		info.File = filepath.Base(s.writer.file.Temporary())
		staged.Splits[s.name] = info
	}
	if err := b.writeManifest(&staged); err != nil {
		if errors.Is(err, atomicfile.ErrUnsynced) {
			b.closed = nil // Abort must not remove the files, because the manifest names them
		}
		return err
	}
	for _, s := range b.closed {
		if err := s.writer.file.Link(); err != nil {
			b.closed = nil
			return s.wrapError(err)
		}
	}
	if err := b.writeManifest(&b.manifest); err != nil {
		b.closed = nil
		return err
	}
	return nil
}

// writeManifest replaces the data set's manifest with m, atomically.
func (b *DatasetBuilder) writeManifest(m *Manifest) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return fmt.Errorf("%s: provenance: %w", b.dir, err)
	}
	return atomicfile.WriteBytes(filepath.Join(b.dir, ManifestName), append(text, '\n'))
}

// removeReplaced removes the files of the previous data set that the new manifest does not name.
func (b *DatasetBuilder) removeReplaced() error {
	for _, split := range b.manifest.Splits {
		b.oldFiles = slices.DeleteFunc(b.oldFiles, func(file string) bool { return file == split.File })
	}
	for _, file := range b.oldFiles {
		if err := os.Remove(filepath.Join(b.dir, file)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Abort removes unfinished files and releases the lock. After Finish it does nothing, so it can be
// deferred.
func (b *DatasetBuilder) Abort() {
	for _, s := range slices.Concat(b.open, b.closed) {
		s.writer.Abort()
	}
	b.open, b.closed = nil, nil
	b.lock.release()
}

// SplitWriter writes the file of a split and collects the split's entry for the manifest.
type SplitWriter struct {
	builder *DatasetBuilder
	name    string
	writer  *Writer
	hash    hash.Hash
	size    byteCount
	summary *Summary
	info    SplitInfo // set by Close
}

// create creates the split's file.
func (s *SplitWriter) create() (err error) {
	s.hash, s.size = atomicfile.NewChecksum(), 0
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
		return s.wrapError(err)
	}
	s.summary.add(e.Length(), e.Label, e.Labels, e.Numbers)
	return nil
}

// WriteBlock appends the rows of a block, like [Writer.WriteBlock].
func (s *SplitWriter) WriteBlock(b *Block) error {
	s.summary.addBlock(b)
	if err := s.writer.WriteBlock(b); err != nil {
		return s.wrapError(err)
	}
	return nil
}

// wrapError adds the split's path to an error that does not name it already.
func (s *SplitWriter) wrapError(err error) error {
	if atomicfile.IsNamed(err) {
		return err
	}
	return fmt.Errorf("%s: %w", s.builder.path(s.name), atomicfile.Cause(err))
}

// Close completes the file. [DatasetBuilder.Finish] renames the file to its final name.
func (s *SplitWriter) Close() error {
	if err := s.writer.prepare(); err != nil {
		s.Abort()
		return s.wrapError(err)
	}
	s.info = SplitInfo{
		File:     filepath.Base(s.builder.path(s.name)),
		Bytes:    int64(s.size),
		Checksum: atomicfile.ChecksumText(atomicfile.ChecksumKind, s.hash),
		Rows:     s.summary.Rows(),
		Lengths:  s.summary.Lengths(),
		Labels:   s.summary.Labels(s.builder.manifest.LabelNames),
		Numbers:  s.summary.Numbers(),
	}
	s.builder.manifest.Splits[s.name] = s.info
	s.builder.removeOpen(s)
	s.builder.closed = append(s.builder.closed, s)
	return nil
}

// Abort removes the file. After Close it does nothing.
func (s *SplitWriter) Abort() {
	if slices.Contains(s.builder.open, s) {
		s.writer.Abort()
		s.builder.removeOpen(s)
	}
}

// removeOpen removes a split from the open splits.
func (b *DatasetBuilder) removeOpen(s *SplitWriter) {
	b.open = slices.DeleteFunc(b.open, func(other *SplitWriter) bool { return other == s })
}

// byteCount is an io.Writer that counts the bytes written.
type byteCount int64

func (b *byteCount) Write(p []byte) (int, error) {
	*b += byteCount(len(p))
	return len(p), nil
}
