package distributed

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestFrontier checks that the frontier of consecutive leaves has exactly these leaves. For random
// micro-batches it checks the cuts of Deal: a frontier must have at most MaxSums nodes, and ranks must
// get similar numbers of micro-batches if all micro-batches have similar sizes.
func TestFrontier(t *testing.T) {
	for leaves := 1; leaves < 40; leaves++ {
		for lo := range leaves {
			for hi := lo; hi <= leaves; hi++ {
				var got []int
				for _, n := range Frontier(leaves, lo, hi) {
					for leaf := n.Index << n.Level; leaf < min((n.Index+1)<<n.Level, leaves); leaf++ {
						got = append(got, leaf)
					}
				}
				want := make([]int, hi-lo)
				for i := range want {
					want[i] = lo + i
				}
				if !slices.Equal(got, want) {
					t.Fatalf("frontier of %d to %d of %d: got leaves %v, want %v", lo, hi, leaves, got, want)
				}
			}
		}
	}
	random := rand.New(rand.NewPCG(1, 1))
	for _, longest := range []int{1, 200, MicroBatchTokens, 5 * MicroBatchTokens, 40 * MicroBatchTokens} {
		maxSums, largest := 0, MicroBatchTokens-1+longest
		for range 2000 {
			tokens := make([]int, 1+random.IntN(300))
			short, mixed := random.IntN(2*len(tokens)), longest > 200
			for i := range tokens {
				tokens[i] = MicroBatchTokens + random.IntN(longest)
				if mixed && i < short {
					tokens[i] = MicroBatchTokens // a long micro-batch has the tokens of many short ones
				}
			}
			if mixed {
				tokens[len(tokens)-1] = 1 + random.IntN(largest)
			}
			ranks := 1 + random.IntN(70)
			cuts := Deal(tokens, ranks)
			if len(cuts) != ranks+1 || cuts[0] != 0 || cuts[ranks] != len(tokens) || !slices.IsSorted(cuts) {
				t.Fatalf("%d micro-batches on %d ranks: got cuts %v, want %d in ascending order from 0 to %[1]d",
					len(tokens), ranks, cuts, ranks+1)
			}
			for r := range ranks {
				n := len(Frontier(len(tokens), cuts[r], cuts[r+1]))
				if maxSums = max(maxSums, n); n > MaxSums(len(tokens), largest) {
					t.Errorf("%d micro-batches of up to %d tokens on %d ranks, %d to %d: got %d sums, want at most %d",
						len(tokens), largest, ranks, cuts[r], cuts[r+1], n, MaxSums(len(tokens), largest))
				}
				if got, mean := cuts[r+1]-cuts[r], float64(len(tokens))/float64(ranks); !mixed &&
					float64(got) > 1.3*mean+1 {
					t.Errorf("%d micro-batches on %d ranks: rank %d got %d, want at most %v", len(tokens), ranks, r,
						got, 1.3*mean+1)
				}
			}
		}
		t.Logf("up to %d tokens: at most %d sums, the bound is %d", largest, maxSums, MaxSums(300, largest))
	}
}

// TestMaxSums checks the bound ⌊2·log₂((k+2)/2)⌋ for k as in the comment of MaxSums. Most cases
// lie on either side of a change of the bound.
func TestMaxSums(t *testing.T) {
	for _, c := range []struct{ microBatches, tokens, want int }{
		{300, MicroBatchTokens, 5},           // k = 11
		{300, 4*MicroBatchTokens/3 - 1, 5},   // k = 13
		{300, 4*MicroBatchTokens/3 + 1, 6},   // k = 14, where (14+2)/2 is 2³
		{300, 28*MicroBatchTokens/9 + 1, 8},  // k = 30, where (30+2)/2 is 2⁴
		{300, 28*MicroBatchTokens/9 - 1, 7},  // k = 29
		{300, 60*MicroBatchTokens/9 + 1, 10}, // k = 62, where (62+2)/2 is 2⁵
		{61, 100 * MicroBatchTokens, 9},      // k is the number of all micro-batches
		{62, 100 * MicroBatchTokens, 10},
		{1, MicroBatchTokens, 1},
	} {
		if got := MaxSums(c.microBatches, c.tokens); got != c.want {
			t.Errorf("%+v: got %d, want %d", c, got, c.want)
		}
	}
}

// TestMicroBatches checks that a micro-batch ends with the example that reaches the token limit. The
// last micro-batch may be smaller.
func TestMicroBatches(t *testing.T) {
	for _, c := range []struct{ lengths, ends []int }{
		{nil, nil},
		{[]int{10}, []int{1}},
		{[]int{4, 6, 10, 9, 1, 3}, []int{2, 3, 5, 6}},
		{[]int{30, 1}, []int{1, 2}},
		{[]int{5, 4, 20}, []int{3}},
	} {
		if ends := MicroBatches(c.lengths, 10); !slices.Equal(ends, c.ends) {
			t.Errorf("%v: got ends %v, want %v", c.lengths, ends, c.ends)
		}
	}
}

// TestDeal checks that each cut is as close as possible to an equal split of the tokens. Ranks have
// so few micro-batches that Deal may cut anywhere.
func TestDeal(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		tokens, total := make([]int, 1+random.IntN(30)), 0
		for i := range tokens {
			tokens[i] = 1 + random.IntN(9000)
			total += tokens[i]
		}
		ranks := len(tokens)/7 + 1 // few micro-batches per rank allow a cut anywhere
		cuts := Deal(tokens, ranks)
		for r := 1; r < ranks; r++ {
			distance := func(cut int) int {
				before := 0
				for _, n := range tokens[:cut] {
					before += n
				}
				return max(before-total*r/ranks, total*r/ranks-before)
			}
			for cut := cuts[r-1]; cut <= len(tokens); cut++ {
				if distance(cut) < distance(cuts[r]) {
					t.Fatalf("%v on %d ranks: cuts %v, %d is better than %d", tokens, ranks, cuts, cut, cuts[r])
				}
			}
		}
	}
}
