package main

import (
	"cmp"
	"crypto/sha256"
	"hash/fnv"
	"maps"
	"math"
	"math/bits"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// file is a mesh. Its class is its folder.
type file struct{ path, id, class, split string }

// group contains the files of a series: their names differ only in numbers, such as header_1x02 and
// header_1x12.
type group struct {
	name  string
	draw  float64 // random number that orders the groups
	files []*file
}

var digits = regexp.MustCompile(`[0-9]+`)

func (f *file) series() string { return f.class + ":" + digits.ReplaceAllString(f.id, "") }

// random returns a generator of numbers from 0 to 1. The numbers are a function of the seed, the
// name and the first counter: Philox4x32-10 (Salmon et al., SC 2011).
func random(seed uint64, name string, counter uint32) func() float64 {
	h := fnv.New64a()
	h.Write([]byte(name)) // never fails
	hash := h.Sum64()
	const purpose = 11 // sftseq's stream for synthetic data, so that the points equal those of sftseq's conversions
	return func() float64 {
		c := [4]uint32{counter, purpose, uint32(hash), uint32(hash >> 32)}
		k0, k1 := uint32(seed), uint32(seed>>32)
		for range 10 {
			high0, low0 := bits.Mul32(0xD2511F53, c[0])
			high1, low1 := bits.Mul32(0xCD9E8D57, c[2])
			c = [4]uint32{high1 ^ c[1] ^ k0, low1, high0 ^ c[3] ^ k1, low0}
			k0, k1 = k0+0x9E3779B9, k1+0xBB67AE85
		}
		counter++
		return (float64(c[0]>>9) + 0.5) / (1 << 23)
	}
}

// split assigns each series to one split, so that no test file is almost a copy of a training file. It
// returns the selected files: at most maxFiles random files per series, or all files if maxFiles is 0.
// Series of a class with an identical file count as one series. In each class, the series of val
// together contain at most a tenth of the files, rounded up, and so do the series of test. As an
// exception, a class of three or more series always gives one series each to val and test, even a
// larger one.
func split(files []*file, seed uint64, maxFiles int) ([]*file, error) {
	same, err := sameSeries(files)
	if err != nil {
		return nil, err
	}
	groups := map[string]*group{}
	for _, f := range files {
		name := same(f.series())
		if groups[name] == nil {
			groups[name] = &group{name: name, draw: random(seed, name, 0)()}
		}
		groups[name].files = append(groups[name].files, f)
	}
	classes := map[string][]*group{}
	for _, g := range slices.SortedFunc(maps.Values(groups), func(a, b *group) int {
		return cmp.Or(cmp.Compare(a.draw, b.draw), strings.Compare(a.name, b.name))
	}) {
		if maxFiles > 0 && len(g.files) > maxFiles {
			draw := func(f *file) float64 { return random(seed, f.id+filepath.Ext(f.path), 0)() }
			slices.SortFunc(g.files, func(a, b *file) int {
				return cmp.Or(cmp.Compare(draw(a), draw(b)), strings.Compare(a.id, b.id))
			})
			g.files = g.files[:maxFiles]
		}
		class := g.files[0].class
		classes[class] = append(classes[class], g)
	}
	for _, groups := range classes {
		divide(groups)
	}
	return slices.DeleteFunc(files, func(f *file) bool { return f.split == "" }), nil
}

// sameSeries returns a function that maps series of a class with an identical file, such as a mesh sold
// by two makers, to the name that sorts first.
func sameSeries(files []*file) (func(string) string, error) {
	first := map[string]string{}
	root := func(series string) string {
		for first[series] != "" {
			series = first[series]
		}
		return series
	}
	seen := map[string]string{} // series by class and contents
	for _, f := range files {
		data, err := os.ReadFile(f.path)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(data)
		key := f.class + ":" + string(sum[:])
		a, b := root(f.series()), root(cmp.Or(seen[key], f.series()))
		if a != b {
			first[max(a, b)] = min(a, b)
		}
		seen[key] = f.series()
	}
	return root, nil
}

// divide assigns the groups of a class to splits. First, test and then val take the first remaining group
// with at most a tenth of the files, rounded up. If there is no such group and the class has three or more groups,
// they take the first remaining group except the largest. Then test and val take further groups as long
// as each of these splits has at most a tenth of the files. All other groups, at least one, are in train.
func divide(groups []*group) {
	total := 0
	for _, g := range groups {
		total += len(g.files)
	}
	remaining := slices.Clone(groups)
	room := map[string]int{} // number of files that a split can still take
	take := func(index int, split string) {
		for _, f := range remaining[index].files {
			f.split = split
		}
		room[split] -= len(remaining[index].files)
		remaining = slices.Delete(remaining, index, index+1)
	}
	fill := func(split string, maxGroups int) (taken int) {
		for index := 0; index < len(remaining) && taken < maxGroups && len(remaining) > 1; {
			if len(remaining[index].files) > room[split] {
				index++
				continue
			}
			take(index, split)
			taken++
		}
		return taken
	}
	splits := []string{"test", "val"}
	for _, split := range splits {
		room[split] = int(math.Ceil(0.1 * float64(total)))
		if fill(split, 1) == 0 && len(groups) >= 3 {
			largest := 0
			for i, g := range remaining {
				if len(g.files) >= len(remaining[largest].files) {
					largest = i
				}
			}
			index := 0
			if largest == 0 {
				index = 1
			}
			take(index, split)
		}
	}
	for _, split := range splits {
		fill(split, len(groups))
	}
	for len(remaining) > 0 {
		take(0, "train")
	}
}
