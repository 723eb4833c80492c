package metrics

import "slices"

// Cutoffs are the k of recall@k.
var Cutoffs = [...]int{1, 5, 10, 100}

// Ranked says how far in front the relevant ones of a query's candidates stand:
//
//	reciprocal rank  1/rank of the first relevant one, ranks from 1
//	recall@k         relevant ones among the first k / all relevant ones
//
// Candidates of equal score stand in no order. The numbers are the means over all
// orders of them, so that neither the order of a file nor an accident of sorting
// is measured.
//
// Sources: Manning, Raghavan, Schütze, "Introduction to Information Retrieval",
// chapter 8 (recall); Voorhees, "The TREC-8 Question Answering Track Report"
// (reciprocal rank); McSherry, Najork, "Computing Information Retrieval Performance
// Measures Efficiently in the Presence of Tied Scores" (equal scores).
type Ranked struct {
	ReciprocalRank float64
	Recall         [len(Cutoffs)]float64
}

// Rank puts a query's candidates in the order of their scores, the largest first.
// The relevant ones are distinct indices of scores, at least one.
func Rank(scores []float64, relevant []int) Ranked {
	var levels []float64 // the scores of relevant ones, ascending
	for _, i := range relevant {
		levels = append(levels, scores[i])
	}
	slices.Sort(levels)
	levels = slices.Compact(levels)
	ties := make([]tie, len(levels))
	above := make([]int, len(levels)) // candidates that pass a level, and not the next
	for _, v := range scores {
		n, equal := slices.BinarySearch(levels, v)
		if equal {
			ties[n].size++
		} else if n > 0 {
			above[n-1]++
		}
	}
	for _, i := range relevant {
		n, _ := slices.BinarySearch(levels, scores[i])
		ties[n].relevant++
	}
	slices.Reverse(ties)
	slices.Reverse(above)
	front := 0
	for n := range ties {
		front += above[n]
		ties[n].front = front
		front += ties[n].size
	}
	return measure(ties, len(relevant))
}

// Chance is what is expected of candidates in any order: what Rank returns where
// all scores are equal.
func Chance(candidates, relevant int) Ranked {
	return measure([]tie{{size: candidates, relevant: relevant}}, relevant)
}

// tie is the candidates of one score, relevant ones among them, and how many stand
// in front of them.
type tie struct{ front, size, relevant int }

// measure takes all relevant candidates, in the order of their ranks.
func measure(ties []tie, relevant int) Ranked {
	r := Ranked{ReciprocalRank: ties[0].reciprocalRank()}
	for _, t := range ties {
		for i, k := range Cutoffs {
			within := float64(min(max(0, k-t.front), t.size)) / float64(t.size)
			r.Recall[i] += within * float64(t.relevant) / float64(relevant)
		}
	}
	return r
}

// reciprocalRank is the mean over all orders of the tie: of those without a relevant
// one among the first i, the part relevant/(size−i) has one next.
func (t tie) reciprocalRank() float64 {
	mean, none := 0.0, 1.0
	for i := 0; i <= t.size-t.relevant; i++ {
		next := none * float64(t.relevant) / float64(t.size-i)
		mean += next / float64(t.front+i+1)
		none -= next
	}
	return mean
}

// Ranking is the mean over queries.
type Ranking struct {
	Queries    int            `json:"queries"`     // ranked queries
	AllQueries int            `json:"all_queries"` // all queries
	Documents  int            `json:"documents"`
	MRR        float64        `json:"mrr"`
	ChanceMRR  float64        `json:"chance_mrr"` // MRR of a random order
	Recall     []RecallAtRank `json:"recall"`
}

// RecallAtRank is recall@k, and what is expected of candidates in any order.
type RecallAtRank struct {
	K      int     `json:"k"`
	Recall float64 `json:"recall"`
	Chance float64 `json:"chance"`
}

// NewRanking adds queries up in their order. There is at least one.
func NewRanking(ranked, chance []Ranked) *Ranking {
	m, c := mean(ranked), mean(chance)
	r := &Ranking{Queries: len(ranked), MRR: m.ReciprocalRank, ChanceMRR: c.ReciprocalRank}
	for i, k := range Cutoffs {
		r.Recall = append(r.Recall, RecallAtRank{k, m.Recall[i], c.Recall[i]})
	}
	return r
}

func mean(all []Ranked) (m Ranked) {
	n := float64(len(all))
	for _, r := range all {
		m.ReciprocalRank += r.ReciprocalRank / n
		for i, v := range r.Recall {
			m.Recall[i] += v / n
		}
	}
	return m
}
