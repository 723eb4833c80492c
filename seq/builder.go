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

// ErrExists is in the error for a directory that holds a complete data set.
var ErrExists = errors.New("there is a complete data set already")

// A DatasetBuilder writes a data set directory: the splits, the manifest last. What was
// there before stays as it was until all that is new is on the disk.
type DatasetBuilder struct {
	dir      string
	replace  bool
	lock     *datasetLock
	manifest Manifest
	open     []*SplitWriter
	closed   []*SplitWriter // complete, under their temporary names
	before   []string       // files of the data set that is there, which stay until Finish
	ids      bool           // rows have them
}

// CreateDataset begins a data set in dir, which is made if need be; spec's
// Split is ignored. A complete data set in dir is an ErrExists unless replace
// is set, another program that writes there an ErrBusy.
func CreateDataset(dir string, spec Spec, replace bool) (_ *DatasetBuilder, err error) {
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	b, err := newBuilder(dir, spec, replace)
	if err != nil {
		return nil, err
	}
	defer b.giveUp(&err)
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

// checkReplaceable reports a dataset.json that another program wrote: a JSON object without the
// keys of a manifest. A damaged manifest can be replaced.
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

// foreignFile is the error for a file in the way that no data set of this program consists of.
func foreignFile(path string) error {
	return fmt.Errorf("%s: this file is not part of a data set of sftseq and is not replaced: "+
		"move it away, or choose another directory", path)
}

// newBuilder locks the directory for a data set of its own.
func newBuilder(dir string, spec Spec, replace bool) (*DatasetBuilder, error) {
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

// clean removes what killed programs have left, which the data set that is there does not
// consist of.
func (b *DatasetBuilder) clean() error {
	if old, err := readManifest(b.dir); err == nil {
		for _, split := range old.Splits {
			b.before = append(b.before, split.File)
		}
	}
	return errors.Join(atomicfile.CleanAll(b.dir, ".arrow", b.before...), atomicfile.CleanAll(b.dir, ".json"))
}

// giveUp is Abort where something has failed.
func (b *DatasetBuilder) giveUp(err *error) {
	if *err != nil {
		b.Abort()
	}
}

// ExtendDataset begins to add splits to the complete data set in dir, or a new
// one if there is none. A split that is there already is an ErrExists unless
// replace is set.
func ExtendDataset(dir string, spec Spec, replace bool) (_ *DatasetBuilder, err error) {
	if _, err := OpenDataset(dir); errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrIncomplete) {
		return CreateDataset(dir, spec, replace)
	}
	b, err := newBuilder(dir, spec, replace)
	if err != nil {
		return nil, err
	}
	defer b.giveUp(&err)
	d, err := OpenDataset(dir) // as it is now that nobody else writes
	if err != nil {
		return nil, err
	}
	have, want := d.Manifest.Spec(""), spec
	want.Split, want.IDs = "", false // which splits may have or not
	if !have.Schema().Equal(want.Schema()) || !have.sameMetadata(&want) {
		return nil, fmt.Errorf("%s: expected a data set of the same task, vocabulary and labels as %s, found %s",
			dir, want.Name, have.Name)
	}
	b.manifest = *d.Manifest
	return b, b.clean()
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

// checkFile reports a file in the place of a split's that the existing data set does not name and
// that is not the split of an incomplete data set either.
func (b *DatasetBuilder) checkFile(split string) error {
	path := b.path(split)
	if slices.Contains(b.before, filepath.Base(path)) {
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

// Finish makes the data set complete: it gives the splits their names and writes the
// manifest. Provenance says how to get the same data again; it may be nil. Where splits
// were added, its keys are added, too.
func (b *DatasetBuilder) Finish(provenance map[string]any) (_ *Dataset, err error) {
	defer b.Abort() // what has its name stays
	if b.manifest.Provenance == nil {
		b.manifest.Provenance = map[string]any{}
	}
	maps.Copy(b.manifest.Provenance, provenance)
	b.manifest.Version = ManifestVersion // of one that was extended, too
	if err := b.manifest.validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", b.dir, err)
	}
	if b.overwrites() {
		err = b.exchange()
	} else {
		err = b.place()
	}
	if err != nil {
		return nil, err
	}
	return &Dataset{Dir: b.dir, Manifest: &b.manifest}, b.removeReplaced()
}

// overwrites reports whether a split takes the name of a file that the data set which is
// there consists of.
func (b *DatasetBuilder) overwrites() bool {
	return slices.ContainsFunc(b.closed, func(s *SplitWriter) bool { return slices.Contains(b.before, s.info.File) })
}

// place names the splits, then writes the manifest, which nothing depends on before.
func (b *DatasetBuilder) place() error {
	for _, s := range b.closed {
		if err := s.writer.Close(); err != nil {
			return s.explain(err)
		}
	}
	return b.write(&b.manifest)
}

// exchange puts the new data set in the place of the one that is there, so that there is
// a complete one at any moment: first the manifest names the new files as they are called
// until then, next they get their second names, over the old files, and at last the
// manifest names those.
func (b *DatasetBuilder) exchange() error {
	staged := b.manifest
	staged.Splits = maps.Clone(b.manifest.Splits)
	for _, s := range b.closed {
		info := s.info
		info.File = filepath.Base(s.writer.file.Temporary())
		staged.Splits[s.name] = info
	}
	if err := b.write(&staged); err != nil {
		if errors.Is(err, atomicfile.ErrUnsynced) {
			b.closed = nil // the manifest names the temporary files
		}
		return err
	}
	for _, s := range b.closed {
		if err := s.writer.file.Link(); err != nil {
			b.closed = nil
			return s.explain(err)
		}
	}
	if err := b.write(&b.manifest); err != nil {
		b.closed = nil
		return err
	}
	return nil
}

// write writes a manifest.
func (b *DatasetBuilder) write(m *Manifest) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return fmt.Errorf("%s: provenance: %w", b.dir, err)
	}
	return atomicfile.WriteBytes(filepath.Join(b.dir, ManifestName), append(text, '\n'))
}

// removeReplaced removes the splits of the data set that was there before, and is no more.
func (b *DatasetBuilder) removeReplaced() error {
	for _, split := range b.manifest.Splits {
		b.before = slices.DeleteFunc(b.before, func(file string) bool { return file == split.File })
	}
	for _, file := range b.before {
		if err := os.Remove(filepath.Join(b.dir, file)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Abort drops what is not finished, and lets others write. After Finish it does nothing,
// so it can be deferred.
func (b *DatasetBuilder) Abort() {
	for _, s := range slices.Concat(b.open, b.closed) {
		s.writer.Abort()
	}
	b.open, b.closed = nil, nil
	b.lock.release()
}

// A SplitWriter is a Writer that keeps the books for the manifest.
type SplitWriter struct {
	builder *DatasetBuilder
	name    string
	writer  *Writer
	hash    hash.Hash
	size    byteCount
	summary *Summary
	info    SplitInfo // once it is closed
}

// create begins the file.
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
		return s.explain(err)
	}
	s.summary.add(e.Length(), e.Label, e.Labels, e.Numbers)
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

// Close completes the file, which gets its name in Finish.
func (s *SplitWriter) Close() error {
	if err := s.writer.prepare(); err != nil {
		s.Abort()
		return s.explain(err)
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
	s.builder.forget(s)
	s.builder.closed = append(s.builder.closed, s)
	return nil
}

// Abort drops the file. After Close it does nothing.
func (s *SplitWriter) Abort() {
	if slices.Contains(s.builder.open, s) {
		s.writer.Abort()
		s.builder.forget(s)
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
