package metrics

import "slices"

// Cutoffs are the k of recall@k.
var Cutoffs = [...]int{1, 5, 10, 100}

// Ranked has the scores of a ranking of one query's candidates:
//
//	reciprocal rank  1/rank of the first relevant candidate, with ranks from 1
//	recall@k         relevant candidates among the first k / all relevant candidates
//
// Candidates with equal scores have no defined order, so each metric is the mean over all their orders.
// It therefore does not depend on the order of a file or on the sorting algorithm.
//
// Sources: Manning, Raghavan, Schütze, "Introduction to Information Retrieval", chapter 8 (recall);
// Voorhees, "The TREC-8 Question Answering Track Report" (reciprocal rank); McSherry, Najork,
// "Computing Information Retrieval Performance Measures Efficiently in the Presence of Tied Scores"
// (equal scores).
type Ranked struct {
	ReciprocalRank float64
	Recall         [len(Cutoffs)]float64
}

// Rank ranks a query's candidates by descending score. relevant has at least one index: the distinct
// indices in scores of the relevant candidates.
func Rank(scores []float64, relevant []int) Ranked {
	var levels []float64 // distinct scores of the relevant candidates, ascending
	for _, i := range relevant {
		levels = append(levels, scores[i])
	}
	slices.Sort(levels)
	levels = slices.Compact(levels)
	ties := make([]tie, len(levels))
	above := make([]int, len(levels)) // number of candidates above a level and below the next level, if any
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

// Chance returns the expected scores of a random order of candidates, given the number of all candidates
// and the number of relevant ones. They equal the result of Rank for equal scores.
func Chance(candidates, relevant int) Ranked {
	return measure([]tie{{size: candidates, relevant: relevant}}, relevant)
}

// tie describes the candidates with one score: front is the number of candidates with larger scores,
// size the number of candidates with this score, and relevant the number of relevant ones among these.
type tie struct{ front, size, relevant int }

// measure returns the scores of a ranking. ties has the ties with relevant candidates in order of rank,
// and relevant is the number of relevant candidates in all ties.
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

// reciprocalRank returns the mean reciprocal rank of the first relevant candidate over all orders of the
// tie. Among the orders whose first i candidates are not relevant, a fraction relevant/(size−i)
// has a relevant candidate next.
func (t tie) reciprocalRank() float64 {
	mean, none := 0.0, 1.0
	for i := 0; i <= t.size-t.relevant; i++ {
		next := none * float64(t.relevant) / float64(t.size-i)
		mean += next / float64(t.front+i+1)
		none -= next
	}
	return mean
}

// Ranking has the mean scores over queries.
type Ranking struct {
	Queries    int            `json:"queries"`     // ranked queries
	AllQueries int            `json:"all_queries"` // all queries, ranked or not; set by the caller
	Documents  int            `json:"documents"`   // set by the caller
	MRR        float64        `json:"mrr"`
	ChanceMRR  float64        `json:"chance_mrr"` // MRR of a random order
	Recall     []RecallAtRank `json:"recall"`
}

// RecallAtRank has recall@k and its expected value for a random order.
type RecallAtRank struct {
	K      int     `json:"k"`
	Recall float64 `json:"recall"`
	Chance float64 `json:"chance"`
}

// NewRanking returns the means of the scores of the ranked queries, at least one, and of the results of
// [Chance] for the same queries.
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
