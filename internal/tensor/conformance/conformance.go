// Package conformance is the test suite of devices. It compares each kernel, forward and backward,
// with a small and slow float64 reference. The sizes include odd numbers.
//
// The reference and the cases of a kernel are in a file with the name of the kernel's file in package
// tensor; the cases of attention are in a second file. The tests of this package compare the references'
// gradients with finite differences. They detect a mistake in a gradient even if the kernel and its
// reference share it. Memory is filled with NaN before a launch, so that a kernel which reads unused rows
// fails.
package conformance

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sftseq/sftseq/internal/tensor"
)

// Case is one launch with its data.
type Case struct {
	name  string
	shape shape
	build func(r *fixture) tensor.Kernel
}

// shape is the shape of the case's batch.
type shape struct {
	lengths []int
	k       int // capacity of sampled keys per sequence
}

// rows returns the shape of a batch of one sequence with n tokens, for kernels that ignore sequences.
func rows(n int) shape { return shape{lengths: []int{n}, k: n} }

// kernelCases holds the cases of the kernels in one file of package tensor, forward and backward.
type kernelCases struct {
	name  string // name of the file, without its extension
	cases func() []Case
}

// table holds the cases of all kernels.
var table []kernelCases

// register adds the cases of the kernels in the named file of package tensor to the table.
func register(name string, addCases func(add func(...Case))) {
	table = append(table, kernelCases{name, func() (cases []Case) {
		addCases(func(c ...Case) { cases = append(cases, c...) })
		return cases
	}})
}

// Result is the result of a case.
type Result struct {
	Kernel string  // name of the kernel that the case launches
	Case   string  // name of the case, which begins with the name of the kernel
	Worst  float64 // largest error of a result, as a fraction of the tolerance
	Errors []error
}

// Suite is an entry of the table, restricted to selected cases.
type Suite struct {
	Name  string
	Cases []Case
}

// Select returns the cases whose suite name or kernel name contains the filter, grouped by suite.
func Select(filter string) (selected []Suite) {
	for _, k := range table {
		cases := k.cases()
		if !strings.Contains(k.name, filter) {
			cases = slices.DeleteFunc(cases, func(c Case) bool { return !strings.Contains(c.kernel(), filter) })
		}
		if len(cases) > 0 {
			selected = append(selected, Suite{k.name, cases})
		}
	}
	return selected
}

// Kernels returns the names of the kernels that have cases.
func Kernels() (names []string) {
	for _, k := range table {
		for _, c := range k.cases() {
			if name := c.kernel(); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// kernel returns the name of the kernel that the case launches. It is the first word of the case's name.
func (c Case) kernel() string {
	name, _, _ := strings.Cut(c.name, " ")
	return name
}

// Check runs a suite on a device and passes each result to observe. It returns ctx's error if ctx
// ends.
func (s Suite) Check(ctx context.Context, device tensor.Device, observe func(Result)) error {
	for _, c := range s.Cases {
		r := c.check(ctx, device)
		if err := ctx.Err(); err != nil {
			return err
		}
		observe(r)
	}
	return nil
}

func (c Case) check(ctx context.Context, device tensor.Device) Result {
	r := newFixture(c)
	k := c.build(r)
	r.launch(k)
	result := Result{Kernel: tensor.Name(k), Case: c.name}
	if err := r.run(ctx, device); err != nil {
		result.Errors = []error{err}
		return result
	}
	result.Errors = r.errors()
	result.Worst = r.worst
	return result
}

// T is the part of *testing.T that [Run] needs. This package does not import package testing, because
// it is also part of the command sftseq.
type T[Sub any] interface {
	Run(name string, f func(Sub)) bool
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Logf(format string, args ...any)
}

// Run runs the cases that keep selects (nil selects all) on groups of devices, with a subtest for each
// suite and case. keep receives the names of the suite and of the case. The first device of a group is
// compared with the reference; the results of the other devices must be bitwise identical to the
// results of the first. All groups share the reference's results, because the reference is slower than
// most devices.
func Run[Test T[Test]](t Test, keep func(suite, name string) bool, groups ...[]tensor.Device) {
	for _, k := range table {
		t.Run(k.name, func(t Test) {
			for _, c := range k.cases() {
				if keep != nil && !keep(k.name, c.name) {
					continue
				}
				t.Run(c.name, func(t Test) {
					r := newFixture(c)
					r.launch(c.build(r))
					for _, devices := range groups {
						var first []uint32
						for i, device := range devices {
							if err := r.run(context.Background(), device); err != nil {
								t.Fatalf("%s: %v", device.Name(), err)
							}
							if i > 0 {
								if !slices.Equal(first, r.bits()) {
									t.Errorf("the results of %s and %s differ", devices[0].Name(), device.Name())
								}
								continue
							}
							first, r.worst = r.bits(), 0
							for _, err := range r.errors() {
								t.Errorf("%s: %v", device.Name(), err)
							}
							t.Logf("%s: %.2f of the tolerance", device.Name(), r.worst)
						}
					}
				})
			}
		})
	}
}

// run runs the launch and downloads the results. It returns an error if the launch changed memory
// outside of its outputs.
func (r *fixture) run(ctx context.Context, device tensor.Device) error {
	x, err := device.Prepare(r.program)
	if err != nil {
		return err
	}
	mem := tensor.Binding{}
	before := [tensor.Regions][]uint32{}
	for _, s := range []tensor.Region{tensor.Arena, tensor.Inputs, tensor.Gradients} {
		before[s] = r.fill(s)
		if mem[s], err = device.Allocate(len(before[s])); err != nil {
			return err
		}
		defer mem[s].Free()
		if err := mem[s].Write(0, before[s]); err != nil {
			return err
		}
	}
	if err := x.Run(ctx, mem, 0, 1); err != nil {
		return err
	}
	for s, words := range before {
		if words == nil {
			continue
		}
		after := make([]uint32, len(words))
		if err := mem[s].Read(0, after); err != nil {
			return err
		}
		r.collect(tensor.Region(s), after)
		for i, w := range after {
			if w != words[i] && !r.mayWrite(tensor.Region(s), i) {
				return fmt.Errorf("region %d: word %d was %#x and is %#x, outside of every output", s, i, words[i], w)
			}
		}
	}
	return nil
}
