package cloud

import (
	"cmp"
	"fmt"
	"slices"
)

// tags are those of points: a class and a part. Their numbers are those in which they are met, until all
// are known.
type tags struct {
	met    []tag
	number map[tag]int32
}

type tag struct {
	class string
	part  int
}

// String is the name of a tag.
func (x tag) String() string { return fmt.Sprintf("%s/%d", x.class, x.part) }

// of returns the tags of the points of a class, which are on these parts.
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

// sorted returns the names of all, by class and part, and where each is among them.
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
