// Package lockstep runs every launch on two devices and names the first that
// differs.
//
// Both begin each launch with the same memory: what it wrote is compared, then
// the second device goes on with the first's values. So a difference is that of
// one launch, not what has grown over many, and what a program computes is the
// first device's result to the bit.
package lockstep

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/sftseq/sftseq/internal/tensor"
)

// Device is two devices that do the same.
type Device struct {
	first, second tensor.Device

	mu    sync.Mutex
	flips []Flip
	worst map[string]float64
}

// New returns a device whose results are those of first, compared with second.
// Closing it closes both.
func New(first, second tensor.Device) *Device {
	return &Device{first: first, second: second, worst: map[string]float64{}}
}

// Flips are the choices of tokens that rounding decided so far.
func (d *Device) Flips() []Flip {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.flips)
}

// Worst is the largest difference so far of each kernel that ran, as a fraction
// of what is tolerated.
func (d *Device) Worst() map[string]float64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.worst)
}

// Name describes both devices.
func (d *Device) Name() string { return d.first.Name() + " beside " + d.second.Name() }

// Kernels is the first device's: the bits are.
func (d *Device) Kernels() string { return d.first.Kernels() }

// Slots is one, so that the first launch that differs is the first in time.
func (d *Device) Slots() int { return 1 }

// Unwrap returns the first device, whose results these are.
func (d *Device) Unwrap() tensor.Device { return d.first }

// Close frees both devices.
func (d *Device) Close() error { return errors.Join(d.first.Close(), d.second.Close()) }

// memory is the same words on both devices.
type memory struct{ first, second tensor.Memory }

// Allocate returns zeroed memory on both.
func (d *Device) Allocate(words int) (tensor.Memory, error) {
	first, err := d.first.Allocate(words)
	if err != nil {
		return nil, err
	}
	second, err := d.second.Allocate(words)
	if err != nil {
		first.Free()
		return nil, err
	}
	return memory{first, second}, nil
}

func (m memory) Words() int { return m.first.Words() }

func (m memory) Write(offset int, words []uint32) error {
	return errors.Join(m.first.Write(offset, words), m.second.Write(offset, words))
}

func (m memory) Read(offset int, words []uint32) error { return m.first.Read(offset, words) }

func (m memory) Free() {
	m.first.Free()
	m.second.Free()
}

// executable is a program on both devices, cut into a segment for each launch.
type executable struct {
	device        *Device
	program       *tensor.Program
	first, second tensor.Executable
}

// Prepare makes the program ready on both.
func (d *Device) Prepare(p *tensor.Program) (tensor.Executable, error) {
	steps := *p
	steps.Segments = nil
	for i, k := range p.Launches {
		steps.Segments = append(steps.Segments, tensor.Segment{Name: tensor.Name(k), From: i, To: i + 1})
	}
	x := &executable{device: d, program: p}
	var err error
	if x.first, err = d.first.Prepare(&steps); err != nil {
		return nil, err
	}
	x.second, err = d.second.Prepare(&steps)
	return x, err
}

// Run runs segments; its error is a [*Difference] if the devices differ.
func (x *executable) Run(ctx context.Context, mem tensor.Binding, from, to int) error {
	return x.Inspect(ctx, mem, from, to, func(tensor.Kernel) error { return nil })
}

// Inspect is Run that shows each launch to visit.
func (x *executable) Inspect(ctx context.Context, mem tensor.Binding, from, to int,
	visit func(tensor.Kernel) error) error {
	var first, second tensor.Binding
	for s, m := range mem {
		if m != nil {
			first[s], second[s] = m.(memory).first, m.(memory).second
		}
	}
	for _, s := range x.program.Segments[from:to] {
		for i := s.From; i < s.To; i++ {
			if err := x.first.Run(ctx, first, i, i+1); err != nil {
				return err
			}
			if err := x.second.Run(ctx, second, i, i+1); err != nil {
				return err
			}
			if err := x.compare(s.Name, i, first, second); err != nil {
				return err
			}
			if err := visit(x.program.Launches[i]); err != nil {
				return err
			}
		}
	}
	return nil
}
