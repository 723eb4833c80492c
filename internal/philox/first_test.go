package philox

import "testing"

// TestFirstWords checks that FirstWords computes the first word of each draw.
func TestFirstWords(t *testing.T) {
	const seed = 0x0123456789abcdef
	counter := [4]uint32{9, 0x80000203, 0xfedcba98, 77}
	e := []int32{0, 1, 2, 3, 1 << 20, 5, -1, 1 << 30, 123456789}
	for n := range len(e) + 1 {
		dst := make([]uint32, n)
		FirstWords(dst, seed, counter, e)
		for i, got := range dst {
			counter[0] = uint32(e[i])
			if want := Words(seed, counter)[0]; got != want {
				t.Errorf("draw %d: got %#x, want %#x", e[i], got, want)
			}
		}
	}
}

func BenchmarkFirst(b *testing.B) {
	dst, e := make([]uint32, 256), make([]int32, 256)
	for i := range e {
		e[i] = int32(i)
	}
	for b.Loop() {
		FirstWords(dst, 1, [4]uint32{0, 2, 3, 4}, e)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(e)), "ns/draw")
}
