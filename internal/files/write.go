package files

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"

	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/tokenizers"
)

// Further splits of a data set.
const (
	// Mislabelled has files whose content contradicts their kind. They come from the packages of the test split; such
	// files of other packages and of rare kinds are omitted.
	Mislabelled = "mislabelled"
	// Unknown has files whose kind is in no other split, and random bytes. Their class is [Other].
	Unknown = "unknown"
)

// Other is the class of files of rare kinds, and of random bytes. About half of the rare kinds occur only in
// the split [Unknown].
const Other = "other"

// Summary counts the files of a data set.
type Summary struct {
	Kinds      []KindSummary // classes of the data set, in the order of their labels
	Rare       []KindSummary // kinds with too few files or packages, or without files in a split
	Random     int           // rows of random bytes
	Duplicates int           // files whose sample or row equals that of a kept file
	Unreadable int           // files that could not be read
	FirstError error         // error of the first unreadable file, or nil
}

// KindSummary counts the files of a kind.
type KindSummary struct {
	Name            string
	Files, Packages int    // distinct files whose content agrees with the kind, and their packages
	Mislabelled     int    // distinct files whose content contradicts the kind
	Missing         string // first of train, val and test without a file that agrees; "" if all have one
	In              string // class or split of the files of a rare kind: Other or Unknown; "" if they are omitted
}

// row is a chosen file, or random bytes.
type row struct {
	file   File
	bytes  []byte // content of the row
	sample []byte // the [Sample] of the file; equals bytes unless rows are fragments
	agrees bool   // the content is possible for the kind
	split  string // "" means none
	label  int32
}

// Write writes a data set of the chosen files to the folder dir. The class of a row is the file's kind
// or [Other], the id is the file's name, and the tokens are bytes.
func Write(ctx context.Context, dir string, chosen []File, o Options) (*seq.Dataset, *Summary, error) {
	rows, summary, err := o.read(ctx, chosen)
	if err != nil {
		return nil, nil, err
	}
	labels := map[int]int32{}
	var names []string
	for k := range Kinds {
		s := summarize(rows, Kinds[k].Name, func(r row) bool { return r.file.Kind == k })
		switch {
		case s.Files == 0 && s.Mislabelled == 0:
		case o.rare(s):
			summary.Rare = append(summary.Rare, s)
		default:
			labels[k] = int32(len(names))
			names = append(names, s.Name)
			summary.Kinds = append(summary.Kinds, s)
		}
	}
	others := summarize(rows, Other, func(r row) bool {
		_, common := labels[r.file.Kind]
		return !common && r.agrees && !o.unseen(r.file.Kind)
	})
	hasOther := o.Fragment == 0 && len(names) > 1 && !o.rare(others)
	if hasOther {
		names = append(names, Other)
		summary.Kinds = append(summary.Kinds, others)
		summary.Random = others.Files / 10
		rows = append(rows, o.randomRows(summary.Random)...)
		for i, s := range summary.Rare {
			k := slices.IndexFunc(Kinds, func(k Kind) bool { return k.Name == s.Name })
			if s.Files > 0 && o.unseen(k) {
				summary.Rare[i].In = Unknown
			} else if s.Files > 0 {
				summary.Rare[i].In = Other
			}
		}
	}
	for i := range rows {
		o.place(&rows[i], labels, hasOther, int32(len(names)-1))
	}
	if len(names) < 2 {
		return nil, summary, fmt.Errorf("expected at least 2 kinds with files in every split (--min-files %d, "+
			"--min-packages %d), found %d", o.MinFiles, o.MinPackages, len(names))
	}
	tokenizer := tokenizers.Byte{}
	spec := seq.Spec{Task: seq.Classification, Name: "files", Tokenizer: []byte(`{"type":"byte"}`),
		VocabSize: tokenizer.VocabSize(), PadID: tokenizer.PadID(), LabelNames: names, IDs: true}
	b, err := seq.CreateDataset(dir, spec, o.Replace)
	if err != nil {
		return nil, summary, err
	}
	defer b.Abort()
	for _, split := range []string{"train", "val", "test", Mislabelled, Unknown} {
		if !slices.ContainsFunc(rows, func(r row) bool { return r.split == split }) {
			continue
		}
		if err := writeSplit(b, split, rows); err != nil {
			return nil, summary, err
		}
	}
	d, err := b.Finish(map[string]any{"generator": "files", "seed": o.Seed, "fragment": o.Fragment,
		"per_kind": o.PerKind, "per_package": o.PerPackage})
	return d, summary, err
}

// read reads the files. Of several files with equal samples or equal rows it keeps one, preferably the
// first whose content agrees with its kind. The splits therefore have no row in common.
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

// withoutDuplicates keeps one of several rows with equal samples or equal bytes: the first whose content
// agrees with its kind, otherwise the first.
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

var errTooShort = errors.New("the file has fewer than 16 bytes")

// rare reports whether a kind has too few files or packages, or no files in a split.
func (o *Options) rare(s KindSummary) bool {
	return s.Files < o.MinFiles || s.Packages < o.MinPackages || s.Missing != ""
}

// unseen reports whether a rare kind occurs only in the split [Unknown].
func (o *Options) unseen(kind int) bool { return o.fraction("kind", Kinds[kind].Name) < 0.5 }

// place sets the split and the label of a row. Files of rare kinds get the label of [Other], or no split if
// the data set does not have this class. Files whose content contradicts their kind get no split, except test
// files of common kinds: these get the split Mislabelled.
func (o *Options) place(r *row, labels map[int]int32, hasOther bool, other int32) {
	label, common := labels[r.file.Kind]
	switch {
	case r.file.Kind == random:
		r.label = other
	case common && r.agrees:
		r.label = label
	case common && r.split == "test":
		r.label, r.split = label, Mislabelled
	case !hasOther || common || !r.agrees:
		r.split = ""
	case o.unseen(r.file.Kind):
		r.label, r.split = other, Unknown
	default:
		r.label = other
	}
}

// random is the kind of rows of random bytes.
const random = -1

// randomRows returns n rows of 16 to SampleBytes random bytes. Half of them are in the split Unknown.
func (o *Options) randomRows(n int) (out []row) {
	for i := range n {
		name := fmt.Sprint(i)
		source := rand.NewChaCha8(sha256.Sum256(fmt.Appendf(nil, "%d random %d", o.Seed, i)))
		bytes := make([]byte, MinBytes+rand.New(source).IntN(SampleBytes-MinBytes+1))
		source.Read(bytes)
		split := o.split("random " + name)
		if i%2 == 1 {
			split = Unknown
		}
		out = append(out, row{file: File{Path: "random-bytes/" + name, Kind: random}, bytes: bytes, split: split})
	}
	return out
}

// summarize counts the files that belong to a class.
func summarize(rows []row, name string, belongs func(r row) bool) KindSummary {
	s := KindSummary{Name: name}
	packages, splits := map[string]bool{}, map[string]bool{}
	for _, r := range rows {
		switch {
		case !belongs(r):
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

// writeSplit writes the rows of a split.
func writeSplit(b *seq.DatasetBuilder, split string, rows []row) error {
	out, err := b.Split(split)
	if err != nil {
		return err
	}
	defer out.Abort()
	for _, r := range rows {
		if r.split != split {
			continue
		}
		tokens, err := tokenizers.Byte{}.Encode(string(r.bytes))
		if err != nil {
			return err
		}
		if err := out.Write(seq.Example{A: tokens, Label: r.label, ID: r.file.Name()}); err != nil {
			return err
		}
	}
	return out.Close()
}
