package seq

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sftseq/sftseq/internal/atomicfile"
	"github.com/sftseq/sftseq/internal/jsonlines"
)

// Dataset is a directory with a manifest and one Arrow file for each split.
type Dataset struct {
	Dir      string
	Manifest *Manifest
}

// restoreAdvice is the next step for a missing or damaged file of a data set.
const restoreAdvice = "restore the file, or create the data set again (sftseq data convert, sftseq data generate)"

// OpenDataset reads the manifest of dir and checks that its files exist and have the stated sizes.
// It does not read the files; see Verify.
func OpenDataset(dir string) (*Dataset, error) {
	manifest, err := readManifest(dir)
	if err != nil {
		return nil, err
	}
	d := &Dataset{Dir: dir, Manifest: manifest}
	for _, name := range manifest.SplitNames() {
		info, err := os.Stat(d.path(name))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s: %s lists this file for the split %s: %w: %s", d.path(name), ManifestName, name,
				atomicfile.Cause(err), restoreAdvice)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: split %s: %w", d.path(name), name, atomicfile.Cause(err))
		}
		if want := manifest.Splits[name].Bytes; info.Size() != want {
			return nil, fmt.Errorf("%s: expected %d bytes as stated in %s, found %d: %s", d.path(name), want,
				ManifestName, info.Size(), restoreAdvice)
		}
	}
	return d, nil
}

// Spec returns the specification of the sequences; Split is empty.
func (d *Dataset) Spec() Spec { return d.Manifest.Spec("") }

// Fingerprint returns a SHA-256 of the names and checksums of the splits, which identifies the
// content. It does not depend on the time or place of the data set's creation.
func (d *Dataset) Fingerprint() string {
	hash := sha256.New()
	for _, name := range d.Manifest.SplitNames() {
		// Manifests of version 1 state a SHA-256 without this prefix. Their fingerprints must stay equal.
		fmt.Fprintf(hash, "%s %s\n", name, strings.TrimPrefix(d.Manifest.Splits[name].Checksum, "sha256:"))
	}
	return hex.EncodeToString(hash.Sum(nil))
}

func (d *Dataset) path(split string) string {
	return filepath.Join(d.Dir, d.Manifest.Splits[split].File)
}

// Path returns the path of a split's file.
func (d *Dataset) Path(split string) (string, error) {
	if _, ok := d.Manifest.Splits[split]; !ok {
		return "", fmt.Errorf("%s: the data set has no split %q, only %s", d.Dir, split,
			strings.Join(d.Manifest.SplitNames(), ", "))
	}
	return d.path(split), nil
}

// Open opens a split for random access and checks it against the manifest. A changed byte is an
// error, even if it results in another valid row.
func (d *Dataset) Open(split string) (*File, error) { return d.OpenWindow(split, Window{}) }

// OpenWindow opens a split like Open, but the file's examples have only the tokens in the window of each
// sequence.
func (d *Dataset) OpenWindow(split string, window Window) (*File, error) {
	return d.open(split, window, 1)
}

// OpenSequences opens a split like OpenWindow, but treats each sequence of a pair as an example
// without a label. The sequences of pair i are the examples 2i and 2i+1.
func (d *Dataset) OpenSequences(split string, window Window) (*File, error) {
	spec := d.Spec()
	return d.open(split, window, len(spec.TokenColumns()))
}

// open opens a split. perRow is the number of examples per row.
func (d *Dataset) open(split string, window Window, perRow int) (*File, error) {
	r, err := d.Reader(split)
	if err != nil {
		return nil, err
	}
	file, err := openRandom(r, window, perRow)
	if err != nil {
		return nil, err
	}
	if err := d.checkFile(file, split); err != nil {
		file.Close()
		return nil, fmt.Errorf("%s: %w", r.name, err)
	}
	return file, nil
}

// Reader opens a split for sequential reading. At the end it compares the checksum with the
// manifest. A caller that stops earlier does not detect damage that results in other valid rows.
func (d *Dataset) Reader(split string) (*Reader, error) {
	path, err := d.Path(split)
	if err != nil {
		return nil, err
	}
	stated, err := newStated(d.Manifest.Splits[split].Checksum)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	f, err := atomicfile.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	r, err := NewReader(io.TeeReader(f, stated.hash), path)
	if err != nil {
		f.Close()
		return nil, err
	}
	r.closer, r.stated, r.rows = f, stated, d.Manifest.Splits[split].Rows
	return r, nil
}

// checkFile returns an error if the number of rows or the specification of a split's file differs
// from the manifest.
func (d *Dataset) checkFile(file *File, split string) error {
	rows := file.firstRows[len(file.firstRows)-1]
	if want := d.Manifest.Splits[split].Rows; rows != want {
		return fmt.Errorf("expected %d rows as stated in %s, found %d", want, ManifestName, rows)
	}
	return d.checkSpec(file.Spec())
}

// CheckSplit compares the specification in a split's file with the manifest. It reads only the
// beginning of the file. A caller can thus check the vocabulary size before it allocates memory for
// the vocabulary.
func (d *Dataset) CheckSplit(split string) error {
	path, err := d.Path(split)
	if err != nil {
		return err
	}
	f, err := atomicfile.OpenRegular(path)
	if err != nil {
		return err
	}
	defer f.Close()
	r, err := NewReader(f, path)
	if err != nil {
		return err
	}
	if err := d.checkSpec(r.Spec()); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// checkSpec returns an error if the task, the vocabulary size, or the names of features or edge features
// differ from the manifest.
func (d *Dataset) checkSpec(spec *Spec) error {
	if spec.Task != d.Manifest.Task || spec.VocabSize != d.Manifest.VocabSize {
		return fmt.Errorf("expected task %s and vocabulary %d as stated in %s, found %s and %d",
			d.Manifest.Task, d.Manifest.VocabSize, ManifestName, spec.Task, spec.VocabSize)
	}
	if found := spec.FeatureNames; !slices.Equal(found, d.Manifest.FeatureNames) {
		return fmt.Errorf("expected the features %s as stated in %s, found %s",
			jsonlines.QuoteNames(d.Manifest.FeatureNames), ManifestName, jsonlines.QuoteNames(found))
	}
	if found, want := spec.EdgeFeatureNames, d.Manifest.EdgeFeatureNames; (found == nil) != (want == nil) ||
		!slices.Equal(found, want) {
		return fmt.Errorf("expected edges with the features %s as stated in %s, found %s",
			jsonlines.QuoteNames(want), ManifestName, jsonlines.QuoteNames(found))
	}
	return nil
}

// Verify reads every file and compares its checksum with the manifest.
func (d *Dataset) Verify() error {
	for _, name := range d.Manifest.SplitNames() {
		want := d.Manifest.Splits[name].Checksum
		stated, err := newStated(want)
		if err != nil {
			return err
		}
		file, err := atomicfile.OpenRegular(d.path(name))
		if err != nil {
			return err
		}
		_, err = io.Copy(stated.hash, file)
		file.Close()
		if err == nil {
			err = stated.compare()
		}
		if err != nil {
			return fmt.Errorf("%s: %w", d.path(name), err)
		}
	}
	return nil
}
