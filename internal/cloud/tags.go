package cloud

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/sftseq/sftseq/seq"
)

// tags are those of points: a class and a part, by its name or its number. Their numbers are those in
// which they are met, until all are known.
type tags struct {
	met    []tag
	number map[tag]int32
}

type tag struct {
	class, name string // of the part; "" where it has a number
	part        int
}

// String is the name of a tag.
func (x tag) String() string {
	if x.name != "" {
		return x.class + "/" + x.name
	}
	return fmt.Sprintf("%s/%d", x.class, x.part)
}

// tagOf is that of a part of a class. A name that is a number is that number.
func tagOf(class string, part int, names []string) tag {
	if names == nil {
		return tag{class: class, part: part}
	}
	if n, err := strconv.Atoi(names[part]); err == nil && n >= 0 && strconv.Itoa(n) == names[part] {
		return tag{class: class, part: n}
	}
	return tag{class: class, name: names[part]}
}

// of are the tags of the points of a class, whose parts are numbers of names, where there are some.
func (t *tags) of(class string, parts []int, names []string) (out []int32) {
	if t.number == nil {
		t.number = map[tag]int32{}
	}
	for _, part := range parts {
		if part == noPart {
			out = append(out, seq.NoLabel)
			continue
		}
		x := tagOf(class, part, names)
		if _, ok := t.number[x]; !ok {
			t.number[x] = int32(len(t.met))
			t.met = append(t.met, x)
		}
		out = append(out, t.number[x])
	}
	return out
}

// sorted are the names of all, by class and part, and where each is among them.
func (t *tags) sorted() (names []string, number func(int32) int32) {
	order := slices.Clone(t.met)
	slices.SortFunc(order, func(a, b tag) int {
		return cmp.Or(cmp.Compare(a.class, b.class), cmp.Compare(a.name, b.name), a.part-b.part)
	})
	at := make([]int32, len(order))
	for i, x := range order {
		names = append(names, x.String())
		at[t.number[x]] = int32(i)
	}
	return names, func(met int32) int32 { return at[met] }
}
