package cloud

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"testing"
)

// TestSplitSeries: files of a class whose names differ in numbers alone are in one split, whatever that of such
// names in other classes is. Where a series is small enough, no class has more than its part in the
// test and in validation. The order of the files changes nothing. Of each series some files at most are taken.
func TestSplitSeries(t *testing.T) {
	var list []file
	add := func(class, name string, n int) {
		for i := range n {
			list = append(list, file{relative: fmt.Sprintf("%s/%s_1x%02d.wrl", class, name, i), class: class})
		}
	}
	for i := range 20 {
		add("pins2", "header"+string(rune('a'+i)), 3)
	}
	add("pins3", "header", 50)
	add("pins3", "other", 2)
	list = append(list, file{relative: "pins3/test/x.wrl", class: "pins3", split: "test"})
	o := Options{ValPart: 0.2, TestPart: 0.1, Seed: 3}
	split := func(list []file) map[string]string {
		files := &Files{list: slices.Clone(list)}
		if _, err := o.splitSeries(t.Context(), files); err != nil {
			t.Fatal(err)
		}
		out := map[string]string{}
		for _, f := range files.list {
			out[f.relative] = f.split
		}
		return out
	}
	got := split(list)
	count, of := map[string]int{}, map[string]string{}
	for _, f := range list[:len(list)-1] {
		count[f.class+" "+got[f.relative]]++
		if s := of[f.series()]; s != "" && s != got[f.relative] {
			t.Errorf("%s is in %s, others of its series in %s", f.relative, got[f.relative], s)
		}
		of[f.series()] = got[f.relative]
	}
	if count["pins2 test"] != 6 || count["pins2 val"] != 12 || count["pins3 train"] < 50 || got["pins3/test/x.wrl"] != "test" {
		t.Errorf("%v", count)
	}
	slices.Reverse(list)
	for name, s := range split(list) {
		if got[name] != s {
			t.Errorf("%s: %s and, in another order, %s", name, got[name], s)
		}
	}
	o.Seed = 4
	if other := split(list); fmt.Sprint(other) == fmt.Sprint(got) {
		t.Error("another seed changes nothing")
	}

	thin := func(o Options, list []file) (map[string]bool, int) {
		files := &Files{list: slices.Clone(list)}
		spare, err := o.splitSeries(t.Context(), files)
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]bool{}
		for _, f := range files.list {
			out[f.relative] = true
		}
		return out, spare
	}
	o.SeriesFiles = 2
	kept, spare := thin(o, list)
	left := map[string]int{} // of a series
	for name := range kept {
		left[(&file{relative: name, class: name[:5]}).series()]++
	}
	for name, n := range left {
		if n != 2 && name != "pins3:pins/test/x" {
			t.Errorf("%d files of %s are taken, want 2", n, name)
		}
	}
	if len(left) != 23 || spare != len(list)-len(kept) {
		t.Errorf("%d series of 23, %d of %d files are taken, and %d not", len(left), len(kept), len(list), spare)
	}
	slices.Reverse(list)
	if again, _ := thin(o, list); !maps.Equal(again, kept) {
		t.Error("in another order other files are taken")
	}
	one := slices.DeleteFunc(slices.Clone(list), func(f file) bool { return f.class != "pins3" || f.split != "" })
	o.SeriesFiles = 20
	some, _ := thin(o, one)
	o.Seed++
	if others, _ := thin(o, one); len(some) != len(others) || maps.Equal(some, others) {
		t.Errorf("with another seed %d files, as %d before, and the same: %v", len(others), len(some), maps.Equal(some, others))
	}
	o.Seed--
	o.SeriesFiles = 50
	if all, spare := thin(o, list); len(all) != len(list) || spare != 0 {
		t.Errorf("of series of at most 50 files %d of %d are taken", len(all), len(list))
	}

	files := &Files{Classes: []string{"pins2", "pins3"}, list: slices.Clone(list)}
	if left := files.AtLeast(60); !slices.Equal(left, []string{"pins3"}) || !slices.Equal(files.Classes, []string{"pins2"}) || files.Len() != 60 {
		t.Errorf("left out %v, %v and %d files stay", left, files.Classes, files.Len())
	}
}

// TestSplitFewSeries: of three series of any size one is for the test and one for validation, where a part
// of the files is; of one or two only those that are small enough. One is for training, the largest where
// another is too large. Parts are of the files that are taken.
func TestSplitFewSeries(t *testing.T) {
	for _, c := range []struct {
		files     []int // of each series
		val, test float64
		most      int            // files of a series
		want      map[string]int // files of each split
	}{
		{[]int{40, 80, 40}, 0.1, 0.1, 0, map[string]int{"test": 40, "val": 40, "train": 80}},
		{[]int{40, 80, 40}, 0, 0.1, 0, map[string]int{"test": 40, "train": 120}},
		{[]int{40, 80, 40}, 0.1, 0, 0, map[string]int{"val": 40, "train": 120}},
		{[]int{27, 7, 3}, 0.1, 0.2, 0, map[string]int{"test": 7, "val": 3, "train": 27}},
		{[]int{40, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 0.1, 0.1, 1, map[string]int{"test": 1, "val": 1, "train": 8}},
		{[]int{5, 90, 5}, 0.1, 0.1, 0, map[string]int{"test": 5, "val": 5, "train": 90}},
		{[]int{4, 4, 42}, 0.1, 0.2, 0, map[string]int{"test": 4, "val": 4, "train": 42}},
		{[]int{80, 40}, 0.1, 0.1, 0, map[string]int{"train": 120}},
		{[]int{5, 95}, 0.1, 0.1, 0, map[string]int{"test": 5, "train": 95}},
		{[]int{1, 1}, 0.1, 0.1, 0, map[string]int{"test": 1, "train": 1}},
		{[]int{1}, 0.1, 0.1, 0, map[string]int{"train": 1}},
		{[]int{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 0.1, 0.1, 0, map[string]int{"test": 2, "val": 2, "train": 11}},
	} {
		files := &Files{}
		for i, n := range c.files {
			for k := range n {
				files.list = append(files.list, file{relative: fmt.Sprintf("a/%c_%d.xyz", 'a'+i, k), class: "a"})
			}
		}
		if _, err := (&Options{ValPart: c.val, TestPart: c.test, SeriesFiles: c.most}).splitSeries(t.Context(), files); err != nil {
			t.Fatal(err)
		}
		got := map[string]int{}
		for _, f := range files.list {
			got[f.split]++
		}
		if !maps.Equal(got, c.want) {
			t.Errorf("series of %v files, %v for validation and %v for the test: %v, want %v", c.files, c.val, c.test, got, c.want)
		}
	}
}

// TestSplitDraws: which of three series that are too large is for the test is the seed's to say, but never
// the largest.
func TestSplitDraws(t *testing.T) {
	tested := map[string]int{}
	for seed := range uint64(50) {
		groups := []*group{}
		for i, n := range []int{8, 8, 9, 3} {
			name := string(rune('a' + i))
			groups = append(groups, &group{name: name, draw: (&Options{Seed: seed}).random(&file{relative: name}, 0)(), files: make([]*file, n)})
		}
		slices.SortFunc(groups, func(a, b *group) int { return cmp.Compare(a.draw, b.draw) })
		(&Options{ValPart: 0.05, TestPart: 0.05}).divide(groups)
		count := map[string]int{}
		for _, g := range groups {
			count[g.split]++
			if g.split == "test" {
				tested[g.name]++
			}
		}
		if count["test"] != 1 || count["val"] != 1 || count["train"] != 2 {
			t.Fatalf("seed %d: %v", seed, count)
		}
	}
	if tested["a"] < 5 || tested["b"] < 5 || tested["d"] < 5 || tested["c"] > 0 {
		t.Errorf("the tests are of %v", tested)
	}
}

// TestSameSeries: series of a class that have a file of the same bytes are one, also by way of others, and
// those of another class are not. The ending of a name does not count.
func TestSameSeries(t *testing.T) {
	from := t.TempDir()
	for name, text := range map[string]string{"a/maker_1.xyz": "0 0 1\n", "a/maker_2.xyz": "0 0 2\n", "a/other_7.xyz": "0 0 2\n",
		"a/third_8.xyz": "0 0 33\n", "a/other_9.xyz": "0 0 33\n", "a/own_1.xyz": "0 0 4\n", "a/own_2.ply": "0 0 0 5\n", "a/longer_1.xyz": "0 0 11\n", "b/maker_2.xyz": "0 0 2\n", "none.xyz": "0 0 2\n"} {
		write(t, filepath.Join(from, name), text)
	}
	files, err := Find(from)
	if err != nil {
		t.Fatal(err)
	}
	for range 20 { // contents are compared in any order
		groups, err := (&Options{}).groups(t.Context(), files)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]int{}
		for _, g := range groups {
			got[g.name] = len(g.files)
		}
		if want := map[string]int{"a:a/maker_": 5, "a:a/own_": 2, "a:a/longer_": 1, "b:b/maker_": 1}; !maps.Equal(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (&Options{}).splitSeries(ctx, files); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, and the files were read", err)
	}
}

// TestSeriesProgress: what is read is told of before, without the files of a series that are not.
func TestSeriesProgress(t *testing.T) {
	from := t.TempDir()
	for i := range 9 {
		write(t, filepath.Join(from, fmt.Sprintf("a/pins_%d.xyz", i)), "0 0 0\n1 2 3\n")
		write(t, filepath.Join(from, fmt.Sprintf("b/pins_%d.xyz", i)), "0 0 0\n1 2 3\n")
	}
	var total, done int64
	o := Options{Points: 2, Series: true, SeriesFiles: 2, Begin: func(n int64) { total += n }, Progress: func(n int64) { done += n }}
	d, left, err := convert(t, from, o)
	if err != nil || d.Manifest.Splits["train"].Rows != 4 || total != 4 || done != 4 {
		t.Errorf("%v: of %d files %d are read, expected 4: %s", err, total, done, left)
	}
	if _, _, err := convert(t, from, Options{Points: 2, SeriesFiles: 2}); err == nil {
		t.Error("files of a series without series are taken")
	}
}
