// Package lockstep runs every launch on two devices and reports the first launch whose results
// differ.
//
// Both devices begin each launch with the same memory. After the launch the results are compared,
// and the second device continues with the first device's results. A difference therefore comes
// from a single launch, and the results of a program are bitwise equal to the first device's.
package lockstep

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/sftseq/sftseq/internal/tensor"
)

// Device runs the same programs on two devices.
type Device struct {
	first, second tensor.Device

	mu    sync.Mutex
	flips []Flip
	worst map[string]float64
}

// New returns a device that runs each program on both devices. It compares their results and keeps
// the results of the first device. Closing it closes both devices.
func New(first, second tensor.Device) *Device {
	return &Device{first: first, second: second, worst: map[string]float64{}}
}

// Flips returns the sequences for which the devices have chosen different tokens because of rounding.
func (d *Device) Flips() []Flip {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.flips)
}

// Worst returns, for each kernel, the largest difference so far as a fraction of the tolerance.
// Launches that failed with a [*Difference] do not count.
func (d *Device) Worst() map[string]float64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.worst)
}

// Name returns the names of both devices.
func (d *Device) Name() string { return d.first.Name() + " beside " + d.second.Name() }

// Kernels returns the name of the first device's kernels, because these compute the results.
func (d *Device) Kernels() string { return d.first.Kernels() }

// Slots returns 1, so that launches are compared in the order of the program.
func (d *Device) Slots() int { return 1 }

// Unwrap returns the first device, which computes the results.
func (d *Device) Unwrap() tensor.Device { return d.first }

// Close frees both devices.
func (d *Device) Close() error { return errors.Join(d.first.Close(), d.second.Close()) }

// memory holds the same words on both devices.
type memory struct{ first, second tensor.Memory }

// Allocate returns zeroed memory on both devices.
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

// executable is a program on both devices, with a segment for each launch.
type executable struct {
	device        *Device
	program       *tensor.Program
	first, second tensor.Executable
}

// Prepare prepares the program on both devices.
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

// Run runs segments. It returns a [*Difference] if the devices differ by more than rounding errors.
func (x *executable) Run(ctx context.Context, mem tensor.Binding, from, to int) error {
	return x.Inspect(ctx, mem, from, to, func(tensor.Kernel) error { return nil })
}

// Inspect runs segments like Run and calls visit after each launch.
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
