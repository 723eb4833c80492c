package ngram

import (
	"context"
	"sync"
	"sync/atomic"
)

// Collect builds the vocabulary of rows in blocks. each must call with for the rows of a block.
// Collect calls each on several threads, in one pass that counts the rows of each cell, unless all
// n-grams are kept, and in another pass that collects the slots. The result does not depend on the
// number of threads.
func Collect(ctx context.Context, o Options, blocks, threads int,
	each func(block int, with func(a, b []int32)) error) (*Vocabulary, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	extractors := make([]*Extractor, threads)
	pass := func(begin func(thread int), with func(thread int, x *Extractor, a, b []int32)) error {
		return parallel(ctx, threads, blocks, func(t, block int) error {
			if extractors[t] == nil {
				extractors[t] = NewExtractor(o)
			}
			begin(t)
			return each(block, func(a, b []int32) { with(t, extractors[t], a, b) })
		})
	}
	var kept Bitmap
	if o.MinCount > 1 {
		sketches := make([]*Sketch, threads)
		err := pass(func(t int) {
			if sketches[t] == nil {
				sketches[t] = NewSketch()
			}
		}, func(t int, x *Extractor, a, b []int32) { sketches[t].Add(x, a, b) })
		if err != nil {
			return nil, err
		}
		all := NewSketch()
		for _, s := range sketches {
			if s != nil {
				all.Merge(s)
			}
		}
		kept = all.Kept(o.MinCount)
	}
	parts := make([]Bitmap, threads)
	err := pass(func(t int) {
		if parts[t] == nil {
			parts[t] = NewBitmap(o.Slots)
		}
	}, func(t int, x *Extractor, a, b []int32) { Use(x, kept, parts[t], a, b) })
	if err != nil {
		return nil, err
	}
	used := NewBitmap(o.Slots)
	for _, p := range parts {
		if p != nil {
			used.Merge(p)
		}
	}
	return NewVocabulary(o, kept, used)
}

// parallel calls work for each i < n on the threads, with the number of the thread.
func parallel(ctx context.Context, threads, n int, work func(thread, i int) error) error {
	var next atomic.Int64
	var group sync.WaitGroup
	errs := make([]error, threads)
	for t := range threads {
		group.Go(func() {
			for errs[t] == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if errs[t] = ctx.Err(); errs[t] == nil {
					errs[t] = work(t, i)
				}
			}
		})
	}
	group.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
