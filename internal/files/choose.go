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
	PerKind     int // maximum number of files of a kind
	PerPackage  int // maximum number of files of a kind and package
	MinFiles    int // kinds with fewer distinct files are rare, see [Summary]
	MinPackages int // kinds with files from fewer packages are rare
	Fragment    int // length of a random fragment in bytes; 0 means Sample
	Seed        uint64
	Replace     bool              // true allows replacing a complete data set
	Progress    func(files int64) // called with the number of files read since the last call; may be nil
}

// DefaultOptions are the defaults of the command sftseq data files.
var DefaultOptions = Options{PerKind: 1000, PerPackage: 20, MinFiles: 200, MinPackages: 20}

// fraction returns a pseudo-random number in [0, 1) that depends only on the seed, the role and the word.
func (o *Options) fraction(role, word string) float64 {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s %s", o.Seed, role, word))
	return float64(binary.BigEndian.Uint64(sum[:])>>11) / (1 << 53)
}

// split returns the split of a package: train with probability 0.8, val or test with 0.1 each.
func (o *Options) split(pack string) string {
	switch part := o.fraction("package", pack); {
	case part < 0.8:
		return "train"
	case part < 0.9:
		return "val"
	}
	return "test"
}

// Choose returns a sample of files in the order of Walk. For each kind it takes a random file of each
// package, then a second one of each package, and so on, up to the limits of the options.
func (o *Options) Choose(all []File) []File {
	type candidate struct {
		file File
		rank int     // position among the files of its kind and package
		key  float64 // random
	}
	kinds := map[int][]candidate{}
	for _, f := range all {
		kinds[f.Kind] = append(kinds[f.Kind], candidate{file: f, key: o.fraction("file", f.below+"!/"+f.Member)})
	}
	var out []File
	for _, files := range kinds {
		slices.SortStableFunc(files, func(a, b candidate) int { return cmp.Compare(a.key, b.key) })
		ranks := map[string]int{}
		for i := range files {
			files[i].rank = ranks[files[i].file.Package]
			ranks[files[i].file.Package]++
		}
		files = slices.DeleteFunc(files, func(f candidate) bool { return f.rank >= o.PerPackage })
		slices.SortStableFunc(files, func(a, b candidate) int { return cmp.Compare(a.rank, b.rank) })
		for _, f := range files[:min(len(files), o.PerKind)] {
			out = append(out, f.file)
		}
	}
	slices.SortFunc(out, compareNames)
	return out
}

// compareNames orders files by path, then by member.
func compareNames(a, b File) int {
	return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Member, b.Member))
}
