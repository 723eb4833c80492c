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

// Kinds of measurements of a model.
const (
	Forward = "forward" // forward pass, as in predict
	Train   = "train"   // a complete training step
)

// DefaultLength is the number of tokens per example in the paper's model of ListOps.
const DefaultLength = 2048

// Workload is a model with random weights and a batch of random tokens, points or graphs.
type Workload struct {
	Config       *sft.Config
	Settings     train.Settings // settings of a training step; Batch is the number of examples
	Length       int            // tokens per example; for pairs the total of both sequences
	EdgesPerNode int            // average number of edges per node of a graph
	Device       tensor.Device
	Memory       int64 // memory limit in bytes; 0 means no limit
}

// seed is the seed of weights and examples.
const seed = 1

// Tokens returns the number of tokens of a batch.
func (w *Workload) Tokens() int { return w.Settings.Batch * w.Length }

// Prepare prepares a forward pass or a training step. Each call of the result runs it once.
func (w *Workload) Prepare(pass string) (Run, error) {
	if err := w.checkMemory(pass); err != nil {
		return nil, err
	}
	loaded, examples := sft.NewModel(w.Config, seed), w.Examples()
	switch pass {
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
	return nil, fmt.Errorf("pass %q: expected %s or %s", pass, Forward, Train)
}

// checkMemory returns an error if a measurement would exceed the memory limit. It runs before the
// measurement; a stepper plans its memory more precisely.
func (w *Workload) checkMemory(pass string) error {
	slots := w.Device.Slots()
	if pass == Train {
		slots = 1 // a stepper can work with fewer slots
	}
	need, err := w.plannedBytes(pass, slots)
	need += 4 * int64(w.Settings.Batch) * w.exampleWords()
	if err == nil && w.Memory > 0 && need > w.Memory {
		return &config.MemoryError{Limit: w.Memory, Need: need, Longest: w.Length}
	}
	return err
}

// exampleWords returns the number of 4-byte words of the tokens, features and edges of an example.
func (w *Workload) exampleWords() int64 {
	if !w.Config.HasFeatures() {
		return int64(w.Length)
	}
	const slice = 6 // words of a slice header, one per token or edge
	n := int64(w.Length) * int64(slice+len(w.Config.FeatureNames))
	return n + int64(w.edges())*int64(slice+2+len(w.Config.EdgeFeatureNames))
}

// plannedBytes returns the device memory that a measurement needs, in bytes.
func (w *Workload) plannedBytes(pass string, slots int) (int64, error) {
	return sft.PlannedBytes(w.Config, pass == Train, w.Settings.Batch, sft.PlannedTokens(w.Length, w.edges()), slots)
}

// Measurement is the result of measuring one workload.
type Measurement struct {
	Seconds float64 // median of the repetitions
	// Peak is the maximum memory during the measurement in bytes. On a device with its own memory
	// it is the larger of the planned and the used device memory. Otherwise it is the resident
	// memory of the process, or the planned memory if the system does not report resident memory.
	Peak int64
	// Kernels holds the times of the kernels in a further run, longest first, if requested. On a
	// GPU the kernels of this run wait for each other.
	Kernels []tensor.KernelTime
}

// Measure prepares the workload, warms up with one run and measures further runs; reps is their number.
// If profile is set, one more run is profiled, which requires a [tensor.Profiler].
func (w *Workload) Measure(ctx context.Context, pass string, reps int, profile bool) (Measurement, error) {
	if _, ok := tensor.Capability[tensor.Profiler](w.Device); profile && !ok {
		return Measurement{}, noProfiler(w.Device)
	}
	debug.FreeOSMemory() // excludes memory of earlier measurements
	peak := w.watchMemory(pass)
	f, err := w.Prepare(pass)
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

// watchMemory starts to watch memory; peak returns the maximum in bytes since this call.
func (w *Workload) watchMemory(pass string) (peak func() (int64, error)) {
	planned := func() (int64, error) { return w.plannedBytes(pass, w.Device.Slots()) }
	if own, ok := tensor.Capability[tensor.OwnMemory](w.Device); ok {
		before := own.Budget()
		return func() (int64, error) {
			// The device has released no memory since the start. It allocates large blocks, so the budget
			// does not show allocations in existing blocks.
			used := before - own.Budget()
			n, err := planned()
			return max(n, used), err
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
