package files

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
)

// Options determine the sample of files.
type Options struct {
	PerKind     int // at most this number of files of a kind
	PerPackage  int // at most this number of files of a kind and package
	MinFiles    int // kinds with fewer distinct files are omitted
	MinPackages int // kinds of fewer packages are omitted
	Fragment    int // bytes of a row at a random place of the file; 0 means those of Sample
	Seed        uint64
	Replace     bool              // true allows replacing a complete data set
	Progress    func(files int64) // called with the number of further files; may be nil
}

// Usual are the default options.
var Usual = Options{PerKind: 1000, PerPackage: 50, MinFiles: 200, MinPackages: 20}

// fraction returns a pseudo-random number in [0, 1) for a word in a role.
func (o *Options) fraction(role, word string) float64 {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s %s", o.Seed, role, word))
	return float64(binary.BigEndian.Uint64(sum[:])>>11) / (1 << 53)
}

// split returns the split of a package: of ten packages, eight are in train, one in val and one in test.
func (o *Options) split(pack string) string {
	switch place := o.fraction("package", pack); {
	case place < 0.8:
		return "train"
	case place < 0.9:
		return "val"
	}
	return "test"
}

// Choose returns a sample of files in the order of Walk. For each kind it takes a random file of each
// package, then a second one of each package, and so on, up to the limits of the options.
func (o *Options) Choose(all []File) []File {
	type candidate struct {
		file  File
		rank  int // position among the files of its kind and package
		place float64
	}
	kinds := map[int][]candidate{}
	for _, f := range all {
		kinds[f.Kind] = append(kinds[f.Kind], candidate{file: f, place: o.fraction("file", f.Name())})
	}
	var out []File
	for _, files := range kinds {
		byPlace := func(a, b candidate) int {
			return cmp.Or(cmp.Compare(a.place, b.place), cmp.Compare(a.file.Name(), b.file.Name()))
		}
		slices.SortFunc(files, byPlace)
		ranks := map[string]int{}
		for i := range files {
			files[i].rank = ranks[files[i].file.Package]
			ranks[files[i].file.Package]++
		}
		slices.SortStableFunc(files, func(a, b candidate) int { return cmp.Compare(a.rank, b.rank) })
		for i, f := range files {
			if i == o.PerKind || f.rank == o.PerPackage {
				break
			}
			out = append(out, f.file)
		}
	}
	slices.SortFunc(out, compareNames)
	return out
}

// compareNames compares the names of files.
func compareNames(a, b File) int {
	return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Member, b.Member))
}
