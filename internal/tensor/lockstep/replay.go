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
// If two scores differ by less than the rounding error of a device, two devices may sample different
// tokens, and their results then differ by more than rounding. With replayed choices only rounding
// differences remain.
type Choices struct {
	mu    sync.Mutex
	list  []choice
	next  int
	flips []Flip
}

// choice is a Choice with the words of the sampler's result tensors.
type choice struct {
	*Choice
	words [3][]uint32
}

// resultTensors returns the outputs of a sampler that hold its choice.
func resultTensors(k tensor.Sample) [3]*tensor.Tensor {
	return [3]*tensor.Tensor{k.Top, k.Partner, k.Count}
}

// Record returns a device that runs one program at a time and appends its choices to c.
func (c *Choices) Record(d tensor.Device) tensor.Device {
	return &splitDevice{d, func(p *tensor.Program, k tensor.Sample, mem tensor.Binding) error {
		chosen, err := readChoice(p, k, mem)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.list = append(c.list, chosen)
		return err
	}}
}

// Give returns a device that runs one program at a time and replays the choices of c in order,
// starting again after the last choice. It must run the programs from which the choices were
// recorded, in the same order.
func (c *Choices) Give(d tensor.Device) tensor.Device {
	c.next, c.flips = 0, nil
	return &splitDevice{d, c.replay}
}

// Flips returns the sequences for which the replaying device itself chose different tokens.
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

func (c *Choices) replay(p *tensor.Program, k tensor.Sample, mem tensor.Binding) error {
	chosen, err := readChoice(p, k, mem)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.list) == 0 {
		return errors.New("no choices to replay")
	}
	recorded := c.list[c.next%len(c.list)]
	c.next++
	for i, t := range resultTensors(k) {
		if len(recorded.words[i]) != t.Words() {
			return fmt.Errorf("replaying choices: %v has %d words, expected the %d recorded words", t, t.Words(),
				len(recorded.words[i]))
		}
		if err := tensor.Upload(mem[t.Region], t, recorded.words[i]); err != nil {
			return err
		}
	}
	c.flips = append(c.flips, recorded.Flips(chosen.Choice)...)
	return nil
}

func readChoice(p *tensor.Program, k tensor.Sample, mem tensor.Binding) (c choice, err error) {
	if c.Choice, err = ReadChoice(p, k, mem); err != nil {
		return c, err
	}
	for i, t := range resultTensors(k) {
		c.words[i] = make([]uint32, t.Words())
		if err := tensor.Download(mem[t.Region], t, c.words[i]); err != nil {
			return c, err
		}
	}
	return c, nil
}

// splitDevice splits programs so that a segment ends after each sampler.
type splitDevice struct {
	tensor.Device
	visit visit
}

type visit func(p *tensor.Program, k tensor.Sample, mem tensor.Binding) error

// Slots returns 1, because concurrent runs would mix the order of choices.
func (*splitDevice) Slots() int { return 1 }

// Unwrap returns the device that computes the results.
func (d *splitDevice) Unwrap() tensor.Device { return d.Device }

// splitExecutable is a program with additional segment ends after each sampler.
type splitExecutable struct {
	tensor.Executable
	program *tensor.Program // program with the additional segments
	first   []int           // first new segment of each original segment, followed by the number of new segments
	visit   visit
}

func (d *splitDevice) Prepare(p *tensor.Program) (tensor.Executable, error) {
	split := *p
	split.Segments = nil
	x := &splitExecutable{program: &split, visit: d.visit}
	for _, s := range p.Segments {
		x.first = append(x.first, len(split.Segments))
		from := s.From
		for i := s.From; i < s.To; i++ {
			if _, ok := p.Launches[i].(tensor.Sample); ok || i == s.To-1 {
				split.Segments = append(split.Segments, tensor.Segment{Name: s.Name, From: from, To: i + 1})
				from = i + 1
			}
		}
	}
	x.first = append(x.first, len(split.Segments))
	var err error
	x.Executable, err = d.Device.Prepare(&split)
	return x, err
}

func (x *splitExecutable) Run(ctx context.Context, mem tensor.Binding, from, to int) error {
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

// Inspect runs segments like Run, but neither records nor replays choices.
func (x *splitExecutable) Inspect(ctx context.Context, mem tensor.Binding, from, to int,
	visit func(tensor.Kernel) error) error {
	return x.Executable.Inspect(ctx, mem, x.first[from], x.first[to], visit)
}
