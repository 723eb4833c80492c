package ngram

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"github.com/sftseq/sftseq/internal/parallel"
)

// maxCounts limits the counts of [Vocabulary.Select] to 1 GiB.
const maxCounts = 1 << 28

// Select returns the vocabulary of up to n slots with the largest mutual information between the class of a
// row and whether the row has an n-gram of the slot (Yang and Pedersen, A Comparative Study on Feature
// Selection in Text Categorization, ICML 1997). If several slots have the same number of rows in every
// class, Select keeps only the first: their n-grams usually occur together, although rare ones may not.
// eachRow must call add for each row of a block; rows with a negative class do not count.
func (v *Vocabulary) Select(ctx context.Context, n, classes, blocks, threads int,
	eachRow func(block int, add func(a []int32, class int)) error) (*Vocabulary, error) {
	if v.size*classes > maxCounts {
		return nil, fmt.Errorf("ngrams.max_features: expected at most %d used slots for %d classes, found %d: "+
			"choose fewer slots, or a larger min_count",
			maxCounts/classes, classes, v.size)
	}
	counts := make([]uint32, v.size*classes) // rows with a feature, by feature and class
	rows := make([]uint32, classes)
	type worker struct {
		x        *Extractor
		features []uint32
	}
	workers := make([]worker, threads)
	err := parallel.Do(ctx, threads, blocks, func(t, block int) error {
		w := &workers[t]
		if w.x == nil {
			w.x = NewExtractor(v.Options)
		}
		return eachRow(block, func(a []int32, class int) {
			if class < 0 {
				return
			}
			atomic.AddUint32(&rows[class], 1)
			w.features = v.Features(w.x, a, nil, w.features[:0])
			for _, f := range w.features {
				atomic.AddUint32(&counts[int(f)*classes+class], 1)
			}
		})
	})
	if err != nil {
		return nil, err
	}
	chosen := selectFeatures(counts, rows, n)
	used := NewBitmap(v.Options.Slots)
	feature, next := 0, 0
	for slot := range uint32(v.Options.Slots) {
		if !v.Used.Has(slot) {
			continue
		}
		if next < len(chosen) && chosen[next] == feature {
			used.Set(slot)
			next++
		}
		feature++
	}
	return NewVocabulary(v.Options, v.Kept, used)
}

// selectFeatures returns the features that Select chooses, at most n, in ascending order. counts has
// the number of rows by feature and class, and rows the number of rows by class.
func selectFeatures(counts, rows []uint32, n int) []int {
	classes := len(rows)
	type candidate struct {
		feature     int
		information float64
	}
	all := make([]candidate, len(counts)/classes)
	of := func(f int) []uint32 { return counts[f*classes : (f+1)*classes] }
	for f := range all {
		all[f] = candidate{f, mutualInformation(of(f), rows)}
	}
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.information, a.information), cmp.Compare(a.feature, b.feature))
	})
	var out []int
	seen := map[string]bool{} // counts of the chosen features with the same information
	var key []byte
	for i, x := range all {
		if i == 0 || x.information != all[i-1].information {
			clear(seen)
		}
		key = key[:0]
		for _, n := range of(x.feature) {
			key = binary.LittleEndian.AppendUint32(key, n)
		}
		if seen[string(key)] {
			continue
		}
		if len(out) == n {
			break
		}
		seen[string(key)] = true
		out = append(out, x.feature)
	}
	slices.Sort(out)
	return out
}

// mutualInformation returns the mutual information in nats between the class and a feature:
//
//	Σ_c Σ_{x ∈ {0, 1}} p(x, c)·ln(p(x, c) / (p(x)·p(c)))
//
// counts has the number of rows with the feature by class, and rows the number of all rows by class.
func mutualInformation(counts, rows []uint32) float64 {
	with, all := 0.0, 0.0
	for c, n := range rows {
		with += float64(counts[c])
		all += float64(n)
	}
	sum := 0.0
	for c, n := range rows {
		has := float64(counts[c])
		for _, cell := range [][2]float64{{has, with}, {float64(n) - has, all - with}} {
			if cell[0] > 0 {
				sum += cell[0] / all * math.Log(cell[0]*all/(cell[1]*float64(n)))
			}
		}
	}
	return sum
}
