package cloud

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strings"
)

var digits = regexp.MustCompile(`[0-9]+`)

// series is what a file has in common with those whose names differ in numbers alone, such as
// pins/header_1x02.wrl and pins/header_1x12.wrl.
func (f *file) series() string { return f.class + ":" + digits.ReplaceAllString(f.relative, "") }

// splitSeries puts the files that no folder puts into a split into one, those of a series
// together: of each class as many series are for the test and for validation as have at most their
// parts of its files, drawn by the seed. All others are for training, so that a series that is
// most of a class is. Of a series for training SeriesFiles files stay, drawn by the seed before any is
// read, where that is not 0: series of many files that hardly differ outweigh others. It returns how many
// do not.
func (o *Options) splitSeries(files *Files) (spare int) {
	series := map[string][]*file{}
	total := map[string]int{} // files of a class
	for i := range files.list {
		if f := &files.list[i]; f.split == "" && f.unused() == nil {
			series[f.series()] = append(series[f.series()], f)
			total[f.class]++
		}
	}
	type group struct {
		name  string
		draw  float64
		files []*file
	}
	var groups []group
	for name, of := range series {
		groups = append(groups, group{name, o.random(&file{relative: name}, 0)(), of})
	}
	slices.SortFunc(groups, func(a, b group) int { return cmp.Or(cmp.Compare(a.draw, b.draw), strings.Compare(a.name, b.name)) })
	used := map[[2]string]int{} // of a class in a split
	for _, g := range groups {
		class, split := g.files[0].class, "train"
		for _, s := range []struct {
			name string
			part float64
		}{{"test", o.TestPart}, {"val", o.ValPart}} {
			room := int(math.Ceil(s.part*float64(total[class]))) - used[[2]string{class, s.name}]
			if len(g.files) <= room {
				split = s.name
				break
			}
		}
		used[[2]string{class, split}] += len(g.files)
		for _, f := range g.files {
			f.split, f.bySeries = split, true
		}
		if n := o.SeriesFiles; n > 0 && split == "train" && len(g.files) > n {
			draw := func(f *file) float64 { return o.random(f, 0)() }
			slices.SortFunc(g.files, func(a, b *file) int {
				return cmp.Or(cmp.Compare(draw(a), draw(b)), strings.Compare(a.relative, b.relative))
			})
			for _, f := range g.files[n:] {
				f.spare = true
			}
			spare += len(g.files) - n
		}
	}
	files.list = slices.DeleteFunc(files.list, func(f file) bool { return f.spare })
	return spare
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
