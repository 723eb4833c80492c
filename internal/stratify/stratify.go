// Package stratify divides the rows of small data sets into splits with the same proportions of
// classes.
package stratify

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// SplitFraction is a split and its fraction of the rows.
type SplitFraction struct {
	Split    string
	Fraction float64 `json:"Part"`
}

// MaxRows is the maximum number of distinct rows for stratification. In larger data sets, hashes
// alone divide each class in approximate proportion.
const MaxRows = 1 << 16

// Strata holds the hashes of distinct rows by class. The zero value is empty.
type Strata struct {
	classes map[string]*stratum
	seen    map[uint64]bool
}

// stratum holds the hashes of a class's rows. The hashes determine the splits.
type stratum struct {
	class  string
	hashes []uint64
}

// Add adds a row of a class by its hash. It ignores a hash that was added before.
func (s *Strata) Add(class string, hash uint64) {
	if s.seen[hash] {
		return
	}
	if s.seen == nil {
		s.classes, s.seen = map[string]*stratum{}, map[uint64]bool{}
	}
	s.seen[hash] = true
	x := s.classes[class]
	if x == nil {
		x = &stratum{class: strings.Clone(class)}
		s.classes[x.class] = x
	}
	x.hashes = append(x.hashes, hash)
}

// Len returns the number of distinct rows.
func (s *Strata) Len() int { return len(s.seen) }

// Assign returns the split of each hash. It ignores splits with the fraction 0. It returns nil if there
// are more than [MaxRows] rows or fewer than two other splits. Each split after the first gets its
// fraction of the rows, but at least minRows rows and at least one row, while each class keeps a row for
// the first split. The first split gets the other rows. Each class is divided in proportion. The rows of
// a class are ordered by hash, so that a changed data set moves few rows to another split.
func (s *Strata) Assign(fractions []SplitFraction, minRows int) map[uint64]string {
	fractions = slices.DeleteFunc(slices.Clone(fractions), func(s SplitFraction) bool { return s.Fraction == 0 })
	if len(fractions) < 2 || s.Len() > MaxRows {
		return nil
	}
	var strata []*stratum
	for _, x := range s.classes {
		slices.Sort(x.hashes)
		strata = append(strata, x)
	}
	slices.SortFunc(strata, func(a, b *stratum) int { return cmp.Compare(a.class, b.class) })
	return assign(strata, s.Len(), fractions, minRows)
}

// assign assigns hashes to splits as [Strata.Assign] describes. It divides classes by the largest
// remainders.
func assign(strata []*stratum, rows int, fractions []SplitFraction, minRows int) map[uint64]string {
	out := map[uint64]string{}
	remaining := make([]int, len(strata))
	for i, s := range strata {
		remaining[i] = len(s.hashes)
	}
	for at := len(fractions) - 1; at > 0; at-- {
		size := max(1, minRows, int(math.Round(fractions[at].Fraction*float64(rows))))
		for i, n := range quotas(strata, rows, size) {
			for ; n > 0 && remaining[i] > 1; n-- {
				remaining[i]--
				out[strata[i].hashes[remaining[i]]] = fractions[at].Split
			}
		}
	}
	for i, s := range strata {
		for _, hash := range s.hashes[:remaining[i]] {
			out[hash] = fractions[0].Split
		}
	}
	return out
}

// quotas divides total rows in proportion to the sizes of the strata, by the largest remainders.
// Among equal remainders, larger strata come first.
func quotas(strata []*stratum, rows, total int) []int {
	out, order := make([]int, len(strata)), make([]int, len(strata))
	for i, s := range strata {
		order[i] = i
		out[i] = total * len(s.hashes) / rows
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := len(strata[a].hashes), len(strata[b].hashes)
		return cmp.Or(cmp.Compare(total*y%rows, total*x%rows), cmp.Compare(y, x))
	})
	missing := total
	for _, n := range out {
		missing -= n
	}
	for _, i := range order[:min(missing, len(order))] {
		out[i]++
	}
	return out
}
