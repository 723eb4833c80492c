package seq

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

func randomLengths(n int) []int32 {
	random := rand.New(rand.NewPCG(5, 6))
	lengths := make([]int32, n)
	for i := range lengths {
		lengths[i] = 500 + random.Int32N(1500)
	}
	return lengths
}

func mustBatches(t testing.TB, lengths []int32, size int, seed uint64) *Batches {
	t.Helper()
	return must.Get(NewBatches(lengths, size, seed))(t)
}

func TestEveryRowOnce(t *testing.T) {
	for _, n := range []int{1, 2, 63, 64, 65, 4096, 4097, 10007} {
		for _, size := range []int{1, 3, 64, 20000} {
			b := mustBatches(t, randomLengths(n), size, 1)
			seen := make([]int, n)
			short := 0
			epoch := b.Epoch(3)
			for _, batch := range epoch {
				if len(batch) != size {
					short++
				}
				for _, row := range batch {
					seen[row]++
				}
			}
			if len(epoch) != b.PerEpoch() || short > 1 {
				t.Errorf("%d rows in batches of %d: %d batches, want %d; %d short batches, want at most 1", n, size,
					len(epoch), b.PerEpoch(), short)
			}
			for row, times := range seen {
				if times != 1 {
					t.Fatalf("%d rows in batches of %d: row %d occurs %d times, want once", n, size, row, times)
				}
			}
		}
	}
}

func TestBatchesHaveSimilarLengths(t *testing.T) {
	lengths := randomLengths(64 * 64 * 4)
	spread := 0
	batches := mustBatches(t, lengths, 64, 2).Epoch(0)
	for _, batch := range batches {
		low, high := lengths[batch[0]], lengths[batch[0]]
		for _, row := range batch {
			low, high = min(low, lengths[row]), max(high, lengths[row])
		}
		spread += int(high - low)
	}
	// A batch covers a 64th of its pool's range, which is 1,500 wide.
	if mean := spread / len(batches); mean > 40 {
		t.Errorf("lengths within a batch differ by %d on average, want at most 40", mean)
	}
	// The batches must not be sorted by length.
	rising := 0
	for i := range len(batches) - 1 {
		if lengths[batches[i][0]] < lengths[batches[i+1][0]] {
			rising++
		}
	}
	if rising < len(batches)/3 || rising > 2*len(batches)/3 {
		t.Errorf("%d of %d batches begin with a longer row than the previous batch, want about half", rising,
			len(batches))
	}
}

func TestBatchesAreAFunctionOfTheirArguments(t *testing.T) {
	lengths := randomLengths(5000)
	a, b := mustBatches(t, lengths, 32, 7), mustBatches(t, slices.Clone(lengths), 32, 7)
	b.Epoch(9) // earlier calls must not affect the result
	for _, epoch := range []uint32{0, 1, 0} {
		if !reflect.DeepEqual(a.Epoch(epoch), b.Epoch(epoch)) {
			t.Errorf("epoch %d: got other batches after other calls of Epoch, want the same batches", epoch)
		}
	}
	first := slices.Clone(a.Epoch(0))
	if reflect.DeepEqual(first, a.Epoch(1)) || reflect.DeepEqual(first, mustBatches(t, lengths, 32, 8).Epoch(0)) {
		t.Error("another epoch or seed has the same order")
	}
	p := Position{}
	for range a.PerEpoch() {
		if !slices.Equal(a.At(p), first[p.Batch]) {
			t.Fatalf("At(%v) differs from the batch of Epoch", p)
		}
		p = a.Next(p)
	}
	if p != (Position{Epoch: 1}) {
		t.Errorf("position %v after an epoch, want batch 0 of epoch 1", p)
	}
}

// TestGoldenOrder checks that the order never changes, because another order would change every
// resumed training run.
func TestGoldenOrder(t *testing.T) {
	lengths := []int32{5, 3, 8, 8, 1, 9, 2, 7, 7, 4, 6, 6, 3}
	b := mustBatches(t, lengths, 3, 0x123456789abcdef0)
	if got := fmt.Sprint(b.Epoch(0), b.Epoch(1)); got != goldenOrder {
		t.Errorf("order\n%s, want\n%s", got, goldenOrder)
	}
}

const goldenOrder = "[[7 2 3] [4 6 1] [5] [11 10 8] [12 9 0]] [[8 2 3] [5] [10 11 7] [1 9 0] [4 6 12]]"

func TestBatchesRefuse(t *testing.T) {
	must.Fail(t, "", "no rows")(NewBatches(nil, 1, 0))
	must.Fail(t, "", "size 0")(NewBatches([]int32{1}, 0, 0))
}

func TestSequential(t *testing.T) {
	const want = "[[0 1] [2 3] [4]] []"
	if got := fmt.Sprint(Sequential(5, 2), Sequential(0, 2)); got != want {
		t.Errorf("Sequential(5, 2), Sequential(0, 2) = %s, want %s", got, want)
	}
}

func BenchmarkEpoch(b *testing.B) {
	batches := mustBatches(b, randomLengths(96000), 64, 1)
	for i := range b.N {
		batches.arrange(uint32(i))
	}
}
