package cloud

import (
	"cmp"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
)

var digits = regexp.MustCompile(`[0-9]+`)

// series is what a file has in common with those whose names differ in numbers alone, such as
// pins/header_1x02.wrl and pins/header_1x12.wrl.
func (f *file) series() string { return f.class + ":" + digits.ReplaceAllString(f.relative, "") }

// group is the files of a series.
type group struct {
	name  string
	draw  float64 // its place in the order of the seed
	files []*file
	split string
}

// splitSeries puts the files that no folder puts into a split into one, those of a series
// together: of each class as many series are for the test and for validation as have at most their
// parts of its files, drawn by the seed, and one at least if there are three. All others are for
// training. Of a series SeriesFiles files stay, drawn by the seed before any is read, where that is
// not 0: series of many files that hardly differ outweigh others. It returns how many do not.
func (o *Options) splitSeries(files *Files) (spare int) {
	classes := map[string][]*group{}
	for _, g := range o.groups(files) {
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
	return spare
}

// groups are the series of the files that no folder puts into a split, in the order of the seed.
func (o *Options) groups(files *Files) []*group {
	series := map[string]*group{}
	for i := range files.list {
		f := &files.list[i]
		if f.split != "" || f.unused() != nil {
			continue
		}
		name := f.series()
		if series[name] == nil {
			series[name] = &group{name: name, draw: o.random(&file{relative: name}, 0)()}
		}
		series[name].files = append(series[name].files, f)
	}
	return slices.SortedFunc(maps.Values(series), func(a, b *group) int {
		return cmp.Or(cmp.Compare(a.draw, b.draw), strings.Compare(a.name, b.name))
	})
}

// thin marks all files of a series but n, which come first, and returns how many it has marked.
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

// divide puts the series of a class into splits. Those for the test and for validation have one each
// before either has more, so that both tell of the class: the first that is small enough, or the
// smallest if none is and there are three. One stays for training.
func (o *Options) divide(groups []*group) {
	total, training := 0, len(groups)
	for _, g := range groups {
		g.split = "train"
		total += len(g.files)
	}
	take := func(name string, g *group) int {
		g.split = name
		training--
		return len(g.files)
	}
	outside := []struct {
		name string
		room int
	}{{"test", int(math.Ceil(o.TestPart * float64(total)))}, {"val", int(math.Ceil(o.ValPart * float64(total)))}}
	for i, s := range outside {
		fits := func(g *group) bool { return g.split == "train" && len(g.files) <= s.room }
		if at := slices.IndexFunc(groups, fits); at >= 0 && training > 1 {
			outside[i].room -= take(s.name, groups[at])
		} else if s.room > 0 && len(groups) >= 3 {
			outside[i].room -= take(s.name, smallest(groups))
		}
	}
	for _, s := range outside {
		for _, g := range groups {
			if g.split == "train" && len(g.files) <= s.room && training > 1 {
				s.room -= take(s.name, g)
			}
		}
	}
}

// smallest is the series for training of the fewest files, the first of several.
func smallest(groups []*group) *group {
	left := slices.DeleteFunc(slices.Clone(groups), func(g *group) bool { return g.split != "train" })
	return slices.MinFunc(left, func(a, b *group) int { return cmp.Compare(len(a.files), len(b.files)) })
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
