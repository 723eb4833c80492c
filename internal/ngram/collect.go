package ngram

import (
	"context"

	"github.com/sftseq/sftseq/internal/parallel"
)

// Collect builds the vocabulary of the rows in all blocks. eachRow must call visit for each row of a block.
// Collect calls eachRow concurrently. If MinCount is greater than 1, a first pass counts the rows with each
// n-gram in a [Sketch]. The last pass collects the slots of the kept n-grams. The result does not depend on
// the number of threads.
func Collect(ctx context.Context, o Options, blocks, threads int,
	eachRow func(block int, visit func(a, b []int32)) error) (*Vocabulary, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	extractors := make([]*Extractor, threads)
	pass := func(begin func(thread int), visit func(thread int, x *Extractor, a, b []int32)) error {
		return parallel.Do(ctx, threads, blocks, func(t, block int) error {
			if extractors[t] == nil {
				extractors[t] = NewExtractor(o)
			}
			begin(t)
			return eachRow(block, func(a, b []int32) { visit(t, extractors[t], a, b) })
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
