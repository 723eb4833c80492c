//go:build cgo

package vk

import (
	"math"

	"github.com/sftseq/sftseq/internal/tensor"
)

const (
	measuredRuns  = 5
	measuredBytes = 1 << 30 // maximum number of bytes copied
)

// MeasureCopy returns the bandwidth of the device's memory: bytes read plus bytes written per
// second, in the fastest of several large copies.
func (d *gpu) MeasureCopy() (bytesPerSecond float64, err error) {
	bytes := min(measuredBytes, d.physical.info.Memory/16, d.limits.maxRange)
	words := int(bytes / 4)
	x, y := tensor.At(tensor.Arena, 0, "x", words), tensor.At(tensor.Inputs, 0, "y", words)
	seconds, err := d.fastest(measuredRuns, words, words, func(r *recorder) {
		r.dispatch(dispatch{shader: "copy", push: []uint32{uint32(words)}, groups: blocks(words, 1024),
			operands: []operand{write(y), read(x)}})
	})
	return 8 * float64(words) / seconds, err
}

// MeasureProducts returns the rate of float32 multiply-adds in operations per second, where a
// multiply-add counts as two. It is an upper bound for the rate of products in float32.
func (d *gpu) MeasureProducts() (flops float64, err error) {
	groups := 1 << 14
	if d.physical.info.Kind == "cpu" {
		groups = 1 << 5
	}
	y := tensor.At(tensor.Arena, 0, "y", 256*groups)
	iterations, seconds, err := calibrateIterations(func(iterations int) (float64, error) {
		return d.fastest(measuredRuns, 256*groups, 0, func(r *recorder) {
			r.dispatch(dispatch{shader: "peak", push: []uint32{uint32(iterations), math.Float32bits(0.999)},
				groups:   groups,
				operands: []operand{write(y)}})
		})
	})
	return 32 * float64(iterations) * 256 * float64(groups) / seconds, err
}

// calibrateIterations increases the number of iterations until a dispatch takes long enough to be
// timed, or until the number is maxIterations. It begins with few iterations, so that no dispatch takes
// seconds on a slow device.
func calibrateIterations(measure func(iterations int) (seconds float64, err error)) (iterations int, seconds float64,
	err error) {
	const targetSeconds, maxIterations = 0.05, 1 << 17
	for iterations = 16; ; {
		if seconds, err = measure(iterations); err != nil || seconds > targetSeconds/2 || iterations >= maxIterations {
			return iterations, seconds, err
		}
		iterations = min(maxIterations, int(float64(iterations)*min(64, targetSeconds/seconds)))
	}
}

// fastest runs a step repeatedly and returns the shortest time in seconds. The step may use the
// given numbers of words in the arena and the inputs.
func (d *gpu) fastest(runs, arena, inputs int, step func(r *recorder)) (float64, error) {
	if err := d.checkOpen(); err != nil {
		return 0, err
	}
	r := &recorder{device: d, program: tensor.NewProgram()}
	if step(r); r.err != nil {
		return 0, r.err
	}
	var mem tensor.Binding
	for region, words := range map[tensor.Region]int{tensor.Arena: arena, tensor.Inputs: inputs} {
		m, err := d.Allocate(words)
		if err != nil {
			return 0, err
		}
		defer m.Free()
		mem[region] = m
	}
	x := &executable{device: d, program: r.program, steps: r.steps}
	b, err := x.bind(mem)
	if err != nil {
		return 0, err
	}
	defer b.free()
	w, err := d.newStopwatch(r.steps)
	defer w.free()
	if err != nil {
		return 0, err
	}
	c, err := d.newCommands()
	if err != nil {
		return 0, err
	}
	defer c.free()
	if err := c.record(b.steps, w.queries); err != nil {
		return 0, err
	}
	if _, err := d.transfers.flush(); err != nil {
		return 0, err
	}
	best := math.Inf(1)
	for range runs {
		if err := c.submit(0, 0, 0); err != nil {
			return 0, err
		}
		if err := c.wait(); err != nil {
			return 0, err
		}
		seconds, err := w.seconds()
		if err != nil {
			return 0, err
		}
		best = min(best, seconds[0])
	}
	return best, nil
}
