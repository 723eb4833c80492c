package metrics

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestRank compares scores with values computed by hand.
func TestRank(t *testing.T) {
	many := make([]float64, 200) // 0, −1, −2, …
	for i := range many {
		many[i] = -float64(i)
	}
	for _, c := range []struct {
		name     string
		scores   []float64
		relevant []int
		rr       float64
		recall   [4]float64 // at 1, 5, 10, 100
	}{
		{"the first", many, []int{0}, 1, [4]float64{1, 1, 1, 1}},
		{"the fifth", many, []int{4}, 1. / 5, [4]float64{0, 1, 1, 1}},
		{"the sixth and the eleventh", many, []int{10, 5}, 1. / 6, [4]float64{0, 0, .5, 1}},
		{"ranks 1, 2, 100, 101", many, []int{0, 99, 1, 100}, 1, [4]float64{.25, .5, .5, .75}},
		{"the last", many, []int{199}, 1. / 200, [4]float64{0, 0, 0, 0}},
		{"one alone", []float64{-3}, []int{0}, 1, [4]float64{1, 1, 1, 1}},
		// The relevant candidate is at rank 1 or 2: (1 + 1/2)/2.
		{"one of two equal", []float64{7, 7, 0}, []int{1}, .75, [4]float64{.5, 1, 1, 1}},
		// The relevant candidate is at rank 2, 3 or 4.
		{"one of three equal behind one", []float64{1, 9, 1, 1}, []int{2},
			(1./2 + 1./3 + 1./4) / 3, [4]float64{0, 1, 1, 1}},
		// Two of three candidates are relevant: rank 1 is relevant in two of three orders.
		{"two of three equal", []float64{1, 1, 1}, []int{0, 2}, (1 + 1 + 1./2) / 3, [4]float64{1. / 3, 1, 1, 1}},
		// Rank 1 has a relevant candidate, ranks 4 to 7 have the other.
		{"at the edge of five", []float64{9, 8, 7, 1, 1, 1, 1, 0}, []int{0, 6}, 1, [4]float64{.5, .75, 1, 1}},
	} {
		got := Rank(c.scores, c.relevant)
		for i, v := range c.recall {
			if !near(got.ReciprocalRank, c.rr) || !near(got.Recall[i], v) {
				t.Errorf("%s: got %+v, want %v and %v", c.name, got, c.rr, c.recall)
				break
			}
		}
	}
}

// TestRankOfTies compares the scores with the mean over all orders of the candidates with equal
// scores.
func TestRankOfTies(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		scores := make([]float64, 1+random.IntN(7))
		for i := range scores {
			scores[i] = float64(random.IntN(3))
		}
		relevant := random.Perm(len(scores))[:1+random.IntN(len(scores))]
		var want Ranked
		orders := 0.0
		forEachOrder(len(scores), func(order []int) {
			order = slices.Clone(order)
			slices.SortStableFunc(order, func(a, b int) int { return int(scores[b] - scores[a]) })
			first := slices.IndexFunc(order, func(i int) bool { return slices.Contains(relevant, i) })
			want.ReciprocalRank += 1 / float64(first+1)
			for c, k := range Cutoffs {
				for _, i := range order[:min(k, len(order))] {
					if slices.Contains(relevant, i) {
						want.Recall[c] += 1 / float64(len(relevant))
					}
				}
			}
			orders++
		})
		got := Rank(scores, relevant)
		same := near(got.ReciprocalRank, want.ReciprocalRank/orders)
		for i, v := range want.Recall {
			same = same && near(got.Recall[i], v/orders)
		}
		if !same {
			t.Fatalf("scores %v, relevant %v: got %+v, want %+v divided by %v", scores, relevant, got, want, orders)
		}
	}
}

// forEachOrder calls f with every permutation of 0 … n−1 (Heap's algorithm).
func forEachOrder(n int, f func([]int)) {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	var permute func(k int)
	permute = func(k int) {
		if k < 2 {
			f(order)
			return
		}
		for i := range k {
			permute(k - 1)
			j := 0
			if k%2 == 0 {
				j = i
			}
			order[j], order[k-1] = order[k-1], order[j]
		}
	}
	permute(n)
}

// TestChance checks the expected reciprocal rank and the expected recall k/N of one relevant candidate
// among N, and compares the scores for three with Rank. It also checks the means of NewRanking.
func TestChance(t *testing.T) {
	harmonic := 0.0
	for i := range 1000 {
		harmonic += 1 / float64(i+1)
	}
	one := Chance(1000, 1)
	if !near(one.ReciprocalRank, harmonic/1000) || !near(one.Recall[0], .001) || !near(one.Recall[3], .1) {
		t.Errorf("got %+v, want the reciprocal rank %v", one, harmonic/1000)
	}
	if got, want := Chance(1000, 3), Rank(make([]float64, 1000), []int{7, 400, 999}); got != want {
		t.Errorf("got %+v, want %+v, the result of Rank with equal scores", got, want)
	}
	r := NewRanking([]Ranked{{1, [4]float64{1, 1, 1, 1}}, {.5, [4]float64{0, 1, 1, 1}}}, []Ranked{one, one})
	if r.Queries != 2 || !near(r.MRR, .75) || !near(r.Recall[0].Recall, .5) || r.Recall[3].K != 100 ||
		!near(r.ChanceMRR, one.ReciprocalRank) || !near(r.Recall[2].Chance, .01) {
		t.Errorf("got %+v, want the means of two queries", r)
	}
}
