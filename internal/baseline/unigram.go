package baseline

import (
	"context"
	"errors"
	"math"

	"github.com/sftseq/sftseq/seq"
)

// TokensOf returns token ids of an example, or ids that replace its tokens.
type TokensOf func(e seq.Example) []int32

// UnigramBits returns the cross-entropy of the token frequencies, which ignore context, in bits per
// token:
//
//	−1/N Σ log₂ p(v), p(v) = (n_v + 1)/(n + V)
//
// The sum runs over N tokens: the results of the function targets for the given split. n_v counts the
// token v among n tokens: the results of the function all for the training split. V is the vocabulary
// size. The parameter window limits the tokens of each sequence. Labels are ignored. A model of masked
// tokens should need fewer bits.
func UnigramBits(ctx context.Context, set *seq.Dataset, split string, window seq.Window, vocabulary int,
	all, targets TokensOf) (bits float64, err error) {
	counts := make([]int64, vocabulary)
	total := int64(0)
	err = eachExample(ctx, set, "train", window, func(e seq.Example) {
		for _, v := range all(e) {
			counts[v]++
			total++
		}
	})
	if err != nil {
		return 0, err
	}
	n := 0
	err = eachExample(ctx, set, split, window, func(e seq.Example) {
		for _, v := range targets(e) {
			bits -= math.Log2(float64(counts[v]+1) / float64(total+int64(len(counts))))
			n++
		}
	})
	if err == nil && n == 0 {
		err = errors.New("a baseline of single tokens needs target tokens, found none in the split " + split)
	}
	return bits / float64(n), err
}

// eachExample calls visit with each sequence of a split in file order, and separately with the two
// sequences of a pair.
func eachExample(ctx context.Context, set *seq.Dataset, split string, window seq.Window,
	visit func(e seq.Example)) error {
	f, err := set.OpenSequences(split, window)
	if err != nil {
		return err
	}
	defer f.Close()
	for i := range f.Len() {
		if i%partRows == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		e, err := f.Example(i)
		if err != nil {
			return err
		}
		visit(e)
	}
	return nil
}
