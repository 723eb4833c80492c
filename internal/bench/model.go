package bench

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/train"
)

// The kinds of measurements of a model.
const (
	Forward = "forward" // the work of predict
	Train   = "train"   // a complete training step
)

// DefaultLength is the number of tokens of a row of the paper's model of ListOps.
const DefaultLength = 2048

// Workload is a model with fresh weights and a batch of random tokens, points or graphs.
type Workload struct {
	Config       *sft.Config
	Settings     train.Settings // settings of a training step; Batch is the number of examples
	Length       int            // tokens per example, of both sequences of a pair together
	EdgesPerNode int            // average number of edges into a node of a graph
	Device       tensor.Device
	Memory       int64 // memory limit of a training run in bytes
}

// seed is the seed of weights and examples.
const seed = 1

// Tokens returns the number of tokens of a batch.
func (w *Workload) Tokens() int { return w.Settings.Batch * w.Length }

// Prepare prepares forward or train: each run of the result does it once.
func (w *Workload) Prepare(what string) (Run, error) {
	if err := w.fits(what); err != nil {
		return nil, err
	}
	loaded, examples := sft.NewModel(w.Config, seed), w.Examples()
	switch what {
	case Forward:
		s, err := sft.NewScorer(loaded, w.Device)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) error {
			_, err := s.Examples(ctx, examples)
			return err
		}, nil
	case Train:
		s, err := train.NewStepper(loaded, w.Settings, w.Device, sft.PlannedTokens(w.Length, w.edges()), w.Memory)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) error {
			_, err := s.Step(ctx, examples)
			return err
		}, nil
	}
	return nil, fmt.Errorf("%q, expected %s or %s", what, Forward, Train)
}

// fits compares the memory of a measurement with the limit before it begins. (A stepper then plans
// more exactly.)
func (w *Workload) fits(what string) error {
	slots := w.Device.Slots()
	if what == Train {
		slots = 1 // a stepper works with fewer
	}
	need, err := w.planned(what, slots)
	need += 4 * int64(w.Settings.Batch) * w.exampleWords()
	if err == nil && w.Memory > 0 && need > w.Memory {
		return &config.MemoryError{Limit: w.Memory, Need: need, Longest: w.Length}
	}
	return err
}

// exampleWords returns the 4-byte words of the tokens, features and edges of an example.
func (w *Workload) exampleWords() int64 {
	if !w.Config.Featured() {
		return int64(w.Length)
	}
	const slice = 6 // words of a slice header, one per token or edge
	n := int64(w.Length) * int64(slice+len(w.Config.FeatureNames))
	return n + int64(w.edges())*int64(slice+2+len(w.Config.EdgeFeatureNames))
}

// planned returns the device memory of a measurement.
func (w *Workload) planned(what string, slots int) (int64, error) {
	return sft.PlannedBytes(w.Config, what == Train, w.Settings.Batch, sft.PlannedTokens(w.Length, w.edges()), slots)
}

// Measurement is the result for one workload.
type Measurement struct {
	Seconds float64 // median of the repetitions
	// Peak is the maximum memory during the measurement: on a device with its own memory the memory
	// used there, otherwise the resident memory of the process, or the planned memory if the system
	// does not report it.
	Peak int64
	// Kernels are the times within one more run, the longest first, if requested. On a GPU, kernels
	// of this run wait for each other.
	Kernels []tensor.KernelTime
}

// Measure prepares, warms up with one run and measures reps. With a profile, one more run follows,
// on a [tensor.Profiler].
func (w *Workload) Measure(ctx context.Context, what string, reps int, profile bool) (Measurement, error) {
	if _, ok := tensor.Capability[tensor.Profiler](w.Device); profile && !ok {
		return Measurement{}, noProfiler(w.Device)
	}
	debug.FreeOSMemory() // excludes memory of earlier measurements
	peak := w.watchMemory(what)
	f, err := w.Prepare(what)
	if err == nil {
		err = f(ctx)
	}
	if err != nil {
		return Measurement{}, err
	}
	var m Measurement
	if m.Seconds, err = Seconds(ctx, f, reps, 0); err != nil {
		return Measurement{}, err
	}
	if m.Peak, err = peak(); err != nil {
		return Measurement{}, err
	}
	if profile {
		m.Kernels, err = kernelTimes(w.Device, func() error { return f(ctx) })
	}
	return m, err
}

// watchMemory begins to watch memory; the result returns a measurement's peak.
func (w *Workload) watchMemory(what string) (peak func() (int64, error)) {
	planned := func() (int64, error) { return w.planned(what, w.Device.Slots()) }
	if own, ok := tensor.Capability[tensor.OwnMemory](w.Device); ok {
		before := own.Budget()
		return func() (int64, error) {
			// No memory has been released yet. It is allocated in large blocks, one of which
			// existed before.
			taken := before - own.Budget()
			n, err := planned()
			return max(n, taken), err
		}
	}
	known := resetPeak()
	return func() (int64, error) {
		if known {
			if n, ok := peakResident(); ok {
				return n, nil
			}
		}
		return planned()
	}
}
