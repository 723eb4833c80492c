package cloud

import (
	"cmp"
	"fmt"
	"slices"
)

// tags assigns provisional numbers to the tags of points in the order of their first occurrence. A
// tag is a class and a part.
type tags struct {
	order  []tag
	number map[tag]int32
}

type tag struct {
	class string
	part  int
}

// String returns the name of a tag, CLASS/PART.
func (x tag) String() string { return fmt.Sprintf("%s/%d", x.class, x.part) }

// numbersOf returns the provisional tag number of each point of a class. parts holds the parts of the points.
func (t *tags) numbersOf(class string, parts []int) (out []int32) {
	if t.number == nil {
		t.number = map[tag]int32{}
	}
	for _, part := range parts {
		x := tag{class, part}
		if _, ok := t.number[x]; !ok {
			t.number[x] = int32(len(t.order))
			t.order = append(t.order, x)
		}
		out = append(out, t.number[x])
	}
	return out
}

// sorted returns the names of all tags, sorted by class and part, and a function that maps a
// provisional number to the index of its name.
func (t *tags) sorted() (names []string, number func(int32) int32) {
	sorted := slices.Clone(t.order)
	slices.SortFunc(sorted, func(a, b tag) int { return cmp.Or(cmp.Compare(a.class, b.class), a.part-b.part) })
	at := make([]int32, len(sorted))
	for i, x := range sorted {
		names = append(names, x.String())
		at[t.number[x]] = int32(i)
	}
	return names, func(provisional int32) int32 { return at[provisional] }
}
