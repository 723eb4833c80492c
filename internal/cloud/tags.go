package cloud

import (
	"cmp"
	"fmt"
	"slices"
)

// tags assigns provisional numbers to the tags of points in the order of their first occurrence. A
// tag is a class and a part.
type tags struct {
	met    []tag
	number map[tag]int32
}

type tag struct {
	class string
	part  int
}

// String returns the name of a tag.
func (x tag) String() string { return fmt.Sprintf("%s/%d", x.class, x.part) }

// of returns the provisional numbers of the tags of points of a class with the given parts.
func (t *tags) of(class string, parts []int) (out []int32) {
	if t.number == nil {
		t.number = map[tag]int32{}
	}
	for _, part := range parts {
		x := tag{class, part}
		if _, ok := t.number[x]; !ok {
			t.number[x] = int32(len(t.met))
			t.met = append(t.met, x)
		}
		out = append(out, t.number[x])
	}
	return out
}

// sorted returns the names of all tags, sorted by class and part, and a function from provisional
// to sorted numbers.
func (t *tags) sorted() (names []string, number func(int32) int32) {
	order := slices.Clone(t.met)
	slices.SortFunc(order, func(a, b tag) int { return cmp.Or(cmp.Compare(a.class, b.class), a.part-b.part) })
	at := make([]int32, len(order))
	for i, x := range order {
		names = append(names, x.String())
		at[t.number[x]] = int32(i)
	}
	return names, func(met int32) int32 { return at[met] }
}
