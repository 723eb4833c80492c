package sinusoid

import (
	"math"
	"testing"
)

// TestCos checks the range, the symmetry and the error of Cos, for a grid of turns and all turns
// near the quarters.
func TestCos(t *testing.T) {
	worst := 0.0
	check := func(turn uint32) {
		got := Cos(turn)
		want := math.Cos(2 * math.Pi * float64(turn) / (1 << 32))
		worst = math.Max(worst, math.Abs(float64(got)-want))
		if got > 1 || got < -1 {
			t.Fatalf("Cos(%d) = %v, want a value in [−1, 1]", turn, got)
		}
		if mirrored := Cos(-turn); mirrored != got {
			t.Fatalf("Cos(−%d) = %v, want Cos(%d) = %v", turn, mirrored, turn, got)
		}
	}
	for turn := uint64(0); turn < 1<<32; turn += 1021 {
		check(uint32(turn))
	}
	for near := range uint32(2000) {
		for _, quarter := range []uint32{0, 1 << 30, 1 << 31, 3 << 30} {
			check(quarter + near - 1000)
		}
	}
	t.Logf("worst error %.3g", worst)
	if !(worst < 1.3e-7) {
		t.Errorf("error %.3g, want below 1.3e-7", worst)
	}
}

func TestCosAtQuarters(t *testing.T) {
	for turn, want := range map[uint32]float32{0: 1, 1 << 30: 0, 1 << 31: -1, 3 << 30: 0} {
		if got := Cos(turn); got != want {
			t.Errorf("Cos(%d) = %v, want %v", turn, got, want)
		}
	}
}

func BenchmarkCos(b *testing.B) {
	var sum float32
	for i := range b.N {
		sum += Cos(uint32(i) * 0x9E3779B9)
	}
	sink = sum
}

var sink float32
