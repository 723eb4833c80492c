package lockstep

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/sftseq/sftseq/internal/tensor"
)

// Choices holds the tokens that samplers chose, in the order of their launches, to replay them on
// another device. The zero value is empty.
//
// If two scores differ by less than the error of a device or precision, two devices sample
// different tokens, and their results differ by more than rounding. With replayed choices only
// rounding differences remain.
type Choices struct {
	mu    sync.Mutex
	list  []choice
	next  int
	flips []Flip
}

// choice holds the words of a sampler's result tensors.
type choice struct {
	*Choice
	words [3][]uint32
}

func tensors(k tensor.Sample) [3]*tensor.Tensor {
	return [3]*tensor.Tensor{k.Top, k.Partner, k.Count}
}

// Record returns a device that runs one program at a time and appends its choices to c.
func (c *Choices) Record(d tensor.Device) tensor.Device {
	return &choosingDevice{d, func(p *tensor.Program, k tensor.Sample, mem tensor.Binding) error {
		made, err := read(p, k, mem)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.list = append(c.list, made)
		return err
	}}
}

// Give returns a device that runs one program at a time and replays the choices of c in order,
// starting again after the last choice. It must run the programs from which the choices were
// recorded.
func (c *Choices) Give(d tensor.Device) tensor.Device {
	c.next, c.flips = 0, nil
	return &choosingDevice{d, c.give}
}

// Flips returns the sequences for which the device itself would have chosen different tokens.
func (c *Choices) Flips() []Flip {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.flips)
}

// Len returns the number of recorded sampler launches.
func (c *Choices) Len() int { return len(c.list) }

// Equal reports whether two devices chose the same tokens.
func (c *Choices) Equal(other *Choices) bool {
	return slices.EqualFunc(c.list, other.list, func(a, b choice) bool { return len(a.Flips(b.Choice)) == 0 })
}

func (c *Choices) give(p *tensor.Program, k tensor.Sample, mem tensor.Binding) error {
	made, err := read(p, k, mem)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.list) == 0 {
		return errors.New("no choices to give")
	}
	given := c.list[c.next%len(c.list)]
	c.next++
	for i, t := range tensors(k) {
		if len(given.words[i]) != t.Words() {
			return fmt.Errorf("%v cannot hold the %d words it is given", t, len(given.words[i]))
		}
		if err := tensor.Upload(mem[t.Region], t, given.words[i]); err != nil {
			return err
		}
	}
	c.flips = append(c.flips, given.Flips(made.Choice)...)
	return nil
}

func read(p *tensor.Program, k tensor.Sample, mem tensor.Binding) (c choice, err error) {
	if c.Choice, err = ReadChoice(p, k, mem); err != nil {
		return c, err
	}
	for i, t := range tensors(k) {
		c.words[i] = make([]uint32, t.Words())
		if err := tensor.Download(mem[t.Region], t, c.words[i]); err != nil {
			return c, err
		}
	}
	return c, nil
}

// choosingDevice splits programs so that a segment ends after each sampler.
type choosingDevice struct {
	tensor.Device
	visit visit
}

type visit func(p *tensor.Program, k tensor.Sample, mem tensor.Binding) error

// Slots returns 1, so that the order of choices is unique.
func (*choosingDevice) Slots() int { return 1 }

// Unwrap returns the device that computes the results.
func (d *choosingDevice) Unwrap() tensor.Device { return d.Device }

// choosingExecutable is a program with additional segment ends after each sampler.
type choosingExecutable struct {
	tensor.Executable
	program *tensor.Program // program with the additional segments
	first   []int           // first new segment of each original segment, and the number of new segments
	visit   visit
}

func (d *choosingDevice) Prepare(p *tensor.Program) (tensor.Executable, error) {
	cut := *p
	cut.Segments = nil
	x := &choosingExecutable{program: &cut, visit: d.visit}
	for _, s := range p.Segments {
		x.first = append(x.first, len(cut.Segments))
		from := s.From
		for i := s.From; i < s.To; i++ {
			if _, ok := p.Launches[i].(tensor.Sample); ok || i == s.To-1 {
				cut.Segments = append(cut.Segments, tensor.Segment{Name: s.Name, From: from, To: i + 1})
				from = i + 1
			}
		}
	}
	x.first = append(x.first, len(cut.Segments))
	var err error
	x.Executable, err = d.Device.Prepare(&cut)
	return x, err
}

func (x *choosingExecutable) Run(ctx context.Context, mem tensor.Binding, from, to int) error {
	for s := x.first[from]; s < x.first[to]; s++ {
		if err := x.Executable.Run(ctx, mem, s, s+1); err != nil {
			return err
		}
		if k, ok := x.program.Launches[x.program.Segments[s].To-1].(tensor.Sample); ok {
			if err := x.visit(x.program, k, mem); err != nil {
				return err
			}
		}
	}
	return nil
}

// Inspect runs segments like Run, but with the device's own choices instead of replayed choices.
func (x *choosingExecutable) Inspect(ctx context.Context, mem tensor.Binding, from, to int,
	visit func(tensor.Kernel) error) error {
	return x.Executable.Inspect(ctx, mem, x.first[from], x.first[to], visit)
}
