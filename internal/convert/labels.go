package convert

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/sftseq/sftseq/internal/jsonlines"
	"github.com/sftseq/sftseq/internal/source"
	"github.com/sftseq/sftseq/seq"
)

// labels assigns provisional numbers to class names in the order in which workers find them. The final
// order is by value if all names are numbers, otherwise alphabetical. Given names keep their order.
type labels struct {
	mu      *sync.RWMutex
	fixed   bool // only the given names are valid
	numbers map[string]int32
}

func newLabels(names []string) labels {
	l := labels{mu: &sync.RWMutex{}, fixed: names != nil, numbers: map[string]int32{}}
	for i, name := range names {
		l.numbers[name] = int32(i)
	}
	return l
}

// given returns the given names in their order.
func (l *labels) given() []string {
	return slices.SortedFunc(maps.Keys(l.numbers), func(a, b string) int {
		return cmp.Compare(l.numbers[a], l.numbers[b])
	})
}

// number returns the provisional number of a name, and adds the name if it is new.
func (l *labels) number(name string) (int32, *source.SkipReason) {
	l.mu.RLock()
	n, ok := l.numbers[name]
	l.mu.RUnlock()
	switch {
	case ok:
		return n, nil
	case !utf8.ValidString(name):
		return 0, source.Skip("the label is not UTF-8", fmt.Errorf("found %q", jsonlines.Shorten(name, 40)))
	case l.fixed:
		return 0, source.Skip("the label is not in --labels", fmt.Errorf("expected one of %s, found %q",
			jsonlines.Shorten(strings.Join(l.given(), ", "), 60), jsonlines.Shorten(name, 40)))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if n, ok = l.numbers[name]; ok { // another worker has added the name
		return n, nil
	}
	if len(l.numbers) == seq.MaxLabelNames {
		return 0, &source.SkipReason{Kind: "too many labels",
			Detail: fmt.Errorf("expected at most %d classes, found more (extract a class from a longer text with "+
				"--label-pattern)", seq.MaxLabelNames), Fatal: true}
	}
	n = int32(len(l.numbers))
	l.numbers[strings.Clone(name)] = n // name shares the memory of its row
	return n, nil
}

// sorted returns the names in their final order, and the final number of each provisional number.
func (l *labels) sorted() (names []string, final []int32) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	names = make([]string, len(l.numbers))
	for name, n := range l.numbers {
		names[n] = name
	}
	order := slices.Clone(names)
	if !l.fixed {
		sortNames(order)
	}
	final = make([]int32, len(names))
	for i, name := range order {
		final[l.numbers[name]] = int32(i)
	}
	return order, final
}

// sortNames sorts names by value if all are numbers, otherwise as text.
func sortNames(names []string) {
	slices.Sort(names)
	values := map[string]float64{}
	for _, name := range names {
		v, err := strconv.ParseFloat(name, 64)
		if err != nil || math.IsNaN(v) {
			return
		}
		values[name] = v
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(values[a], values[b]) })
}

// NoLabel is the skip reason of a row without a label.
const NoLabel = "no label"

// Refused is the skip reason of a row whose content the tokenizer rejects.
const Refused = "the tokenizer rejects the content"

// listOfLabels returns the skip reason of a row whose label is a list although rows have one class.
func listOfLabels(column string) *source.SkipReason {
	return source.Skip(fmt.Sprintf("a list of labels: expected one class, as in the first row with a label "+
		"(select an element of a JSON list with --label '%s[0]', or read several labels with --label-separator)", column), nil)
}
