package baseline

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/sftseq/sftseq/seq"
)

// Bounds of the rows that are read together.
const (
	partRows   = 1024
	partTokens = 1 << 20
)

// read passes the labelled rows of a split to visit, some at a time and in the order of the file, and returns their
// number: all, or a sample of at most the given number of tokens, the same one in each call. The first window tokens of
// a row are read, all if window is 0.
func (w *work) read(split string, window int, tokens int64, visit func([]seq.Example)) (int, error) {
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
		if answered(e) {
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

// noLabels is the error for a split without labels.
func noLabels(dir, split string, rows int) error {
	return fmt.Errorf("%s: split %s: none of %d rows has a label or numbers", dir, split, rows)
}

// answered reports whether a row has a label or numbers.
func answered(e seq.Example) bool { return e.Label >= 0 || e.Labels != nil || e.Numbers != nil }

// sample chooses rows of these lengths, at least one, with at most the given number of tokens. They are ascending, so
// that a file is read from its beginning to its end.
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
