package cloud

import (
	"cmp"
	"context"
	"crypto/sha256"
	"maps"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
)

var digits = regexp.MustCompile(`[0-9]+`)

// series is what a file has in common with those whose names differ in numbers and endings alone, such
// as pins/header_1x02.wrl and pins/header_1x12.wrl.
func (f *file) series() string { return f.class + ":" + digits.ReplaceAllString(f.id(), "") }

// group is the files of a series.
type group struct {
	name  string
	draw  float64 // its place in the order of the seed
	files []*file
	split string
}

// splitSeries puts the files that no folder puts into a split into one, those of a series together,
// as divide says of each class. Series of a class that have the same file are one. Of each, SeriesFiles
// files are taken at most where that is not 0, drawn by the seed before any becomes a row and before
// parts are of them: series of many files that hardly differ outweigh others. It returns how many
// are not taken.
func (o *Options) splitSeries(ctx context.Context, files *Files) (spare int, err error) {
	groups, err := o.groups(ctx, files)
	if err != nil {
		return 0, err
	}
	classes := map[string][]*group{}
	for _, g := range groups {
		if n := o.SeriesFiles; n > 0 && len(g.files) > n {
			spare += o.thin(g.files, n)
			g.files = g.files[:n]
		}
		class := g.files[0].class
		classes[class] = append(classes[class], g)
	}
	for _, groups := range classes {
		o.divide(groups)
		for _, g := range groups {
			for _, f := range g.files {
				f.split, f.bySeries = g.split, true
			}
		}
	}
	files.list = slices.DeleteFunc(files.list, func(f file) bool { return f.spare })
	return spare, nil
}

// groups are the series of the files that no folder puts into a split, in the order of the seed.
func (o *Options) groups(ctx context.Context, files *Files) ([]*group, error) {
	var free []*file
	for i := range files.list {
		if f := &files.list[i]; f.split == "" && f.unused() == nil {
			free = append(free, f)
		}
	}
	same, err := sameSeries(ctx, free)
	if err != nil {
		return nil, err
	}
	series := map[string]*group{}
	for _, f := range free {
		name := same(f.series())
		if series[name] == nil {
			series[name] = &group{name: name, draw: o.random(&file{relative: name}, 0)()}
		}
		series[name].files = append(series[name].files, f)
	}
	return slices.SortedFunc(maps.Values(series), func(a, b *group) int {
		return cmp.Or(cmp.Compare(a.draw, b.draw), strings.Compare(a.name, b.name))
	}), nil
}

// sameSeries finds the series of a class that have a file of the same bytes, such as a mesh that several
// makers sell, and says of each the first of those in alphabetical order. Files that cannot be read are
// told of where they become rows.
func sameSeries(ctx context.Context, files []*file) (of func(series string) string, err error) {
	type content struct {
		class string
		size  int64
		sum   [sha256.Size]byte
	}
	sized := map[content][]*file{} // without sums
	for _, f := range files {
		if size := sizeOf(f.path); size > 0 {
			key := content{class: f.class, size: size}
			sized[key] = append(sized[key], f)
		}
	}
	first := map[string]string{} // of each series the one it is the same as, directly
	of = func(series string) string {
		for first[series] != "" {
			series = first[series]
		}
		return series
	}
	for key, list := range sized {
		if len(list) < 2 {
			continue
		}
		seen := map[content]string{}
		for _, f := range list {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			data, err := os.ReadFile(f.path)
			if err != nil {
				continue
			}
			key.sum = sha256.Sum256(data)
			series, other := of(f.series()), of(cmp.Or(seen[key], f.series()))
			if series != other {
				first[max(series, other)] = min(series, other)
			}
			seen[key] = f.series()
		}
	}
	return of, nil
}

// thin sorts the files of a series by the draw of the seed, marks all but the first n and returns how many
// these are.
func (o *Options) thin(files []*file, n int) int {
	draw := func(f *file) float64 { return o.random(f, 0)() }
	slices.SortFunc(files, func(a, b *file) int {
		return cmp.Or(cmp.Compare(draw(a), draw(b)), strings.Compare(a.relative, b.relative))
	})
	for _, f := range files[n:] {
		f.spare = true
	}
	return len(files) - n
}

// outside is a split other than that for training, and how many more files of a class it may have.
type outside struct {
	name string
	room int
}

// take puts a series into the split.
func (s *outside) take(g *group) {
	g.split = s.name
	s.room -= len(g.files)
}

// divide puts the series of a class into splits. The test and validation get a series each before
// either gets a second: the first in the order of the seed that is small enough or, of three or
// more, the first but for the largest. One series at least stays for training.
func (o *Options) divide(groups []*group) {
	total := 0
	for _, g := range groups {
		g.split = "train"
		total += len(g.files)
	}
	part := func(p float64) int { return int(math.Ceil(p * float64(total))) }
	splits := []*outside{{"test", part(o.TestPart)}, {"val", part(o.ValPart)}}
	// Fewer series are small enough for the smaller.
	slices.SortStableFunc(splits, func(a, b *outside) int { return cmp.Compare(a.room, b.room) })
	left := groups // for training, in their order
	fill := func(s *outside, most int) (taken int) {
		var stay []*group
		for _, g := range left {
			if len(g.files) <= s.room && taken < min(most, len(left)-1) {
				s.take(g)
				taken++
			} else {
				stay = append(stay, g)
			}
		}
		left = stay
		return taken
	}
	for _, s := range splits {
		if fill(s, 1) == 0 && s.room > 0 && len(groups) >= 3 {
			at := firstButLargest(left)
			s.take(left[at])
			left = slices.Delete(left, at, at+1)
		}
	}
	for _, s := range splits {
		fill(s, len(groups))
	}
}

// firstButLargest is the place of the first of two series or more that is not the largest, the last of
// several that are as large.
func firstButLargest(groups []*group) int {
	largest := len(groups) - 1
	for i, g := range slices.Backward(groups) {
		if len(g.files) > len(groups[largest].files) {
			largest = i
		}
	}
	if largest == 0 {
		return 1
	}
	return 0
}

// AtLeast leaves out the classes of fewer files, and says which. A file that a list names and that
// is not there counts for none.
func (f *Files) AtLeast(n int) (left []string) {
	count := map[string]int{}
	for i := range f.list {
		if x := &f.list[i]; x.unused() == nil {
			count[x.class]++
		}
	}
	return f.leaveOut(func(class string) bool { return count[class] < n })
}

// Among leaves out the classes that are not among some, and says which.
func (f *Files) Among(classes []string) (left []string) {
	return f.leaveOut(func(class string) bool { return !slices.Contains(classes, class) })
}

// leaveOut leaves out the files of some classes. Those of none stay, to be told of.
func (f *Files) leaveOut(which func(class string) bool) (left []string) {
	for _, class := range f.Classes {
		if which(class) {
			left = append(left, class)
		}
	}
	gone := func(class string) bool { return slices.Contains(left, class) }
	f.Classes = slices.DeleteFunc(f.Classes, gone)
	f.list = slices.DeleteFunc(f.list, func(x file) bool { return gone(x.class) })
	return left
}
