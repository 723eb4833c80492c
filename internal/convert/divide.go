package convert

import (
	"cmp"
	"context"
	"encoding/binary"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/sftseq/sftseq/internal/table"
)

// maxDivided is the number of rows up to which the splits are stratified. Of more rows, a hash alone
// divides each class about as its shares say.
const maxDivided = 1 << 16

// The validation and the test split of the default shares have at least a tenth of the rows, up to so
// many.
const (
	leastPart = 10 // rows of the data for each row of the split
	leastRows = 50
)

// stratum is the texts of a class, by the hash that says which split a text is in.
type stratum struct {
	class  string
	hashes []uint64
}

// divide chooses the split of each text of a small data set, so that every split has its share of each
// class. Texts of a class are ordered by their hashes: a text that is in a split stays there, unless
// the shares need it elsewhere.
func (c *converter) divide(ctx context.Context) error {
	shares := c.options.Shares
	if c.options.SplitColumn != "" {
		shares = c.options.valShares()
	}
	least := 0
	if slices.Equal(shares, DefaultShares) {
		least = leastRows
	}
	shares = slices.DeleteFunc(slices.Clone(shares), func(s Share) bool { return s.Part == 0 })
	if len(shares) < 2 || slices.ContainsFunc(c.options.From, table.ReadOnce) {
		return nil
	}
	classes := map[string]*stratum{}
	seen := map[uint64]bool{}
	for _, path := range c.options.From {
		if err := c.divideFile(ctx, path, classes, seen); err != nil || len(seen) > maxDivided {
			return err
		}
	}
	var strata []*stratum
	for _, s := range classes {
		slices.Sort(s.hashes)
		strata = append(strata, s)
	}
	slices.SortFunc(strata, func(a, b *stratum) int { return cmp.Compare(a.class, b.class) })
	c.divided = assign(strata, len(seen), shares, min(least, len(seen)/leastPart))
	return nil
}

// divideFile adds the texts of a file whose split chance decides.
func (c *converter) divideFile(ctx context.Context, path string, classes map[string]*stratum, seen map[uint64]bool) error {
	how := c.table(nil)
	how.Absent = nil // noted when the rows are converted
	t, err := table.Open(ctx, path, how)
	if err != nil {
		return err
	}
	defer t.Close()
	w := worker{converter: c}
	var row table.Row
	for ctx.Err() == nil && len(seen) <= maxDivided {
		if err := t.Next(&row); err == io.EOF {
			break
		} else if err != nil {
			return err
		}
		if c.words(&row); row.Err != nil || row.Values[firstText].Null {
			continue
		}
		w.digest = [len(w.digest)]byte{}
		if _, why := w.split(&row); why != nil || w.digest == [len(w.digest)]byte{} {
			continue
		}
		class, ok := c.classOf(&row)
		hash := binary.BigEndian.Uint64(w.digest[:])
		if !ok || seen[hash] {
			continue
		}
		seen[hash] = true
		s := classes[class]
		if s == nil {
			s = &stratum{class: strings.Clone(class)}
			classes[s.class] = s
		}
		s.hashes = append(s.hashes, hash)
	}
	return ctx.Err()
}

// classOf is the class by which a row's split is stratified, "" of rows without classes; false means
// that the row has none and is left out.
func (c *converter) classOf(row *table.Row) (string, bool) {
	if c.options.Label == "" || c.options.Numbers != nil || c.options.tags() {
		return "", true
	}
	v := row.Values[len(c.texts(row))]
	if v.Items != nil || v.Tokens != nil || v.Null {
		return "", c.manyLabels()
	}
	text, ok := taken(c.options.LabelPattern, v.Text)
	return strings.TrimSpace(text), ok && strings.TrimSpace(text) != ""
}

// assign gives each hash the split that its class's rows need. The rows of a split are its share of all
// rows, and not below least or one; each class has its part of
// them, by the largest remainders. A class keeps a row in the first split.
func assign(strata []*stratum, rows int, shares []Share, least int) map[uint64]string {
	out := map[uint64]string{}
	left := make([]int, len(strata))
	for i, s := range strata {
		left[i] = len(s.hashes)
	}
	for at := len(shares) - 1; at > 0; at-- {
		want := max(1, least, int(math.Round(shares[at].Part*float64(rows))))
		for i, n := range quotas(strata, rows, want) {
			for ; n > 0 && left[i] > 1; n-- {
				left[i]--
				out[strata[i].hashes[left[i]]] = shares[at].Split
			}
		}
	}
	for i, s := range strata {
		for _, hash := range s.hashes[:left[i]] {
			out[hash] = shares[0].Split
		}
	}
	return out
}

// quotas divides want rows by the sizes of the strata, by the largest remainders, of equal ones those of
// the larger strata first.
func quotas(strata []*stratum, rows, want int) []int {
	out, order := make([]int, len(strata)), make([]int, len(strata))
	for i, s := range strata {
		order[i] = i
		out[i] = want * len(s.hashes) / rows
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := len(strata[a].hashes), len(strata[b].hashes)
		return cmp.Or(cmp.Compare(want*y%rows, want*x%rows), cmp.Compare(y, x))
	})
	missing := want
	for _, n := range out {
		missing -= n
	}
	for _, i := range order[:min(missing, len(order))] {
		out[i]++
	}
	return out
}
