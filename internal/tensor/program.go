package tensor

import (
	"fmt"
	"reflect"
	"strings"
)

// Kernel is one launch: a struct of named operands and parameters. Its fields determine [Reads],
// [Writes] and the shapes. The name of its type determines [Name].
type Kernel any

// Name returns the kernel's name, as used in all packages, for instance "linear_backward".
func Name(k Kernel) string {
	name, backward := strings.CutSuffix(strings.ToLower(reflect.TypeOf(k).Name()), "backward")
	if backward {
		name += "_backward"
	}
	return name
}

// Segment is a part of a program, such as one layer. A run can be cancelled between segments.
type Segment struct {
	Name     string
	From, To int // index of the first launch, and of the launch after the last
}

// Program is a list of launches, divided into segments, over tensors in an arena.
type Program struct {
	Launches []Kernel
	Segments []Segment
	// Counts is the input with the numbers of rows in use: see [Counts].
	Counts *Tensor

	arena  []*Tensor
	words  [Regions]int
	closed bool
}

// NewProgram returns an empty program.
func NewProgram() *Program { return &Program{} }

// Temp declares an activation. Its memory in the arena is valid from the first to the last launch
// that touches it.
func (p *Program) Temp(name string, rows Axis, shape ...int) *Tensor {
	t := &Tensor{Name: name, Shape: shape, Rows: rows, Region: Arena, first: -1}
	p.arena = append(p.arena, t)
	return t
}

// TempInts declares an activation of integers.
func (p *Program) TempInts(name string, rows Axis, shape ...int) *Tensor {
	t := p.Temp(name, rows, shape...)
	t.Int = true
	return t
}

// Input declares a tensor that is filled for each batch.
func (p *Program) Input(name string, rows Axis, shape ...int) *Tensor {
	t := &Tensor{Name: name, Shape: shape, Rows: rows, Region: Inputs, Offset: p.words[Inputs]}
	p.words[Inputs] += align(t.Words())
	return t
}

// Keep makes t an output, which stays valid until the end of the program.
func (p *Program) Keep(t *Tensor) { t.kept = true }

// Kept returns the outputs of a finished program. It omits outputs that no kernel writes.
func (p *Program) Kept() []*Tensor {
	var out []*Tensor
	for _, t := range p.arena {
		if t.kept && t.first >= 0 {
			out = append(out, t)
		}
	}
	return out
}

// Segment starts a new segment.
func (p *Program) Segment(name string) {
	p.endSegment()
	p.Segments = append(p.Segments, Segment{Name: name, From: len(p.Launches)})
}

func (p *Program) endSegment() {
	if n := len(p.Segments); n > 0 {
		p.Segments[n-1].To = len(p.Launches)
	}
}

// SegmentIndex returns the index of the first segment with the given name. It panics if there is none.
func (p *Program) SegmentIndex(name string) int {
	for i, s := range p.Segments {
		if s.Name == name {
			return i
		}
	}
	panic(fmt.Sprintf("tensor: no segment %q", name))
}

// Launch appends a kernel to the current segment. It panics without a segment, after Finish, if the
// kernel reads an unwritten activation, or if its operands do not match each other or its parameters.
func (p *Program) Launch(k Kernel) {
	if p.closed || len(p.Segments) == 0 {
		panic("tensor: launch outside a segment")
	}
	checkShapes(k)
	index := len(p.Launches)
	for _, t := range Reads(k) {
		if t.Region == Arena && t.first < 0 {
			panic(fmt.Sprintf("tensor: %s reads %v, which nothing has written", Name(k), t))
		}
		t.last = index
	}
	for _, t := range Writes(k) {
		if t.Region == Arena && t.first < 0 {
			t.first = index
		}
		t.last = index
	}
	p.Launches = append(p.Launches, k)
}

// Finish ends the recording, places the activations in the arena and returns the program.
func (p *Program) Finish() *Program {
	p.endSegment()
	p.closed = true
	for _, s := range p.Segments {
		for _, t := range p.arena {
			t.extendLifetime(s.From, s.To-1)
		}
	}
	p.words[Arena] = place(p.arena, len(p.Launches))
	return p
}

// Words returns the number of words that the program needs in a region.
func (p *Program) Words(s Region) int { return p.words[s] }

// Bytes returns the memory of one run in bytes: the arena and the inputs.
func (p *Program) Bytes() int64 {
	const wordBytes = 4
	return wordBytes * int64(p.words[Arena]+p.words[Inputs])
}

// Counts holds a batch's numbers of rows in use.
type Counts struct {
	Tokens, Sequences, Sampled, Examples, Targets, Pooled int32
	// Longest is the length of the longest sequence.
	Longest int32
}

// Words returns the counts in the layout of a program's input Counts.
func (c Counts) Words() []int32 {
	return []int32{0, c.Tokens, c.Sequences, c.Sampled, c.Examples, c.Targets, c.Pooled, c.Longest}
}

// CountWords is the number of words of a program's input Counts.
const CountWords = int(axes) + 1

// CountLongest is the index of Counts.Longest in the input Counts, after the counts of the axes.
const CountLongest = int(axes)
