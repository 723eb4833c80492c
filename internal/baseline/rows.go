package baseline

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/sftseq/sftseq/seq"
)

// Numbers of rows and tokens at which read passes its batch to visit.
const (
	partRows   = 1024
	partTokens = 1 << 20
)

// read calls visit with the rows of a split that have a label or numbers, in batches and in file order,
// and returns the number of these rows. From a split of more than the given number of tokens, it reads a
// sample of rows, the same in each call. The parameter window limits the tokens of each row.
func (w *work) read(split string, window seq.Window, tokens int64, visit func([]seq.Example)) (int, error) {
	f, err := w.set.OpenWindow(split, window)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	picked := sample(f.Lengths(), tokens)
	var part []seq.Example
	rows, held := 0, 0
	for n, i := range picked {
		e, err := f.Example(i)
		if err != nil {
			return 0, err
		}
		if hasTarget(e) {
			part, held = append(part, e), held+e.Length()
		}
		if len(part) == partRows || held >= partTokens || n+1 == len(picked) {
			if err := w.ctx.Err(); err != nil {
				return 0, err
			}
			visit(part)
			w.done(len(part))
			rows += len(part)
			part, held = part[:0], 0
		}
	}
	if rows == 0 {
		return 0, noLabels(w.set.Dir, split, len(picked))
	}
	return rows, nil
}

// noLabels returns the error for a split without labels and numbers.
func noLabels(dir, split string, rows int) error {
	return fmt.Errorf("%s: split %s: none of %d rows has a label or numbers", dir, split, rows)
}

// hasTarget reports whether a row has a label or numbers.
func hasTarget(e seq.Example) bool { return e.Label >= 0 || e.Labels != nil || e.Numbers != nil }

// sample returns the indices of random rows with at most the given number of tokens in total, but
// at least one row. The indices ascend, so a file is read from beginning to end.
func sample(lengths []int32, tokens int64) []int {
	picked := rand.New(rand.NewPCG(1, 1)).Perm(len(lengths))
	for n, i := range picked {
		if tokens -= int64(lengths[i]); tokens < 0 {
			picked = picked[:max(1, n)]
			break
		}
	}
	slices.SortFunc(picked, cmp.Compare[int])
	return picked
}
