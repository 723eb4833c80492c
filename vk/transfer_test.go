//go:build cgo

package vk

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// TestTransfers writes and reads random ranges and compares them with a copy in host memory. The ranges
// have arbitrary offsets and sizes, overlap, and may exceed a staging buffer.
func TestTransfers(t *testing.T) {
	d := open(t, Options{}, underRace)
	const words = 3*stagingBytes/4 + 77
	m := must.Get(d.Allocate(words))(t)
	defer m.Free()
	want := make([]uint32, words)
	random := rand.New(rand.NewPCG(5, 6))
	randomRange := func() (at, n int) {
		n = 1 + random.IntN(1<<random.IntN(12))
		switch random.IntN(20) {
		case 0:
			n = words // read or write all words
		case 1:
			n = stagingBytes/4 + random.IntN(5) - 2
		}
		return random.IntN(words - n + 1), n
	}
	check := func() {
		t.Helper()
		at, n := randomRange()
		got := make([]uint32, n)
		must.Succeed(t, m.Read(at, got))
		if !slices.Equal(got, want[at:at+n]) {
			t.Fatalf("words %d … %d differ from the written words", at, at+n-1)
		}
	}
	check() // new memory is zero
	for i := range 120 {
		at, n := randomRange()
		x := make([]uint32, n)
		for j := range x {
			x[j] = random.Uint32()
		}
		must.Succeed(t, m.Write(at, x))
		copy(want[at:], x)
		if i%6 == 0 {
			check()
		}
	}
	got := make([]uint32, words)
	must.Succeed(t, m.Read(0, got))
	if !slices.Equal(got, want) {
		t.Error("the content differs from the written words")
	}
	for _, c := range [][2]int{{-1, 1}, {words, 1}, {words - 1, 2}, {0, words + 1}} {
		if m.Write(c[0], make([]uint32, c[1])) == nil || m.Read(c[0], make([]uint32, c[1])) == nil {
			t.Errorf("writing or reading %d words at %d succeeded, want an error", c[1], c[0])
		}
	}
}

// TestManySmallWrites checks that the number of pending copies is bounded. It also checks that
// memory may be reused immediately if it is freed before a pending copy to it is submitted.
func TestManySmallWrites(t *testing.T) {
	d := open(t, Options{}, underRace)
	for i := range 3 * stagingSteps {
		m := must.Get(d.Allocate(7))(t)
		must.Succeed(t, m.Write(3, []uint32{uint32(i)}))
		if n := len(d.transfers.stages[d.transfers.current].steps); n > stagingSteps {
			t.Fatalf("%d copies are pending, want at most %d", n, stagingSteps)
		}
		if i%500 == 0 {
			var got [7]uint32
			if err := m.Read(0, got[:]); err != nil || got != [7]uint32{3: uint32(i)} {
				t.Fatalf("write %d: read %v, error %v; want %d at index 3, otherwise 0, error <nil>", i, got, err, i)
			}
		}
		m.Free()
	}
}

// TestWriters checks that several goroutines may write and read separate allocations concurrently.
func TestWriters(t *testing.T) {
	d := open(t, Options{}, underRace)
	const words = stagingBytes/4/3 + 5
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			m, err := d.Allocate(words)
			if err != nil {
				t.Error(err)
				return
			}
			defer m.Free()
			x, got := make([]uint32, words), make([]uint32, words)
			for round := range 4 {
				for i := range x {
					x[i] = uint32(w<<28 + round<<24 + i)
				}
				at := w + 3*round
				must.Check(t, m.Write(at, x[at:]))
				if err := m.Read(at, got[at:]); err != nil || !slices.Equal(got[at:], x[at:]) {
					t.Errorf("writer %d, round %d: read differs from the written words; error %v", w, round, err)
				}
			}
		})
	}
	wg.Wait()
}
