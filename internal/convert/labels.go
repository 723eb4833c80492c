package convert

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
)

// labels number the names of classes as they are found. In the end the names are
// sorted: as numbers if all are, otherwise as text.
type labels struct {
	mu      *sync.Mutex
	fixed   bool // no other names than those given
	numbers map[string]int32
}

// maxLabels is more classes than a data set has that is not read by mistake.
const maxLabels = 1 << 16

func newLabels(names []string) labels {
	l := labels{mu: &sync.Mutex{}, fixed: names != nil, numbers: map[string]int32{}}
	for i, name := range names {
		l.numbers[name] = int32(i)
	}
	return l
}

// number is that of a name.
func (l *labels) number(name string) (int32, *reason) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, ok := l.numbers[name]
	switch {
	case ok:
		return n, nil
	case l.fixed:
		return 0, because("an unknown label", fmt.Errorf("found %.40q", name))
	case len(l.numbers) == maxLabels:
		return 0, because("too many labels", fmt.Errorf("more than %d: is the column one of classes?", maxLabels))
	}
	n = int32(len(l.numbers))
	l.numbers[name] = n
	return n, nil
}

// sorted are the names in their final order, and the final number of each number.
func (l *labels) sorted() (names []string, final []int32) {
	names = make([]string, len(l.numbers))
	for name, n := range l.numbers {
		names[n] = name
	}
	order := slices.Clone(names)
	if !l.fixed {
		sortNames(order)
	}
	final = make([]int32, len(names))
	for at, name := range order {
		final[l.numbers[name]] = int32(at)
	}
	return order, final
}

// sortNames sorts names as numbers if all are whole ones, otherwise as text.
func sortNames(names []string) {
	values := map[string]int{}
	for _, name := range names {
		v, err := strconv.Atoi(name)
		if err != nil {
			slices.Sort(names)
			return
		}
		values[name] = v
	}
	slices.SortFunc(names, func(a, b string) int { return values[a] - values[b] })
}
