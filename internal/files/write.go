package files

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/tokenizers"
)

// Mislabelled is the name of the split with the files of test packages whose content contradicts their
// extension. Such files of other packages are omitted.
const Mislabelled = "mislabelled"

// Summary counts the files of a data set.
type Summary struct {
	Kinds      []KindSummary // kinds of the data set, in the order of their labels
	Omitted    []KindSummary // kinds with too few files
	Duplicates int           // files of equal content, other than the first
	Unreadable int
	FirstError error // for the first unreadable file
}

// KindSummary counts the files of a kind.
type KindSummary struct {
	Name            string
	Files, Packages int    // distinct files whose content agrees with the kind
	Mislabelled     int    // distinct files whose content contradicts it
	Missing         string // first of train, val and test without such files; "" for none
}

// row is a file of the sample.
type row struct {
	file   File
	bytes  []byte
	sample []byte // differs from bytes for fragments
	agrees bool   // the content is possible for the kind
	split  string
}

// in reports whether a split includes the row; labels are those of the kinds in the data set.
func (r *row) in(split string, labels map[int]int32) bool {
	if _, ok := labels[r.file.Kind]; !ok {
		return false
	}
	if !r.agrees {
		return r.split == "test" && split == Mislabelled
	}
	return r.split == split
}

// Write writes a data set of the chosen files to the folder dir. The class of a row is the kind,
// its id the file's name, and its tokens are bytes.
func Write(ctx context.Context, dir string, chosen []File, o Options) (*seq.Dataset, *Summary, error) {
	rows, summary, err := o.read(ctx, chosen)
	if err != nil {
		return nil, nil, err
	}
	labels := map[int]int32{}
	var names []string
	for k := range Kinds {
		s := summarize(rows, k)
		switch {
		case s.Files == 0 && s.Mislabelled == 0:
		case s.Files < o.MinFiles || s.Packages < o.MinPackages || s.Missing != "":
			summary.Omitted = append(summary.Omitted, s)
		default:
			labels[k] = int32(len(names))
			names = append(names, s.Name)
			summary.Kinds = append(summary.Kinds, s)
		}
	}
	if len(names) < 2 {
		return nil, summary, fmt.Errorf("found %d kinds with at least %d files of %d packages and files in every "+
			"split, expected 2 or more", len(names), o.MinFiles, o.MinPackages)
	}
	tokenizer := tokenizers.Byte{}
	spec := seq.Spec{Task: seq.Classification, Name: "files", Tokenizer: []byte(`{"type":"byte"}`),
		VocabSize: tokenizer.VocabSize(), PadID: tokenizer.PadID(), LabelNames: names, IDs: true}
	b, err := seq.CreateDataset(dir, spec, o.Replace)
	if err != nil {
		return nil, summary, err
	}
	defer b.Abort()
	for _, split := range []string{"train", "val", "test", Mislabelled} {
		if split == Mislabelled && !slices.ContainsFunc(rows, func(r row) bool { return r.in(split, labels) }) {
			continue
		}
		if err := writeSplit(b, split, rows, labels); err != nil {
			return nil, summary, err
		}
	}
	d, err := b.Finish(map[string]any{"generator": "files", "seed": o.Seed, "fragment": o.Fragment,
		"per_kind": o.PerKind, "per_package": o.PerPackage})
	return d, summary, err
}

// read reads the files. Of several files with equal samples, or equal rows, it keeps the first whose
// content agrees with its kind, so that the splits have no row in common.
func (o *Options) read(ctx context.Context, chosen []File) ([]row, *Summary, error) {
	summary := &Summary{}
	var out []row
	var open opener
	defer open.close()
	for _, f := range chosen {
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		x := row{file: f, split: o.split(f.Package)}
		err := open.with(&f, func(r io.ReaderAt, size int64) error {
			if size < MinBytes {
				return errTooShort
			}
			var err error
			if x.sample, err = Sample(r, size); err != nil {
				return err
			}
			x.agrees = Kinds[f.Kind].Agrees(x.sample)
			x.bytes = x.sample
			if o.Fragment > 0 {
				x.bytes, err = Fragment(r, size, o.Fragment, o.fraction("fragment", f.below+"!/"+f.Member))
			}
			return err
		})
		if o.Progress != nil {
			o.Progress(1)
		}
		if err != nil {
			summary.Unreadable++
			summary.FirstError = cmp.Or(summary.FirstError, err)
			continue
		}
		out = append(out, x)
	}
	rows := withoutDuplicates(out)
	summary.Duplicates = len(out) - len(rows)
	return rows, summary, nil
}

// withoutDuplicates returns the rows without those of equal samples or equal bytes.
func withoutDuplicates(rows []row) []row {
	kept := make([]bool, len(rows))
	samples, bytes := map[[sha256.Size]byte]bool{}, map[[sha256.Size]byte]bool{}
	for _, agrees := range []bool{true, false} {
		for i, x := range rows {
			if x.agrees != agrees {
				continue
			}
			sample, row := sha256.Sum256(x.sample), sha256.Sum256(x.bytes)
			if kept[i] = !samples[sample] && !bytes[row]; kept[i] {
				samples[sample], bytes[row] = true, true
			}
		}
	}
	var out []row
	for i, x := range rows {
		if kept[i] {
			out = append(out, x)
		}
	}
	return out
}

var errTooShort = errors.New("the file is too short")

// summarize counts the files of a kind.
func summarize(rows []row, kind int) KindSummary {
	s := KindSummary{Name: Kinds[kind].Name}
	packages, splits := map[string]bool{}, map[string]bool{}
	for _, r := range rows {
		switch {
		case r.file.Kind != kind:
		case r.agrees:
			s.Files++
			packages[r.file.Package], splits[r.split] = true, true
		default:
			s.Mislabelled++
		}
	}
	s.Packages = len(packages)
	for _, split := range []string{"test", "val", "train"} {
		if !splits[split] {
			s.Missing = split
		}
	}
	return s
}

// writeSplit writes the rows of a split whose kinds have labels.
func writeSplit(b *seq.DatasetBuilder, split string, rows []row, labels map[int]int32) error {
	out, err := b.Split(split)
	if err != nil {
		return err
	}
	defer out.Abort()
	for _, r := range rows {
		if !r.in(split, labels) {
			continue
		}
		tokens, err := tokenizers.Byte{}.Encode(string(r.bytes))
		if err != nil {
			return err
		}
		if err := out.Write(seq.Example{A: tokens, Label: labels[r.file.Kind], ID: r.file.Name()}); err != nil {
			return err
		}
	}
	return out.Close()
}
