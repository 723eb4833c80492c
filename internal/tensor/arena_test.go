package tensor

import (
	"math/rand/v2"
	"testing"
)

// touch is a kernel without a computation. Each operand may be nil.
type touch struct {
	A, B *Tensor
	C, D *Tensor `op:"write"`
}

func (touch) check() {}

// newTouch returns a kernel that reads up to two tensors and writes up to two tensors.
func newTouch(reads, writes []*Tensor) touch {
	pair := func(ts []*Tensor) (a, b *Tensor) {
		ts = append(ts[:len(ts):len(ts)], nil, nil)
		return ts[0], ts[1]
	}
	var k touch
	k.A, k.B = pair(reads)
	k.C, k.D = pair(writes)
	return k
}

// lifetime holds the indices of the first and the last launch that touch a tensor.
type lifetime struct{ first, last int }

// randomProgram returns a program of launches over tensors of random sizes, and the tensors'
// lifetimes.
func randomProgram(random *rand.Rand) (*Program, map[*Tensor]*lifetime) {
	p, lifetimes := NewProgram(), map[*Tensor]*lifetime{}
	p.Segment("only")
	var written []*Tensor
	n := 1 + random.IntN(40)
	for launch := range n {
		var reads, writes []*Tensor
		for range random.IntN(3) {
			if len(written) > 0 {
				reads = append(reads, written[random.IntN(len(written))])
			}
		}
		for range 1 + random.IntN(2) {
			t := p.Temp("t", Fixed, 1+random.IntN(300), 1+random.IntN(5))
			if len(written) > 0 && random.IntN(4) == 0 {
				t = written[random.IntN(len(written))] // write to an already written tensor
			}
			writes = append(writes, t)
			written = append(written, t)
		}
		p.Launch(newTouch(reads, writes))
		for _, t := range append(reads, writes...) {
			if lifetimes[t] == nil {
				lifetimes[t] = &lifetime{launch, launch}
			}
			lifetimes[t].last = launch
		}
	}
	for t, l := range lifetimes {
		if random.IntN(10) == 0 {
			p.Keep(t)
			l.last = n
		}
	}
	return p.Finish(), lifetimes
}

// TestNarrowTensorsLieApart checks that a tensor with one word per row does not share memory with
// wide tensors of the same segment, not even with dead ones.
func TestNarrowTensorsLieApart(t *testing.T) {
	p := NewProgram()
	p.Segment("only")
	wide, other, narrow := p.Temp("wide", Tokens, 100, 8), p.Temp("other", Tokens, 100, 8),
		p.Temp("narrow", Tokens, 100, 1)
	p.Launch(touch{C: wide})
	p.Launch(touch{A: wide, C: other})
	p.Launch(touch{A: other, C: narrow})
	p.Finish()
	for _, w := range []*Tensor{wide, other} {
		if narrow.Offset < w.Offset+w.Words() && w.Offset < narrow.Offset+narrow.Words() {
			t.Errorf("got %v at offset %d with %d words, %v at offset %d with %d words, want no shared memory", narrow,
				narrow.Offset, narrow.Words(), w, w.Offset, w.Words())
		}
	}
}

// TestArenaKeepsTensorsApart checks in random programs that tensors with overlapping lifetimes
// share no memory.
func TestArenaKeepsTensorsApart(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	shared := 0
	for range 300 {
		p, lifetimes := randomProgram(random)
		for a, la := range lifetimes {
			if a.Offset%alignment != 0 || a.Offset < 0 || a.Offset+a.Words() > p.Words(Arena) {
				t.Fatalf("%v has offset %d in an arena of %d words, want a multiple of %d within the arena", a,
					a.Offset, p.Words(Arena), alignment)
			}
			for b, lb := range lifetimes {
				if a == b || a.Offset+a.Words() <= b.Offset || b.Offset+b.Words() <= a.Offset {
					continue
				}
				shared++
				if la.first <= lb.last && lb.first <= la.last {
					t.Fatalf("%v at %d (launches %d to %d) and %v at %d (launches %d to %d) share memory",
						a, a.Offset, la.first, la.last, b, b.Offset, lb.first, lb.last)
				}
			}
		}
	}
	if shared == 0 {
		t.Error("no two tensors share memory, want some")
	}
}

// TestArenaOfAChain checks that a chain of launches needs memory for only two tensors.
func TestArenaOfAChain(t *testing.T) {
	p := NewProgram()
	p.Segment("only")
	last := p.Temp("0", Fixed, 128)
	p.Launch(touch{C: last})
	for range 20 {
		next := p.Temp("next", Fixed, 128)
		p.Launch(touch{A: last, C: next})
		last = next
	}
	if got := p.Finish().Words(Arena); got != 256 {
		t.Errorf("got an arena of %d words, want 256", got)
	}
}

// TestUnusedTensorsTakeNoMemory checks that an activation that no launch touches gets no memory.
func TestUnusedTensorsTakeNoMemory(t *testing.T) {
	p := NewProgram()
	p.Temp("idle", Fixed, 1<<20)
	if got := p.Finish().Words(Arena); got != 0 {
		t.Errorf("got an arena of %d words, want 0", got)
	}
}
