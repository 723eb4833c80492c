package baseline

import (
	"math"
	"runtime"
	"slices"
	"sync"
)

// buckets = 2^bucketBits is the number of features. Unigrams and bigrams of tokens or words are hashed
// to buckets: Weinberger et al., Feature Hashing for Large Scale Multitask Learning, ICML 2009.
const (
	bucketBits = 18
	buckets    = 1 << bucketBits
)

// feature is a bucket and its weight in a sequence.
type feature struct {
	bucket uint32
	weight float32
}

// bucket returns the hash bucket of the bigram (first, second), or of the unigram second if first is -1.
func bucket(first, second int32) uint32 {
	h := uint64(uint32(first))<<32 | uint64(uint32(second))
	h = (h ^ h>>31) * 0x9E3779B97F4A7C15 // both factors are constants of splitmix64
	return uint32((h ^ h>>29) * 0xBF58476D1CE4E5B9 >> (64 - bucketBits))
}

// counts returns the number of occurrences of each bucket in a sequence, in ascending order of the
// buckets. If bigrams is set, it also counts bigrams.
func counts(tokens []int32, bigrams bool) []feature {
	found := make([]uint32, 0, 2*len(tokens))
	for i, t := range tokens {
		found = append(found, bucket(-1, t))
		if bigrams && i > 0 {
			found = append(found, bucket(tokens[i-1], t))
		}
	}
	slices.Sort(found)
	var out []feature
	for i, b := range found {
		if i == 0 || b != found[i-1] {
			out = append(out, feature{bucket: b})
		}
		out[len(out)-1].weight++
	}
	return slices.Clip(out)
}

// bags returns the bucket counts of each sequence, computed on all cores.
func bags(sequences [][]int32, what counted, bigrams bool) [][]feature {
	out := make([][]feature, len(sequences))
	var group sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for w := range workers {
		group.Go(func() {
			for i := w; i < len(sequences); i += workers {
				out[i] = counts(what.unitsOf(sequences[i]), bigrams)
			}
		})
	}
	group.Wait()
	return out
}

// inverseFrequency returns idf(b) = minIDF + ln((1+n) / (1+df(b))) for each bucket b, where n is
// the number of bags and df(b) the number of bags that contain b (Salton and Buckley, Information
// Processing and Management 24, 1988).
func inverseFrequency(bags [][]feature, minIDF float64) []float32 {
	idf := make([]float32, buckets)
	for _, bag := range bags {
		for _, f := range bag {
			idf[f.bucket]++
		}
	}
	for i, df := range idf {
		idf[i] = float32(minIDF + math.Log(float64(1+len(bags))/(1+float64(df))))
	}
	return idf
}

// weigh replaces each count tf in bag by (1 + ln tf)·idf and scales the bag to norm 1.
func weigh(bag []feature, idf []float32) {
	norm := 0.0
	for i, f := range bag {
		w := (1 + math.Log(float64(f.weight))) * float64(idf[f.bucket])
		bag[i].weight = float32(w)
		norm += w * w
	}
	if norm == 0 {
		return
	}
	scale := float32(1 / math.Sqrt(norm))
	for i := range bag {
		bag[i].weight *= scale
	}
}

// weighAll applies weigh to each bag.
func weighAll(bags [][]feature, idf []float32) {
	for _, b := range bags {
		weigh(b, idf)
	}
}

// dot returns the dot product of two bags, which is their cosine if weigh normalised both.
func dot(a, b []feature) float64 {
	sum := 0.0
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0].bucket < b[0].bucket:
			a = a[1:]
		case a[0].bucket > b[0].bucket:
			b = b[1:]
		default:
			sum += float64(a[0].weight) * float64(b[0].weight)
			a, b = a[1:], b[1:]
		}
	}
	return sum
}
