package baseline

import (
	"cmp"
	"slices"

	"github.com/sftseq/sftseq/seq"
)

// cosine says of a pair that it is of class 1 where the cosine of its bags is at least
// the threshold that is right most often in training. Words stand alone, and one that every
// text has counts nothing: of pairs of film reviews 84% are right then, with neighbours and
// the weights of [bag] 78%. Tokens such as bytes say little alone, and most are in every row.
func cosine(what counted, most limits) *simple {
	least := 1.0
	if what.words {
		least = 0
	}
	var train pairs
	var idf []float32
	var threshold float64
	return &simple{
		name: what.cosine, most: most,
		learn: func(examples []seq.Example) {
			p := pairBags(examples, what)
			train.bags, train.related = append(train.bags, p.bags...), append(train.related, p.related...)
		},
		finish: func(*work) (int, error) {
			rows := len(train.related)
			idf = inverseFrequency(train.bags, least)
			threshold = bestThreshold(train.similar(idf))
			train = pairs{}
			return rows, nil
		},
		right: func(examples []seq.Example) (right int) {
			for _, s := range pairBags(examples, what).similar(idf) {
				if (s.cosine >= threshold) == s.related {
					right++
				}
			}
			return right
		},
	}
}

// pairs are the bags of pairs, one behind the other, and whether they are of class 1.
type pairs struct {
	bags    [][]feature
	related []bool
}

func pairBags(examples []seq.Example, what counted) (p pairs) {
	var sequences [][]int32
	for _, e := range examples {
		sequences = append(sequences, e.A, e.B)
		p.related = append(p.related, e.Label == 1)
	}
	p.bags = bags(sequences, what, !what.words)
	return p
}

// similarity is a pair's cosine and class.
type similarity struct {
	cosine  float64
	related bool
}

func (p pairs) similar(idf []float32) []similarity {
	weighAll(p.bags, idf)
	out := make([]similarity, len(p.related))
	for i, related := range p.related {
		out[i] = similarity{dot(p.bags[2*i], p.bags[2*i+1]), related}
	}
	return out
}

// bestThreshold is the cosine from which on class 1 is right most often, the largest of
// equally good ones.
func bestThreshold(s []similarity) float64 {
	slices.SortFunc(s, func(a, b similarity) int { return cmp.Compare(b.cosine, a.cosine) })
	// Above the largest cosine none is of class 1; each threshold takes in one more.
	right, best, at := 0, 0, 2.0
	for i, v := range s {
		if v.related {
			right++
		} else {
			right--
		}
		if last := i+1 == len(s) || s[i+1].cosine < v.cosine; last && right > best {
			best, at = right, v.cosine
		}
	}
	return at
}
